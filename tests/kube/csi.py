"""The least CSI driver: a volume's handle is the directory or device on this node that is bound into the pod.

    /usr/bin/python3 csi.py DRIVER SOCKET

`SOCKET` lies in the kubelet's `plugins_registry`, where the kubelet finds it and asks who it is. It runs with Debian's
own Python, which has gRPC in the package python3-grpcio. The few messages are written by hand: no compiler is needed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]

Method = Callable[[bytes, Any], bytes]


class Driver(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Answers as the kubelet's plugin registration, and as CSI's Identity and Node services without any extras."""

    def __init__(self, name: str, socket: str) -> None:
        self._methods: dict[str, Method] = {
            "/pluginregistration.Registration/GetInfo": lambda _, __: texts(
                {1: "CSIPlugin", 2: name, 3: socket, 4: "1.0.0"}
            ),
            "/pluginregistration.Registration/NotifyRegistrationStatus": lambda _, __: b"",
            "/csi.v1.Node/NodeGetInfo": lambda _, __: texts({1: "here"}),
            "/csi.v1.Node/NodeGetCapabilities": lambda _, __: b"",
            "/csi.v1.Node/NodePublishVolume": lambda request, _: publish(request),
            "/csi.v1.Node/NodeUnpublishVolume": lambda request, _: unpublish(request),
        }

    def service(self, call: Any) -> Any:
        method = self._methods.get(call.method)
        return method and grpc.unary_unary_rpc_method_handler(method)


def publish(request: bytes) -> bytes:
    given = dict(fields(request))
    source, target = Path(given[1].decode()), Path(given[4].decode())
    if source.is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    subprocess.run(["mount", "--bind", source, target], check=True)
    return b""


def unpublish(request: bytes) -> bytes:
    target = Path(dict(fields(request))[2].decode())
    if not target.exists():
        return b""
    subprocess.run(["umount", target], check=True)
    if target.is_dir():
        target.rmdir()
    else:
        target.unlink()
    return b""


def texts(values: dict[int, str]) -> bytes:
    """A protobuf message of strings that are shorter than 128 bytes, by field number."""
    return b"".join(bytes([number << 3 | 2, len(text)]) + text.encode() for number, text in values.items())


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protobuf message that have a length: strings and messages."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        value, at = varint(message, at)
        if tag & 7 == 2:
            yield tag >> 3, message[at : at + value]
            at += value


def varint(message: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def main(name: str, socket: str) -> None:
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((Driver(name, socket),))
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main(*sys.argv[1:])
