"""What an SSP's status says: phase, versions and conditions as its operator writes them."""

from collections.abc import Sequence
from importlib import metadata
from typing import Final

from ingot.api.object import Object
from ingot.control.heartbeat import set_condition

AVAILABLE, PROGRESSING, DEGRADED = "Available", "Progressing", "Degraded"
DEPLOYING, DEPLOYED, DELETING = "Deploying", "Deployed", "Deleting"
RETRY_SECONDS: Final = 60.0


def deployed(ssp: Object, problems: Sequence[str], now: float) -> None:
    """All is there, or these problems are in the way and looked at again."""
    told = "; ".join(problems)
    message = f"{told}; tried again in {RETRY_SECONDS:g} s, and when something changes" if told else ""
    reason = "Refused" if told else "Deployed"
    _write(ssp, DEPLOYING if told else DEPLOYED)
    if not told:
        ssp["status"]["observedVersion"] = _version()
    ssp["status"].pop("paused", None)
    set_condition(ssp, AVAILABLE, str(not told), reason, message or "All resources are in place", now)
    set_condition(ssp, PROGRESSING, str(bool(told)), reason, message or "Nothing is to be done", now)
    set_condition(ssp, DEGRADED, str(bool(told)), reason, message or "All resources are in place", now)


def superseded(ssp: Object, first: str, now: float) -> None:
    """Another one was there before, and there is one of them in a cluster."""
    _write(ssp, DEPLOYING)
    message = f"SSP {first} is older, and a cluster has one: delete either; until then this one does nothing"
    set_condition(ssp, AVAILABLE, "False", "AnotherSSP", message, now)
    set_condition(ssp, PROGRESSING, "False", "AnotherSSP", message, now)
    set_condition(ssp, DEGRADED, "True", "AnotherSSP", message, now)


def paused(ssp: Object) -> None:
    """Somebody holds all work back; what was known stays."""
    ssp.setdefault("status", {})["paused"] = True


def deleting(ssp: Object, now: float) -> None:
    """What it has made goes first."""
    _write(ssp, DELETING)
    for kind, status in ((AVAILABLE, "False"), (PROGRESSING, "True"), (DEGRADED, "True")):
        set_condition(ssp, kind, status, "Deleting", "What it has made is deleted first", now)


def _write(ssp: Object, phase: str) -> None:
    status = ssp.setdefault("status", {})
    status["phase"] = phase
    status["observedGeneration"] = ssp["metadata"]["generation"]
    status["operatorVersion"] = status["targetVersion"] = _version()


def _version() -> str:
    return metadata.version("ingot")
