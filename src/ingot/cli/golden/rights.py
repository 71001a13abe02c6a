"""A namespace whose golden images everybody may clone."""

from typing import TYPE_CHECKING

import click

from ingot.api.cdi.image_rights import NAME, binding, role
from ingot.api.object import Object
from ingot.api.resources import NAMESPACES, ROLE_BINDINGS, ROLES
from ingot.api.status import ApiError

if TYPE_CHECKING:
    from ingot.api.resource import Resource
    from ingot.cli.connection import Session


async def prepare(session: "Session", private: bool) -> None:
    """The session's namespace is there, and unless it is `private`, open to everybody. Tells of what it makes.

    Raises ClickException where this user may not open it.
    """
    namespace = session.namespace
    if not await _is_there(session, namespace) and await _made(session, NAMESPACES, {"metadata": {"name": namespace}}):
        click.echo(f"namespace {namespace} created", err=True)
    if private:
        return
    try:
        await _made(session, ROLES, role(namespace))
        if await _made(session, ROLE_BINDINGS, binding(namespace)):
            click.echo(f"everybody may clone from namespace {namespace} (RoleBinding {NAME})", err=True)
    except ApiError as error:
        if error.reason != "Forbidden":
            raise
        if await _is_open(session):
            return
        raise click.ClickException(
            f"namespace {namespace} cannot be opened to everybody: {error.message}\n"
            "Do this as an administrator of the namespace, or give --private: then only those clone from it who may "
            "already."
        ) from error


async def _is_open(session: "Session") -> bool:
    """Whether somebody has opened the session's namespace before."""
    try:
        await session.client.get(ROLE_BINDINGS, NAME, session.namespace)
    except ApiError as error:
        if error.reason not in ("NotFound", "Forbidden"):
            raise
        return False
    return True


async def _is_there(session: "Session", namespace: str) -> bool:
    """Whether it is there, or may be: who may not look may not make one either."""
    try:
        await session.client.get(NAMESPACES, namespace)
    except ApiError as error:
        if error.reason not in ("NotFound", "Forbidden"):
            raise
        return error.reason == "Forbidden"
    return True


async def _made(session: "Session", resource: "Resource", wanted: Object) -> bool:
    """Whether it was not there before: what is there is somebody's own."""
    try:
        await session.client.create(resource, wanted)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
        return False
    return True
