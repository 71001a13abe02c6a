"""Containers of foreign images, through podman. Each `podman run` is an attempt's command like any other."""

import json
import os
import re
import resource
import shutil
from collections.abc import Mapping
from pathlib import Path

from ingot.api.object import Object
from ingot.api.quantity import exact, whole
from ingot.host.command import CommandFailed, Limits, run
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.paths import inside
from ingot.standalone.pods.user import User

# In the directory of every attempt that podman runs.
MARK = "podman"
_PULL_SECONDS = 1800.0
_SECONDS = 60.0
_MOST_FILES = 1 << 20
_RUNTIMES = ("crun", "runc")
_PID_MAX = Path("/proc/sys/kernel/pid_max")
_SYSTEMD = Path("/run/systemd/system")
# Variables by which a pod could make the loader, the shell, podman or the runtime, which are root, do its bidding. A
# star at the end of a name stands for all of ours that begin so.
_STEERS = re.compile(
    r".*\*|_?(LD|GLIBC|MALLOC|CONTAINERS|PODMAN|LIBPOD|NETAVARK|CRUN|XDG|DBUS|LISTEN|NOTIFY|BASH|LC|OCI)_.*"
    "|GCONV_PATH|GETCONF_DIR|HOSTALIASES|LOCALDOMAIN|LOCPATH|NLSPATH|RES_OPTIONS|RESOLV_HOST_CONF|TMPDIR|TZ|TZDIR|LANG"
    "|ENV|IFS|PS4|SHELLOPTS|GODEBUG|GOTRACEBACK|GOGC|GOMAXPROCS|GOMEMLIMIT|GOCOVERDIR|ZONEINFO|SSL_CERT_FILE|SSL_CERT_DIR"
    "|CONTAINER_HOST|CONTAINER_CONNECTION|CONTAINER_SSHKEY|STORAGE_DRIVER|STORAGE_OPTS|REGISTRY_AUTH_FILE"
    "|REGISTRIES_CONFIG_PATH|DOCKER_CONFIG|DOCKER_HOST|GNUPGHOME|BUILDAH_ISOLATION"
)


def podman() -> list[str]:
    """The command and its options for this machine. Raises PodFault where there is no OCI runtime."""
    program = shutil.which("podman")
    runtime = next((found for name in _RUNTIMES if (found := shutil.which(name))), None)
    if program is None or runtime is None:
        why = "foreign images need podman and an OCI runtime; install them: apt-get install podman crun"
        raise PodFault("RunContainerError", why)
    # Without systemd podman's default manager of cgroups does not work.
    manager = [] if _SYSTEMD.exists() else ["--cgroup-manager", "cgroupfs"]
    return [program, "--runtime", runtime, *manager]


async def ensure_image(container: Object) -> None:
    """Pulls the image as its pull policy says. Raises PodFault."""
    image, policy = container["image"], container.get("imagePullPolicy") or "IfNotPresent"
    command = podman()
    if policy != "Always" and await _exists(command, image):
        return
    if policy == "Never":
        why = f"image {image} is not on this machine and imagePullPolicy is Never; pull it, or change that"
        raise PodFault("ErrImageNeverPull", why)
    try:
        await run([*command, "pull", "--quiet", "--", image], limits=Limits(seconds=_PULL_SECONDS))
    except CommandFailed as error:
        lines = error.stderr.splitlines() or ["podman said nothing"]
        raise PodFault("ErrImagePull", f"image {image}: {lines[-1]}; tried again") from error


async def _exists(command: list[str], image: str) -> bool:
    try:
        await run([*command, "image", "exists", "--", image], limits=Limits(seconds=_SECONDS))
    except CommandFailed as error:
        if error.code == 1:
            return False
        raise PodFault("RunContainerError", f"podman: {error.stderr}; tried again") from error
    return True


def run_command(
    container: Object, name: str, volumes: Mapping[str, Path], user: User, message: Path, environment: Mapping[str, str]
) -> list[str]:
    """`podman run` for the container. The network is the machine's, volumes are bind mounts."""
    options = ["--name", name, "--rm", "--pull", "never", "--network", "host", "--log-driver", "none"]
    options += [*_ulimits(), *_mounts(container, volumes, message), *_security(container), *_bounds(container)]
    options += _variables(environment)
    if user.changes:
        options += ["--user", f"{user.uid or 0}:{user.group}"]
    if container.get("workingDir"):
        options += ["--workdir", container["workingDir"]]
    if container.get("command"):
        options += ["--entrypoint", json.dumps(container["command"])]
    return [*podman(), "run", *options, "--", container["image"], *(container.get("args") or ())]


def surroundings(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of `podman run` itself: ours, and what it is to hand on to the container by name."""
    return {**{key: value for key, value in environment.items() if not _STEERS.fullmatch(key)}, **os.environ}


def _variables(environment: Mapping[str, str]) -> list[str]:
    """By name: podman takes the value from its own environment, where no other user can read it.

    What podman and its helpers read there themselves they must find as it is on this machine; those go by value.
    """
    ours = surroundings(environment)
    options = []
    for key, value in environment.items():
        options += ["--env", key if ours.get(key) == value else f"{key}={value}"]
    return options


def _ulimits() -> list[str]:
    """No more than we may have ourselves, which is less than podman's defaults on some machines.

    podman lowers its own number of processes to the kernel's largest pid, and cannot give more than that.
    """
    options = []
    limits = (
        ("nofile", resource.RLIMIT_NOFILE, _MOST_FILES),
        ("nproc", resource.RLIMIT_NPROC, int(_PID_MAX.read_text())),
    )
    for name, number, most in limits:
        hard = resource.getrlimit(number)[1]
        bound = most if hard == resource.RLIM_INFINITY else min(hard, most)
        options += ["--ulimit", f"{name}={bound}:{bound}"]
    return options


def _mounts(container: Object, volumes: Mapping[str, Path], message: Path) -> list[str]:
    last_words = container.get("terminationMessagePath") or "/dev/termination-log"
    options = ["--volume", f"{message}:{last_words}"]
    for mount in container.get("volumeMounts") or ():
        source = inside(volumes, mount)
        if mount.get("subPath") and not source.exists():
            source.mkdir(parents=True)
        access = ":ro" if mount.get("readOnly") else ""
        options += ["--volume", f"{source}:{mount['mountPath']}{access}"]
    for device in container.get("volumeDevices") or ():
        options += ["--device", f"{volumes[device['name']].resolve()}:{device['devicePath']}"]
    return options


def _security(container: Object) -> list[str]:
    context = container.get("securityContext") or {}
    capabilities = context.get("capabilities") or {}
    options = [f"--cap-add={name}" for name in capabilities.get("add") or ()]
    options += [f"--cap-drop={name}" for name in capabilities.get("drop") or ()]
    if context.get("privileged"):
        options.append("--privileged")
    if context.get("readOnlyRootFilesystem"):
        options.append("--read-only")
    if context.get("allowPrivilegeEscalation") is False:
        options.append("--security-opt=no-new-privileges")
    return options


def _bounds(container: Object) -> list[str]:
    limits = (container.get("resources") or {}).get("limits") or {}
    options = ["--memory", str(whole(limits["memory"]))] if "memory" in limits else []
    return [*options, "--cpus", str(float(exact(limits["cpu"])))] if "cpu" in limits else options


async def remove(name: str) -> None:
    """Ends and forgets a container of that name, if there is one. Raises CommandFailed."""
    await run([*podman(), "rm", "--force", "--ignore", "--time", "0", "--", name], limits=Limits(seconds=_SECONDS))
