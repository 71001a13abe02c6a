"""What of a running machine can still be changed."""

from ingot.api.kubevirt.causes import forbidden
from ingot.api.object import Object
from ingot.api.status import Cause

# A stop that is to be quicker shortens it.
_CHANGEABLE = frozenset({"terminationGracePeriodSeconds"})


def update_faults(spec: Object, before: Object) -> list[Cause]:
    """A cause for each field of an instance's spec that differs from before and cannot."""
    changed = sorted(key for key in spec.keys() | before.keys() if spec.get(key) != before.get(key))
    why = "update of VMI object is restricted: a running machine stays as it is; change its VirtualMachine and restart"
    return [forbidden(f"spec.{key}", why) for key in changed if key not in _CHANGEABLE]
