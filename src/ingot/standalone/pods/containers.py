"""Starting containers: of Ingot's own image as local processes, of all others through podman."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from ingot.api.cdi.names import PRIME_FOR
from ingot.api.kubevirt.names import is_own_image
from ingot.api.object import Object, uid_of
from ingot.host import pod_sockets
from ingot.kube.cache import key_of
from ingot.kube.client import Client
from ingot.standalone.pods import oci
from ingot.standalone.pods.attempt import Attempt
from ingot.standalone.pods.checks import Inside
from ingot.standalone.pods.directory import PodDirectory
from ingot.standalone.pods.environment import environment, expanded
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.paths import places, translated
from ingot.standalone.pods.user import User, user_of

# What an image without a word about it gives its processes.
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# In the directory of an attempt: what its paths stand for.
_PLACES = "places"
# In that of an attempt of a worker: what it works for.
WORKER = "worker"


def is_own(container: Object) -> bool:
    """Whether the image is Ingot's own, whose programs are on this machine."""
    return is_own_image(str(container["image"]))


def is_worker(container: Object) -> bool:
    """Whether a container of Ingot's own image runs `ingot worker`, which can be gone on with after any stop."""
    return not container.get("command") and (container.get("args") or [""])[0] == "worker"


def _filled(pod: Object) -> str:
    """The claim that a worker fills, or the pod where that is not said."""
    return (pod["metadata"].get("annotations") or {}).get(PRIME_FOR) or str(key_of(pod))


class Containers:
    """Starts attempts, and takes away what podman keeps of them."""

    def __init__(self, client: Client, root: Path) -> None:
        self._client = client
        self._root = root

    async def start(self, pod: Object, container: Object, volumes: Mapping[str, Path], attempt: Attempt) -> None:
        """Runs one attempt; returns when it has begun. Raises PodFault."""
        user = user_of(pod, container)
        known = await environment(self._client, pod, container, self._given())
        own = is_own(container)
        if not own:
            await oci.ensure_image(container)
        attempt.make(user)
        if own:
            command, variables = _local(container, volumes, attempt, known)
            variables |= self._sockets(pod, user)
            if is_worker(container):
                (attempt.directory / WORKER).write_text(_filled(pod))
        else:
            (attempt.directory / oci.MARK).touch()
            command, variables = _foreign(pod, container, volumes, attempt, known, user)
        try:
            # podman itself runs as we do, and its container as the user.
            await attempt.start(command, variables, user if own else User())
        except OSError as error:
            raise PodFault("RunContainerError", f"{error.filename or command[0]}: {error.strerror}") from error

    def _sockets(self, pod: Object, user: User) -> dict[str, str]:
        """Where a process of the pod listens that nobody else's can: told to it by a variable. Raises OSError."""
        place = PodDirectory(self._root, uid_of(pod)).sockets
        place.mkdir(mode=0o700, exist_ok=True)
        user.own(place)
        return {pod_sockets.VARIABLE: str(place)}

    async def enter(self, pod: Object, container: Object, attempt: Attempt, command: list[str]) -> Inside:
        """How a command is run where the attempt runs, as the same user with the same environment."""
        known = await environment(self._client, pod, container, self._given())
        if not is_own(container):
            name = container_name(uid_of(pod), container["name"], attempt)
            return Inside([*oci.podman(), "exec", "--", name, *command], dict(os.environ))
        where = json.loads((attempt.directory / _PLACES).read_text())
        user = user_of(pod, container).options
        words = [translated(word, where) for word in command]
        return Inside(["setpriv", "--pdeathsig", "KILL", *user, "--", *words], _variables(known, where))

    def _given(self) -> dict[str, str]:
        """How to find the API server, as every container is told."""
        server = urlsplit(self._client.transport.config.server)
        port = str(server.port or 443)
        return {
            "KUBERNETES_SERVICE_HOST": server.hostname or "",
            "KUBERNETES_SERVICE_PORT": port,
            "KUBERNETES_SERVICE_PORT_HTTPS": port,
        }

    async def clear(self, pod: Object, container: Object, attempt: Attempt) -> None:
        """Ends what podman still runs of an attempt that has ended, as when its shell was killed."""
        if not is_own(container):
            await oci.remove(container_name(uid_of(pod), container["name"], attempt))


def container_name(uid: str, container: str, attempt: Attempt) -> str:
    return f"ingot-{uid}-{container}-{attempt.number}"


def _local(
    container: Object, volumes: Mapping[str, Path], attempt: Attempt, known: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    where = places(container, volumes, attempt.message)
    (attempt.directory / _PLACES).write_text(json.dumps(where))
    program = container.get("command") or [sys.executable, "-m", "ingot"]
    words = [translated(expanded(word, known), where) for word in (*program, *(container.get("args") or ()))]
    if directory := container.get("workingDir"):
        words = ["env", f"--chdir={translated(directory, where)}", *words]
    return words, _variables(known, where)


def _variables(known: Mapping[str, str], where: Mapping[str, str]) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{_PATH}"
    return {name: translated(value, where) for name, value in {"PATH": path, "HOME": "/", **known}.items()}


def _foreign(
    pod: Object,
    container: Object,
    volumes: Mapping[str, Path],
    attempt: Attempt,
    known: Mapping[str, str],
    user: User,
) -> tuple[list[str], dict[str, str]]:
    name = container_name(uid_of(pod), container["name"], attempt)
    written = {
        **container,
        "command": [expanded(word, known) for word in container.get("command") or ()],
        "args": [expanded(word, known) for word in container.get("args") or ()],
    }
    return oci.run_command(written, name, volumes, user, attempt.message, known), oci.surroundings(known)
