"""A registry that wants to know who asks, and is known to nobody: Secrets and ConfigMaps say, and stay put (G3)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest

from control.cron_world import CLAIM, CronWorld
from guest.servers.certificates import Certificates
from images.servers.registry import HTPASSWD, PASSWORD, USER, DockerRegistry
from ingot.api.object import Object
from ingot.api.resources import CONFIG_MAPS, DATA_IMPORT_CRONS, DATA_VOLUMES, EVENTS, SECRETS
from ingot.images.registry.credentials import Credentials
from ingot.images.registry.settings import Settings


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return Certificates()


@pytest.fixture(scope="module")
def locked(certificates: Certificates) -> Iterator[DockerRegistry]:
    """A registry with TLS and passwords."""
    server = DockerRegistry(htpasswd=HTPASSWD, tls=certificates)
    if lacking := server.why_not():
        pytest.skip(lacking)
    with server:
        yield server


def encoded(**data: str) -> Object:
    return {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in data.items()}


def pull_secret(host: str) -> str:
    auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    return json.dumps({"auths": {host: {"auth": auth}}})


@pytest.mark.parametrize("form", ["cdi", "docker"])
async def test_secrets_and_authorities_are_used_and_never_told(
    crons: CronWorld, locked: DockerRegistry, certificates: Certificates, form: str
) -> None:
    world = crons.world
    crons.repository = crons.repository.replace(crons.registry.host, locked.host)
    login = {locked.host: Credentials(USER, PASSWORD)}
    digest = crons.push("1", settings=Settings(logins=login, authorities=certificates.authority))
    source = {"registry": {"url": crons.url, "secretRef": "login", "certConfigMap": "authority"}}
    await crons.cron(template={"spec": {"source": source, "pvc": CLAIM}})
    told = await crons.reason("Unreachable")
    assert 'Secret "login": it is not in namespace' in told["message"]

    plain, docker = {"accessKeyId": USER, "secretKey": PASSWORD}, {"_dockerconfigjson": pull_secret(locked.host)}
    good = plain if form == "cdi" else docker
    wrong = {"accessKeyId": USER, "secretKey": "wrong"}
    await world.create(SECRETS, {"metadata": {"name": "login"}, "data": encoded(**wrong)})
    await world.create(CONFIG_MAPS, {"metadata": {"name": "authority"}})
    await crons.look()
    await crons.told('certConfigMap: ConfigMap "authority": it has no file')
    await world.change(CONFIG_MAPS, "authority", {"data": {"ca.pem": "no certificate"}})
    await crons.look()
    await crons.told(
        'certConfigMap: ConfigMap "authority": ca.pem in it cannot be used: certificates in PEM are accepted'
    )
    await world.change(CONFIG_MAPS, "authority", {"data": {"ca.pem": certificates.authority}})
    await crons.look()
    await crons.told("refuses the password from the Secret login")
    await world.change(SECRETS, "login", {"data": {"accessKeyId": None, "secretKey": None, **encoded(**good)}})
    await crons.look()
    await world.until(DATA_VOLUMES, crons.name_of(digest), bool)

    seen = json.dumps(
        [
            await world.get(DATA_IMPORT_CRONS, "fedora"),
            await world.client.list(DATA_VOLUMES, world.namespace),
            await world.client.list(EVENTS, world.namespace),
        ]
    )
    for secret in (PASSWORD, encoded(secret=PASSWORD)["secret"], f"'{USER}'"):
        assert secret not in seen
