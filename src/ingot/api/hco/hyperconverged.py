"""HyperConverged: which golden images a cluster has, the common ones and its own (G6)."""

from typing import Annotated

import msgspec

from ingot.api.cdi.cronspec import CronTemplateSpec
from ingot.api.machinery import UNSET, Column, Field, Kind, Opt, Raw, Rule, Shape, Version, kind
from ingot.api.machinery.meta import Condition, TemplateMeta
from ingot.api.object import Object
from ingot.api.ssp.ssp import MAX_TEMPLATES, TEMPLATES, normalise_templates, template_faults
from ingot.api.status import Cause

GATE = "enableCommonBootImageImport"
# Set to "false" on a template without spec, it takes the common template of that name away.
ENABLE_ANNOTATION = "dataimportcrontemplate.kubevirt.io/enable"


class CustomCronSpec(CronTemplateSpec, kw_only=True):
    """When to look for a new image, and what to make of it."""

    schedule: Annotated[str, Field("When to look, in cron's five fields.", min_length=1)]


class CustomCronTemplate(Shape, kw_only=True):
    """A golden image of one's own, or a change to the common one of that name."""

    RULES = (
        Rule("has(self.metadata.name)", "a name is expected", ".metadata", "FieldValueRequired"),
        Rule(
            "has(self.spec) || (has(self.metadata.annotations) && "
            f"'{ENABLE_ANNOTATION}' in self.metadata.annotations && "
            f"self.metadata.annotations['{ENABLE_ANNOTATION}'] == 'false')",
            f'spec is expected, unless the annotation {ENABLE_ANNOTATION} is "false"',
            ".spec",
        ),
    )

    metadata: TemplateMeta
    spec: Opt[CustomCronSpec] = UNSET


class CronTemplateState(Shape):
    """What became of a template."""

    conditions: Annotated[Opt[list[Condition]], Field("What is known of it.", list_type="map", keys=("type",))] = UNSET
    common_template: Annotated[Opt[bool], Field("Whether it is one of the common ones.")] = UNSET
    modified: Annotated[Opt[bool], Field("Whether it is a common one that was changed.")] = UNSET
    original_supported_architectures: Annotated[
        Opt[str], Field("The architectures of the common one, with commas between.")
    ] = UNSET


class InstalledCronTemplate(Shape, kw_only=True):
    """A template as it was handed on to the SSP."""

    metadata: TemplateMeta
    spec: Opt[CronTemplateSpec] = UNSET
    status: Opt[CronTemplateState] = UNSET


class Placement(Shape):
    """On which nodes a group of components runs."""

    node_placement: Annotated[Opt[Raw], Field("nodeSelector, affinity and tolerations.")] = UNSET


class StorageImport(Shape):
    """How images are fetched."""

    insecure_registries: Annotated[
        Opt[list[str]], Field("Registries that may be spoken to without TLS.", list_type="set")
    ] = UNSET


class FilesystemOverhead(Shape):
    """How much of a filesystem volume is left to the filesystem, as a share between 0 and 1."""

    everywhere: Annotated[Opt[str], Field("The share, unless the StorageClass has its own.")] = msgspec.field(
        default=UNSET, name="global"
    )
    storage_class: Annotated[Opt[dict[str, str]], Field("The share of each StorageClass.")] = UNSET


class HyperConvergedSpec(Shape):
    """What a cluster offers. What concerns components that Ingot does not have is kept and not used."""

    PRESERVE = True
    RULES = (
        Rule(
            f"!(has(self.{GATE}) && has(self.featureGates) && '{GATE}' in self.featureGates)",
            f"{GATE} and featureGates.{GATE} exclude each other",
        ),
    )

    feature_gates: Annotated[
        Opt[dict[str, bool]],
        Field(f"Features by name. {GATE}: the common golden images are imported and kept fresh; off if absent."),
    ] = UNSET
    data_import_cron_templates: Annotated[
        Opt[list[CustomCronTemplate]],
        Field(
            "Golden images beside the common ones, imported whether those are or not.",
            list_type="atomic",
            max_items=MAX_TEMPLATES,
        ),
    ] = UNSET
    common_boot_image_namespace: Annotated[
        Opt[str], Field("Where the common golden images go, if not to the usual place.")
    ] = UNSET
    common_templates_namespace: Annotated[Opt[str], Field("Where the common templates go.")] = UNSET
    storage_import: Opt[StorageImport] = UNSET
    scratch_space_storage_class: Annotated[
        Opt[str], Field("The StorageClass of temporary volumes, where an import needs one.")
    ] = UNSET
    filesystem_overhead: Opt[FilesystemOverhead] = UNSET
    infra: Annotated[Opt[Placement], Field("On which nodes controllers run.")] = UNSET
    workloads: Annotated[Opt[Placement], Field("On which nodes virtual machines run.")] = UNSET
    enable_common_boot_image_import: Annotated[
        Opt[bool], Field(f"Another way to write featureGates.{GATE}; stored as that.")
    ] = UNSET


class HyperConvergedStatus(Shape):
    """What was made of the spec."""

    PRESERVE = True

    conditions: Annotated[
        Opt[list[Condition]], Field("What is known of its state.", list_type="map", keys=("type",))
    ] = UNSET
    observed_generation: Annotated[Opt[int], Field("The generation that this status is about.")] = UNSET
    data_import_schedule: Annotated[
        Opt[str],
        Field("When the common images are looked for: a minute chosen once at random, every twelve hours."),
    ] = UNSET
    data_import_cron_templates: Annotated[
        Opt[list[InstalledCronTemplate]],
        Field(
            "The templates, common and custom, as they were handed on.",
            list_type="atomic",
            max_items=2 * MAX_TEMPLATES,
        ),
    ] = UNSET


def _mutate(new: Object, old: Object | None, _operation: str) -> None:
    spec = new.get("spec")
    if not isinstance(spec, dict):
        return
    _take_field(spec, {} if old is None else old.get("spec", {}))
    normalise_templates(spec.get(TEMPLATES))


def _take_field(spec: Object, before: Object) -> None:
    """Makes the field of HCO's later versions the feature gate that it was before, and is here."""
    gates = spec.get("featureGates", {})
    if not isinstance(spec.get(GATE), bool) or not isinstance(gates, dict):
        return
    # A patch brings the stored gate along; then the field is what its writer meant.
    stored = before.get("featureGates", {}).get(GATE)
    if GATE in gates and gates[GATE] not in (spec[GATE], stored):
        return
    spec["featureGates"] = {**gates, GATE: spec.pop(GATE)}


def _validate(new: Object, _old: Object | None) -> list[Cause]:
    return template_faults(new.get("spec", {}).get(TEMPLATES, []), f"spec.{TEMPLATES}")


@kind(
    group="hco.kubevirt.io",
    plural="hyperconvergeds",
    short_names=("hco", "hcos"),
    categories=("all",),
    versions=(Version("v1beta1"),),
    columns=(Column("Age", ".metadata.creationTimestamp", "date"),),
    mutate=_mutate,
    validate=_validate,
)
class HyperConverged(Kind):
    """Says which golden images a cluster has: the common ones, if enabled, and its own."""

    spec: Opt[HyperConvergedSpec] = UNSET
    status: Opt[HyperConvergedStatus] = UNSET
