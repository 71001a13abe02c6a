"""A template in a file, which no server has seen."""

import click
import msgspec

from ingot.api import registry
from ingot.api.object import Object
from ingot.api.resources import TEMPLATES
from ingot.api.template.template import Template
from ingot.cli.manifest import Manifest, ManifestError, read


def template_in(file: str) -> Object:
    """The one Template of a file, or of standard input with -, as a server would take it. Raises ClickException."""
    found = list(read([file]))
    for each in found:
        if isinstance(each, ManifestError):
            raise click.ClickException(str(each))
    manifests = [each for each in found if isinstance(each, Manifest) and each.obj["kind"] == TEMPLATES.kind]
    if len(manifests) != 1:
        raise click.ClickException(f"{file} has {len(manifests)} templates, and one is expected")
    return _checked(manifests[0])


def _checked(manifest: Manifest) -> Object:
    version = manifest.obj["apiVersion"]
    if version not in (TEMPLATES.api_version, "v1"):
        raise click.ClickException(
            f"{manifest.place}: apiVersion is {version}, and {TEMPLATES.api_version} is expected"
        )
    # Templates were of v1 before they had a group, and many files still say so.
    template = {**manifest.obj, "apiVersion": TEMPLATES.api_version}
    try:
        Template.from_object(template)
    except msgspec.ValidationError as error:
        raise click.ClickException(f"{manifest.place}: it is no template: {error}") from error
    if faults := registry.validate(template, None):
        told = "\n".join(f"  {fault}" for fault in faults)
        raise click.ClickException(f"{manifest.place}: it is no template:\n{told}")
    return template
