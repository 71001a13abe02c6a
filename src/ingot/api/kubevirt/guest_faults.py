"""What is to reach into a guest and cannot: probes without a check, credentials without a way."""

from collections.abc import Iterator

from ingot.api.kubevirt.causes import invalid, required
from ingot.api.object import Object
from ingot.api.status import Cause

_CHECKS = ("exec", "guestAgentPing", "httpGet", "tcpSocket")
# The pod has a little more, which has to be a number as well.
_LONGEST_GRACE = 2**31 - 1
_CREDENTIALS = ("sshPublicKey", "userPassword")
# The volume that a way of propagation writes to.
_CARRIERS = {"noCloud": "cloudInitNoCloud", "configDrive": "cloudInitConfigDrive"}
_WAYS = (*_CARRIERS, "qemuGuestAgent")


def guest_faults(spec: Object, path: str) -> Iterator[Cause]:
    """The faults of probes and credentials in an instance's spec that is found at `path`."""
    for key in ("readinessProbe", "livenessProbe"):
        if key in spec:
            yield from _probe(spec[key], f"{path}.{key}", _has_network(spec))
    if spec.get("startStrategy") == "Paused" and "livenessProbe" in spec:
        why = (
            "either startStrategy: Paused or livenessProbe should be provided. "
            "Pausing VMI with LivenessProbe is not supported"
        )
        yield invalid(f"{path}.startStrategy", "Paused", why)
    grace = spec.get("terminationGracePeriodSeconds", 0)
    if grace > _LONGEST_GRACE:
        yield invalid(f"{path}.terminationGracePeriodSeconds", grace, f"must be at most {_LONGEST_GRACE}")
    volumes = spec.get("volumes") or []
    for index, credential in enumerate(spec.get("accessCredentials") or ()):
        yield from _credential(credential, volumes, f"{path}.accessCredentials[{index}]")


def _has_network(spec: Object) -> bool:
    """Whether there is a network, or will be once the machine is made."""
    return bool(spec.get("networks")) or spec["domain"]["devices"].get("autoattachPodInterface") is not False


def _probe(probe: Object, path: str, has_network: bool) -> Iterator[Cause]:
    given = [check for check in _CHECKS if check in probe]
    if not given:
        yield required(path, f"{path} must have exactly one probe type set: {', '.join(_CHECKS)}")
    elif len(given) > 1:
        yield invalid(path, ", ".join(given), f"{path} must have exactly one probe type set")
    for check in ("httpGet", "tcpSocket"):
        if check not in probe:
            continue
        if not has_network:
            yield invalid(f"{path}.{check}", check, f"{path}.{check} is only allowed if the Pod Network is attached")
        if not _is_port(probe[check].get("port")):
            yield required(f"{path}.{check}.port", "a port between 1 and 65535, or the name of one")
    if "exec" in probe and not probe["exec"].get("command"):
        yield required(f"{path}.exec.command", "the command that the guest agent runs")


def _is_port(port: object) -> bool:
    if isinstance(port, str):
        return bool(port) and (not port.isdecimal() or 0 < int(port) < 65536)
    return isinstance(port, int) and 0 < port < 65536


def _credential(credential: Object, volumes: list[Object], path: str) -> Iterator[Cause]:
    given = [kind for kind in _CREDENTIALS if kind in credential]
    if not given:
        yield required(path, f"{path} requires an access credential type to be set: {' or '.join(_CREDENTIALS)}")
    elif len(given) > 1:
        yield invalid(path, ", ".join(given), f"{path} must have only one access credential type set")
    for kind in given:
        if "secret" not in credential[kind]["source"]:
            yield required(f"{path}.{kind}.source.secret", "the Secret that holds the credentials")
        yield from _propagation(credential[kind]["propagationMethod"], volumes, f"{path}.{kind}.propagationMethod")


def _propagation(method: Object, volumes: list[Object], path: str) -> Iterator[Cause]:
    ways = [way for way in _WAYS if way in method]
    if not ways:
        known = "qemuGuestAgent" if "userPassword" in path else ", ".join(_WAYS)
        yield required(path, f"{path} requires a propagation method to be set: {known}")
    elif len(ways) > 1:
        yield invalid(path, ", ".join(ways), f"{path} must have only one propagation method set")
    for way in ways:
        carrier = _CARRIERS.get(way)
        if carrier and not any(carrier in volume for volume in volumes):
            yield invalid(f"{path}.{way}", way, f"{path}.{way} requires a {carrier} volume to exist in the spec")
    agent = method.get("qemuGuestAgent")
    if "sshPublicKey" in path and agent is not None and not agent.get("users"):
        yield required(f"{path}.qemuGuestAgent.users", "at least one user whose keys they become")
