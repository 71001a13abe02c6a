"""The claim that a DataVolume is to fill, where it is there before: refused when the DataVolume is made, as by CDI."""

from ingot.api.cdi.names import ADOPT, GROUP, POPULATED_FOR
from ingot.api.object import Object, name_of
from ingot.api.resources import DATA_VOLUMES
from ingot.api.status import Cause, invalid


def check(volume: Object, claim: Object | None, namespace: str) -> None:
    """Raises the 422 for a new DataVolume whose claim, the one of its name, is another's and not to be adopted.

    A claim may be there that came out of a backup and names the DataVolume, that a DataVolume controls, which may be
    about to go, or any if the DataVolume says that it takes it.
    """
    if claim is None or _annotation(claim, POPULATED_FOR) == name_of(volume) or _annotation(volume, ADOPT) == "true":
        return
    owners: list[Object] = claim["metadata"].get("ownerReferences") or []
    holder: Object = next((each for each in owners if each.get("controller")), {})
    if holder.get("kind") == DATA_VOLUMES.kind and str(holder.get("apiVersion", "")).startswith(f"{GROUP}/"):
        return
    message = (
        f"Destination PVC {namespace}/{name_of(volume)} already exists: delete it, or let the DataVolume take it as it "
        f"is with the annotation {ADOPT}: true"
    )
    cause = Cause("metadata.name", message, "FieldValueDuplicate")
    raise invalid(GROUP, DATA_VOLUMES.kind, name_of(volume), [cause])


def _annotation(obj: Object, name: str) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))
