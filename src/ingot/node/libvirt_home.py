"""The directory of a private libvirtd: its configuration, how it is started in there, and where it answers."""

import contextlib
import os
import pwd
import shutil
import uuid
from collections.abc import Iterator
from grp import getgrgid
from pathlib import Path
from typing import Protocol

from ingot.host.files import write_atomically
from ingot.host.short_path import ShortPath
from ingot.node.link import HypervisorError

# The account that QEMU runs as when libvirtd is root's. Debian's libvirtd looks it up even when it is told another.
QEMU_USER = "libvirt-qemu"
# The parts of libvirt that are loaded. Without the network's, a private libvirtd leaves the machine's firewall alone.
DRIVERS = ("qemu", "secret", "storage")
# What the path of our directory may have, so that libvirt's longest socket below it fits.
LONGEST = 40
# Where libvirt keeps things when it is root's, and which of our directories is put over each.
PLACES = {
    "etc": "/etc/libvirt",
    "lib": "/var/lib/libvirt",
    "run": "/run/libvirt",
    "log": "/var/log/libvirt",
    "cache": "/var/cache/libvirt",
}

_DAEMON = """\
# Written by ingot at every start.
auth_unix_ro = "none"
auth_unix_rw = "none"
unix_sock_ro_perms = "0600"
unix_sock_rw_perms = "0600"
unix_sock_admin_perms = "0600"
listen_tcp = 0
listen_tls = 0
host_uuid = "{host_uuid}"
log_outputs = "3:stderr"
min_workers = 2
prio_workers = 2
keepalive_interval = -1
"""
_QEMU = """\
# Written by ingot at every start.
dynamic_ownership = 1
remember_owner = 1
security_driver = "none"
namespaces = []
cgroup_controllers = []
stdio_handler = "file"
seccomp_sandbox = 1
vnc_auto_unix_socket = 1
spice_auto_unix_socket = 1
"""

# Puts our directories over libvirt's in a mount namespace of its own. $0 is the directory, $1 what /dev/kvm is to
# be, $2 the user for it, and the rest is the command.
_ENTER = (
    'set -e; cd -- "$0"; kvm=$1 user=$2; shift 2\n'
    + "".join(f"mount --bind {ours} {theirs}\n" for ours, theirs in PLACES.items())
    + """\
case $kvm in
own) mount -t tmpfs -o mode=0755,size=64k ingot dev
    mknod -m 0600 dev/kvm c 10 232
    chown "$user" dev/kvm
    mount --bind dev/kvm /dev/kvm ;;
hidden) mount --bind no-kvm /dev/kvm ;;
esac
exec "$@"
"""
)


class Home(Protocol):
    """What differs between root's libvirtd and an ordinary user's."""

    directory: Path
    uri: str
    socket: Path
    pid_file: Path
    logs: Path
    environment: dict[str, str]
    command: list[str]
    configuration: tuple[Path, Path]
    # What means something until the machine is booted again.
    volatile: Path
    short: ShortPath

    def prepare(self) -> None:
        """Makes the directories and the configuration. Raises HypervisorError."""


class SystemHome:
    """Root's: libvirtd has a mount namespace in which its own directories lie over libvirt's; QEMU runs as `user`.

    With `kvm`, QEMU's user gets a /dev/kvm of its own in there, whoever may use the machine's. Without, there is
    none: libvirtd would ask QEMU for its capabilities at every call where root may open it and QEMU's user may not.
    """

    def __init__(self, directory: Path, user: str | None, kvm: bool) -> None:
        self.directory = directory
        self.user = user or QEMU_USER
        # Clients are not in the namespace: they need a path of theirs to the socket, and a short one.
        self.short = ShortPath(directory, LONGEST)
        self.socket = self.short.path / "run" / "libvirt-sock"
        self.uri = f"qemu+unix:///system?socket={self.socket}"
        self.pid_file = directory / "run" / "libvirtd.pid"
        self.logs = directory / "log" / "qemu"
        self.configuration = _configuration(directory / "etc")
        self.volatile = directory / "run"
        self.environment = _environment(directory)
        device = "none" if not Path("/dev/kvm").exists() else "own" if kvm else "hidden"
        enter = ["unshare", "--mount", "--propagation", "slave", "--", "sh", "-c", _ENTER, str(directory)]
        self.command = [*enter, device, self.user, *_daemon(Path(PLACES["run"]) / "libvirtd.pid")]

    def prepare(self) -> None:
        group = _group_of(self.user)
        _group_of(QEMU_USER)
        self.short.make()
        for name in (*PLACES, "dev"):
            (self.directory / name).mkdir(mode=0o755, parents=True, exist_ok=True)
        # QEMU's user has its sockets and keys below, and our umask may have shut it out.
        (self.directory / "lib").chmod(0o711)
        for place in PLACES.values():
            with _told(place):
                Path(place).mkdir(mode=0o755, parents=True, exist_ok=True)
        nothing = self.directory / "no-kvm"
        nothing.touch(mode=0)
        daemon, qemu = self.configuration
        _write(daemon, _DAEMON.format(host_uuid=_host_uuid(self.directory)))
        _write(qemu, f'{_QEMU}user = "{self.user}"\ngroup = "{group}"\n')
        _link_drivers(self.directory)


class SessionHome:
    """An ordinary user's: libvirt's session mode, with the user's directories inside ours; QEMU runs as the user."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        # QEMU's monitor sockets lie 66 bytes below this.
        self.short = ShortPath(directory, LONGEST)
        base = self.short.path
        self.socket = base / "r" / "libvirt" / "libvirt-sock"
        self.uri = f"qemu+unix:///session?socket={self.socket}"
        self.pid_file = base / "r" / "libvirt" / "libvirtd.pid"
        self.logs = directory / "cache" / "libvirt" / "qemu" / "log"
        self.configuration = _configuration(base / "c" / "libvirt")
        self.volatile = directory / "r"
        self.environment = _environment(directory) | {
            "XDG_RUNTIME_DIR": str(base / "r"),
            "XDG_CONFIG_HOME": str(base / "c"),
            "XDG_CACHE_HOME": str(directory / "cache"),
            "XDG_DATA_HOME": str(directory / "data"),
        }
        self.command = _daemon(self.pid_file)

    def prepare(self) -> None:
        self.short.make()
        for path in (
            *(path.parent for path in self.configuration),
            self.pid_file.parent,
            self.directory / "cache",
            self.directory / "data",
        ):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        daemon, qemu = self.configuration
        _write(daemon, _DAEMON.format(host_uuid=_host_uuid(self.directory)))
        _write(qemu, _QEMU)
        _link_drivers(self.directory)


def _configuration(directory: Path) -> tuple[Path, Path]:
    return directory / "libvirtd.conf", directory / "qemu.conf"


def _daemon(pid_file: Path) -> list[str]:
    """The command: under tini where there is one, which reaps the QEMUs that libvirtd has ended at once.

    They are nobody's children. Where process 1 is slow to reap, libvirtd would wait for it.
    """
    libvirtd = ["libvirtd", "--pid-file", str(pid_file)]
    return ["tini", "-s", "--", *libvirtd] if shutil.which("tini") else libvirtd


def _environment(directory: Path) -> dict[str, str]:
    found = {
        "HOME": str(directory),
        "LC_ALL": "C",
        "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin:/sbin:/bin",
    }
    return found | ({"LIBVIRT_DRIVER_DIR": str(directory / "drivers")} if _driver_files() else {})


def _driver_files() -> list[Path]:
    for pattern in ("lib/*/libvirt", "lib64/libvirt", "lib/libvirt"):
        for place in Path("/usr").glob(f"{pattern}/connection-driver"):
            return [place / f"libvirt_driver_{name}.so" for name in DRIVERS]
    return []


def _link_drivers(directory: Path) -> None:
    drivers = directory / "drivers"
    drivers.mkdir(mode=0o755, exist_ok=True)
    for file in _driver_files():
        link = drivers / file.name
        if not link.is_symlink() or link.readlink() != file:
            link.unlink(missing_ok=True)
            link.symlink_to(file)


def _group_of(user: str) -> str:
    try:
        return getgrgid(pwd.getpwnam(user).pw_gid).gr_name
    except KeyError:
        cure = f"adduser --system --group --no-create-home {user}"
        raise HypervisorError(0, f"QEMU's user {user} does not exist; make it with: {cure}") from None


def _host_uuid(directory: Path) -> str:
    """This libvirtd's own identity, made once."""
    path = directory / "host-uuid"
    if not path.exists():
        write_atomically(path, str(uuid.uuid4()).encode())
    return path.read_text().strip()


def _write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        write_atomically(path, text.encode())


@contextlib.contextmanager
def _told(place: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HypervisorError(0, f"libvirtd needs the directory {place}: {error.strerror}") from error
