"""CustomResourceDefinition."""

from ingot.standalone.builtin.kinds.kind import define
from ingot.standalone.builtin.kinds.rbac import CREATED
from ingot.standalone.schema.custom import check_crd, check_crd_status, default_crd, note_stored_version
from ingot.standalone.table.render import NAME

CUSTOM_RESOURCE_DEFINITION = define(
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
    default=default_crd,
    validate=check_crd,
    validate_status=check_crd_status,
    settle=note_stored_version,
    kubernetes=False,
    columns=(NAME, CREATED),
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=frozenset({"status"}),
    first_generation=1,
    has_generation=True,
    unconditional_update=False,
)
