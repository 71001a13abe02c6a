"""Objects on standard output: as JSON, as YAML or by name."""

import json
from collections.abc import Callable
from typing import Any

import click

from ingot.api.object import Object
from ingot.cli.target import object_word


def output_option(*formats: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--output`, whose first format is the default."""
    return click.option("--output", "-o", type=click.Choice(formats), default=formats[0], show_default=True)


def show(value: Any, output: str) -> None:
    """Print one object, or a list of them, in `output`: json, yaml or name."""
    if output == "json":
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
    elif output == "yaml":
        from ingot.cli.yamltext import to_yaml

        click.echo(to_yaml(value), nl=False)
    else:
        for obj in value["items"] if value.get("kind") == "List" else [value]:
            click.echo(object_word(obj))


def as_list(objects: list[Object]) -> Object:
    """Objects of any kinds as the List that `apply -f` takes."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": objects}


def without_managers(obj: Object) -> Object:
    """The object without managedFields, which are long and for machines."""
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key != "managedFields"}
    return {**obj, "metadata": metadata} if metadata else obj


def printable(text: str) -> str:
    """What a stranger has written, without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
