"""A real Kubernetes control plane on loopback: etcd, kube-apiserver and kube-controller-manager in a directory.

    with ControlPlane(directory) as cluster:
        ... cluster.kubeconfig, cluster.url, cluster.tokens["admin"] ...

There is no node: objects are stored, admitted, garbage-collected and namespaced, but no pod runs.
"""

from __future__ import annotations

import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from kube.binaries import binaries, why_not
from kube.credentials import FRONT, SERVICES, Credentials
from kube.process import Process

# The controllers that complete the API itself. Others would change what a test has written.
CONTROLLERS = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "clusterrole-aggregation-controller",
)
USERS: Mapping[str, tuple[str, ...]] = {"admin": ("system:masters",), "jane": ("developers",)}
START_TIMEOUT = 60.0


class ControlPlane:
    """Starts on entering, stops on leaving. `durable` makes etcd fsync, as in production: benchmarks need it.

    `users` are known by bearer token, name to groups; `credentials.client` issues client certificates.
    `controllers` may be empty: then there is no controller manager.
    """

    def __init__(
        self,
        directory: Path,
        *,
        durable: bool = False,
        controllers: tuple[str, ...] = CONTROLLERS,
        users: Mapping[str, tuple[str, ...]] = USERS,
    ) -> None:
        programs = binaries()
        if programs is None:
            raise FileNotFoundError(why_not())
        self.directory = directory
        self.programs = programs
        self.etcd_port, self.peer_port, self.port = free_ports(3)
        self.url = f"https://127.0.0.1:{self.port}"
        self.credentials = Credentials(directory / "credentials", self.url, users)
        self.kubeconfig = self.credentials.kubeconfig
        self.tokens = self.credentials.tokens
        self.processes: dict[str, Process] = {}
        self._durable = durable
        self._controllers = controllers
        self._stack = ExitStack()

    @property
    def kubectl(self) -> Path:
        """The kubectl of the same release."""
        return self.programs / "kubectl"

    def __enter__(self) -> ControlPlane:
        with ExitStack() as stack:
            self._start(stack, "etcd", self._etcd_options())
            self._start(stack, "kube-apiserver", self._apiserver_options())
            self._wait_ready()
            if self._controllers:
                self._start(stack, "kube-controller-manager", self._controller_options())
            self._wait_namespaces()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def get(self, path: str) -> int:
        """Status code of a GET by the administrator; 0 while nothing answers."""
        request = urllib.request.Request(  # noqa: S310  # always https on loopback
            self.url + path, headers={"Authorization": f"Bearer {self.tokens['admin']}"}
        )
        context = ssl.create_default_context(cafile=str(self.credentials.ca))
        try:
            with urllib.request.urlopen(request, context=context, timeout=5) as answer:  # noqa: S310
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def _start(self, stack: ExitStack, name: str, options: Mapping[str, object]) -> None:
        command = [str(self.programs / name), *(f"--{key}={value}" for key, value in options.items())]
        self.processes[name] = stack.enter_context(Process(name, command, self.directory / f"{name}.log"))

    def _wait_ready(self) -> None:
        self._wait("kube-apiserver", "/readyz")

    def _wait_namespaces(self) -> None:
        # The API server makes it some moments after it is ready, and every suite writes there.
        self._wait("kube-apiserver", "/api/v1/namespaces/default")
        if "serviceaccount-controller" in self._controllers:
            self._wait("kube-controller-manager", "/api/v1/namespaces/default/serviceaccounts/default")

    def _wait(self, name: str, path: str) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while self.get(path) != 200:
            self.processes["etcd"].check()
            self.processes[name].check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{path} did not answer in {START_TIMEOUT:.0f} s\n{self.processes[name].tail()}")
            time.sleep(0.05)

    def _etcd_options(self) -> dict[str, object]:
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.peer_port}"
        return {
            "data-dir": self.directory / "etcd",
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": f"default={peer}",
            "unsafe-no-fsync": str(not self._durable).lower(),
            "log-level": "warn",
        }

    def _apiserver_options(self) -> dict[str, object]:
        held = self.credentials
        return {
            "etcd-servers": f"http://127.0.0.1:{self.etcd_port}",
            "bind-address": "127.0.0.1",
            "advertise-address": "127.0.0.1",
            # It would refuse to publish a loopback address as an endpoint of the service, every few seconds.
            "endpoint-reconciler-type": "none",
            "secure-port": self.port,
            "tls-cert-file": held.server_certificate,
            "tls-private-key-file": held.server_key,
            "client-ca-file": held.ca,
            "token-auth-file": held.token_file,
            "requestheader-client-ca-file": held.front_ca,
            "requestheader-allowed-names": FRONT,
            "requestheader-username-headers": "X-Remote-User",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
            "proxy-client-cert-file": held.front_certificate,
            "proxy-client-key-file": held.front_key,
            # Straight to the pods of a service: nobody serves its address.
            "enable-aggregator-routing": "true",
            "authorization-mode": "RBAC",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": held.service_account_key,
            "service-account-signing-key-file": held.service_account_key,
            "service-cluster-ip-range": SERVICES,
            "allow-privileged": "true",
            "cert-dir": self.directory / "certificates",
        }

    def _controller_options(self) -> dict[str, object]:
        return {
            "kubeconfig": self.kubeconfig,
            "controllers": ",".join(self._controllers),
            "service-account-private-key-file": self.credentials.service_account_key,
            "root-ca-file": self.credentials.ca,
            "leader-elect": "false",
            "secure-port": 0,
            # A suite makes and deletes many namespaces; production's limit of 20 requests a second would queue.
            "kube-api-qps": 1000,
            "kube-api-burst": 2000,
        }


def free_ports(count: int) -> list[int]:
    """Distinct loopback ports that nobody listens on at this moment."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
