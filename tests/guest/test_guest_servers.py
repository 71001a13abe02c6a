"""The guest image and every server, without Ingot: what a guest reads from each is what was put there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from guest.bare_qemu import running
from guest.disks import FILE, cdrom, content, data_disk
from guest.servers.ceph import Ceph
from guest.servers.certificates import Certificates
from guest.servers.gluster import Gluster
from guest.servers.nbdkit import Nbdkit
from guest.servers.qemu_nbd import QemuNbd
from guest.servers.server import HOST, LoopbackServer
from guest.servers.storage_daemon import StorageDaemon
from guest.servers.tgt import Tgt

Serve = Callable[[LoopbackServer], LoopbackServer]


def virtio(serial: str, **node: object) -> list[str]:
    """A disk on virtio, of a block node that is given by its options."""
    options = json.dumps({"node-name": serial, **node})
    return ["-blockdev", options, "-device", f"virtio-blk-pci,drive={serial},serial={serial}"]


async def test_a_guest_reads_from_every_server(
    guest_image: Path, tmp_path: Path, serve: Serve, ceph: Ceph, gluster: Gluster
) -> None:
    names = ("qemu", "daemon", "kit", "tls", "chap", "ceph", "gluster")
    digests = {name: data_disk(tmp_path / name, content(name)) for name in names}
    certificates = Certificates()
    certificates.write_client(tmp_path / "client")
    ceph.add("smoke", tmp_path / "ceph")
    gluster.add("smoke", tmp_path / "gluster")
    qemu, daemon = QemuNbd(tmp_path / "qemu", "a/B"), StorageDaemon({"daemon": tmp_path / "daemon"})
    kit, tls = Nbdkit(tmp_path), Nbdkit(tmp_path, certificates)
    target = Tgt([("chap", tmp_path / "chap")], "someone", "secret-of-tgt")
    for server in (qemu, daemon, kit, tls, target):
        serve(server)

    def nbd(port: int, export: str) -> dict[str, object]:
        return {"driver": "nbd", "server": {"type": "inet", "host": HOST, "port": str(port)}, "export": export}

    monitor = [{"host": HOST, "port": str(ceph.port)}]
    brick = {"type": "inet", "host": gluster.host, "port": str(gluster.port)}
    account = {"user": target.user, "password-secret": "chap-secret"}
    arguments = [
        *("-object", f"tls-creds-x509,id=tls,dir={tmp_path / 'client'},endpoint=client"),
        *("-object", f"secret,id=chap-secret,data={target.password}"),
        *("-object", f"secret,id=ceph-secret,data={ceph.key},format=base64"),
        *virtio("qemu", **nbd(qemu.port, "a/B")),
        *virtio("daemon", **nbd(daemon.port, "daemon")),
        *virtio("kit", **nbd(kit.port, "kit")),
        *virtio("tls", **nbd(tls.port, "tls"), **{"tls-creds": "tls"}),
        *virtio("chap", driver="iscsi", transport="tcp", portal=target.portal, target=target.iqn, lun=1, **account),
        *virtio(
            "ceph",
            driver="rbd",
            pool=ceph.pool,
            image="smoke",
            server=monitor,
            user=ceph.user,
            conf="/dev/null",
            **{"key-secret": "ceph-secret"},
        ),
        *virtio("gluster", driver="gluster", volume=gluster.volume, path="smoke", server=[brick]),
    ]
    async with running(guest_image, tmp_path, arguments) as console:
        for name, expected in digests.items():
            assert await console.run(f"digest {name} {FILE}") == expected, name


async def test_a_guest_boots_as_cdrom_sees_scsi_disks_and_heeds_the_power_button(
    guest_image: Path, tmp_path: Path
) -> None:
    digest = cdrom(tmp_path / "cd", content("cd"), "cd")
    written = data_disk(tmp_path / "disk", content("disk"))
    arguments = [
        *("-device", "virtio-scsi-pci"),
        *("-drive", f"if=none,id=cd,format=raw,readonly=on,file={tmp_path / 'cd'}"),
        *("-device", "scsi-cd,drive=cd,serial=cd"),
        *("-drive", f"if=none,id=disk,format=raw,file={tmp_path / 'disk'}"),
        *("-device", "scsi-hd,drive=disk,serial=disk"),
    ]
    async with running(guest_image, tmp_path, arguments, device="scsi-cd") as console:
        assert await console.run(f"digest cd {FILE}") == digest
        assert await console.run(f"digest disk {FILE}") == written
        assert (await console.run("disk cd")).startswith("/dev/sr")
        reader, writer = await asyncio.open_unix_connection(tmp_path / "qmp")
        writer.write(b'{"execute":"qmp_capabilities"}{"execute":"system_powerdown"}')
        await asyncio.wait_for(_until_event(reader, "SHUTDOWN"), 20)
        writer.close()


async def _until_event(reader: asyncio.StreamReader, name: str) -> None:
    while json.loads(await reader.readline()).get("event") != name:
        pass
