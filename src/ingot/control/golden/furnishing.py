"""What an SSP puts into a cluster beside images: their namespace, open to all, and the common templates (G5, G7)."""

from collections.abc import Callable

from ingot.api.cdi import image_rights
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import NAMESPACES, ROLE_BINDINGS, ROLES, TEMPLATES
from ingot.control.golden import belonging, common
from ingot.control.golden.keeper import Keeper
from ingot.control.writing import delete
from ingot.kube.cache import Key, key_of
from ingot.kube.manager import Manager
from ingot.kube.objects import copy_of, is_deleting

# What is changed back if somebody changes it; labels and annotations that people add stay.
_RIGHTS = ("rules", "roleRef", "subjects")
_CONTENT = ("objects", "parameters", "message")


class Furnishing:
    """Of one cluster, out of caches."""

    def __init__(self, manager: Manager) -> None:
        self._client = manager.client
        self.namespaces = manager.informer(NAMESPACES)
        self.roles = manager.informer(ROLES, common.NAMESPACE)
        self.bindings = manager.informer(ROLE_BINDINGS, common.NAMESPACE)
        self.templates = manager.informer(TEMPLATES)

    async def open(self, keeper: Keeper, ssp: Object) -> None:
        """The namespace of golden images is there, and everybody may clone from it, unless others see to that."""
        space = {"apiVersion": "v1", "kind": NAMESPACES.kind, "metadata": {"name": common.NAMESPACE}}
        await keeper.keep(NAMESPACES, self.namespaces.cache, space, lambda _: None)
        for informer, wanted in (
            (self.roles, image_rights.role(common.NAMESPACE)),
            (self.bindings, image_rights.binding(common.NAMESPACE)),
        ):
            found = informer.cache.get(key_of(wanted))
            if found is None or belonging.is_of(found, ssp):
                await keeper.keep(informer.resource, informer.cache, wanted, _healer(ssp, wanted, _RIGHTS, made=True))

    async def keep_templates(self, keeper: Keeper, ssp: Object) -> None:
        """The templates of this version in the namespace that is asked for, and none of the SSP's elsewhere."""
        asked = ((ssp.get("spec") or {}).get("commonTemplates") or {}).get("namespace")
        namespace = asked or namespace_of(ssp)
        if self.namespaces.cache.get(Key("", namespace)) is None:
            keeper.problems.append(f'namespace "{namespace}" of spec.commonTemplates.namespace is missing: create it')
            return
        wanted = {Key(namespace, name_of(each)): each for each in common.templates()}
        for template in self.templates.cache.list():
            if belonging.is_of(template, ssp) and key_of(template) not in wanted and not is_deleting(template):
                await delete(self._client, TEMPLATES, template)
        for key, each in wanted.items():
            each["metadata"]["namespace"] = namespace
            made = self.templates.cache.get(key) is None
            await keeper.keep(TEMPLATES, self.templates.cache, each, _healer(ssp, each, _CONTENT, made=made))


def _healer(ssp: Object, wanted: Object, fields: tuple[str, ...], *, made: bool) -> Callable[[Object], None]:
    """Puts those fields, labels and annotations back, and makes the object the SSP's."""

    def heal(obj: Object) -> None:
        given = copy_of(wanted)
        for field in fields:
            if field in given:
                obj[field] = given[field]
            else:
                obj.pop(field, None)
        for field in ("labels", "annotations"):
            if field in given["metadata"]:
                obj["metadata"][field] = {**(obj["metadata"].get(field) or {}), **given["metadata"][field]}
        belonging.take(obj, ssp, made=made)

    return heal
