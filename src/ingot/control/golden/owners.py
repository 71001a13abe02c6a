"""Who owns a DataSource: of several owners only the one who made it is its controller (G4)."""

from ingot.api.object import Object, name_of, uid_of


def own(obj: Object, owner: Object, *, maker: bool) -> None:
    """Add the owner, as the one who made the object or as one who has adopted it; whoever has a reference keeps it.

    Garbage collection leaves the object while one of its owners is there.
    """
    references = obj["metadata"].setdefault("ownerReferences", [])
    if any(each["uid"] == uid_of(owner) for each in references):
        return
    references.append(
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": name_of(owner),
            "uid": uid_of(owner),
            "controller": maker,
            "blockOwnerDeletion": False,
        }
    )


def is_owner(obj: Object, owner: Object) -> bool:
    return any(each["uid"] == uid_of(owner) for each in obj["metadata"].get("ownerReferences") or ())
