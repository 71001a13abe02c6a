"""SSP: the common templates of a cluster, and the crons that keep their images fresh (G5)."""

from typing import Annotated

import msgspec

from ingot.api.cdi.condition import Conditions
from ingot.api.cdi.cronspec import CronTemplateSpec, cron_faults, normalise
from ingot.api.machinery import UNSET, Column, Field, Kind, Label, Opt, Raw, Rule, Shape, Version, kind
from ingot.api.machinery.meta import TemplateMeta
from ingot.api.object import Object
from ingot.api.status import Cause

OLDER_TEMPLATES = "DataImportCronTemplates"
TEMPLATES = "dataImportCronTemplates"
# Where the golden images of a cluster are, and so the crons that name no namespace.
GOLDEN_IMAGES = "golden-images"
# A list without bounds makes every rule on its items too dear for an API server to accept.
MAX_TEMPLATES = 256


class CronTemplate(Shape, kw_only=True):
    """A DataImportCron that is to exist. Its namespace is golden-images if it names none."""

    RULES = (Rule("has(self.metadata.name)", "a name is expected", ".metadata", "FieldValueRequired"),)

    metadata: TemplateMeta
    spec: CronTemplateSpec


CronTemplates = Annotated[
    list[CronTemplate],
    Field(
        "The crons that keep the images of the common templates fresh.",
        list_type="atomic",
        max_items=MAX_TEMPLATES,
    ),
]


class CommonTemplates(Shape):
    """Where the common templates go, and which of their images are kept fresh."""

    namespace: Annotated[Opt[Label], Field("Where they go; the SSP's own namespace if absent.")] = UNSET
    data_import_cron_templates: Opt[CronTemplates] = UNSET


class TemplateValidator(Shape):
    """Where and how often the template validator runs."""

    replicas: Annotated[int, Field("How many of its pods run.", format="int32", minimum=0)] = 2
    placement: Annotated[Opt[Raw], Field("On which nodes.")] = UNSET


class TokenGenerationService(Shape):
    """The service that gives out tokens for a machine's console."""

    enabled: Annotated[Opt[bool], Field("Whether it runs.")] = UNSET


class SSPSpec(Shape):
    """What is installed. What Ingot does not run itself is accepted and kept, so that manifests work."""

    RULES = (
        Rule(
            f"!(has(self.{OLDER_TEMPLATES}) && has(self.commonTemplates) && has(self.commonTemplates.{TEMPLATES}))",
            f"commonTemplates.{TEMPLATES} and {OLDER_TEMPLATES} exclude each other",
        ),
    )

    common_templates: Opt[CommonTemplates] = UNSET
    template_validator: Opt[TemplateValidator] = UNSET
    token_generation_service: Opt[TokenGenerationService] = UNSET
    node_labeller: Annotated[Opt[Raw], Field("The labeller of nodes.")] = UNSET
    tls_security_profile: Annotated[Opt[Raw], Field("Which TLS versions and ciphers are offered.")] = UNSET
    common_instancetypes: Annotated[Opt[Raw], Field("The common instance types.")] = UNSET
    feature_gates: Annotated[Opt[dict[str, bool]], Field("Features by name.")] = UNSET
    older_templates: Annotated[
        Opt[CronTemplates],
        Field(f"An older way to write commonTemplates.{TEMPLATES}; stored as that."),
    ] = msgspec.field(default=UNSET, name=OLDER_TEMPLATES)


class SSPStatus(Shape):
    """How far the installation has come."""

    phase: Annotated[Opt[str], Field("Deploying, Deployed, Deleting or Error.")] = UNSET
    conditions: Opt[Conditions] = UNSET
    paused: Annotated[Opt[bool], Field("Whether an annotation holds all work back.")] = UNSET
    observed_generation: Annotated[Opt[int], Field("The generation that this status is about.")] = UNSET
    operator_version: Annotated[Opt[str], Field("The version that does the work.")] = UNSET
    target_version: Annotated[Opt[str], Field("The version that is being installed.")] = UNSET
    observed_version: Annotated[Opt[str], Field("The version that is installed.")] = UNSET


def _mutate(new: Object, old: Object | None, _operation: str) -> None:
    spec = new.get("spec")
    common = spec.get("commonTemplates", {}) if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(common, dict):
        return
    older = spec.get(OLDER_TEMPLATES)
    normalise_templates(older)
    normalise_templates(common.get(TEMPLATES))
    before = {} if old is None else old.get("spec", {}).get("commonTemplates", {})
    # A patch brings the stored list along; then the older name is what its writer meant.
    if isinstance(older, list) and common.get(TEMPLATES, older) in (older, before.get(TEMPLATES)):
        spec["commonTemplates"] = {**common, TEMPLATES: older}
        del spec[OLDER_TEMPLATES]


def normalise_templates(templates: object) -> None:
    """Rewrites, in place, the crons of a list that are written in the older way."""
    for template in templates if isinstance(templates, list) else ():
        if isinstance(template, dict):
            normalise(template.get("spec"))


def _validate(new: Object, _old: Object | None) -> list[Cause]:
    templates = new.get("spec", {}).get("commonTemplates", {}).get(TEMPLATES, [])
    return template_faults(templates, f"spec.commonTemplates.{TEMPLATES}")


def place_of(template: Object) -> tuple[str, str]:
    """The namespace and name of the cron that a template makes: no two of a list may have the same."""
    metadata = template["metadata"]
    return metadata.get("namespace") or GOLDEN_IMAGES, metadata["name"]


def template_faults(templates: list[Object], path: str) -> list[Cause]:
    """The faults of a list of crons that lies at `path` and that its schema accepts."""
    faults = []
    seen: set[tuple[str, str]] = set()
    for index, template in enumerate(templates):
        place = place_of(template)
        if place in seen:
            message = f'Duplicate value: "{place[1]}"'
            faults.append(Cause(f"{path}[{index}].metadata.name", message, "FieldValueDuplicate"))
        seen.add(place)
        if "spec" in template:
            faults += cron_faults(template["spec"], f"{path}[{index}].spec")
    return faults


@kind(
    group="ssp.kubevirt.io",
    plural="ssps",
    versions=(Version("v1beta1"),),
    columns=(Column("Phase", ".status.phase"),),
    mutate=_mutate,
    validate=_validate,
)
class SSP(Kind):
    """Installs the common templates, a DataSource for each image they name, and crons for those that are listed."""

    spec: Opt[SSPSpec] = UNSET
    status: Opt[SSPStatus] = UNSET
