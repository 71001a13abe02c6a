"""Fixtures of the access tests."""

import pytest
from access_world import Objects, Policy
from cryptography.hazmat.primitives.asymmetric import ec

from ingot.standalone.access.certificates import new_key


@pytest.fixture
def policy() -> Policy:
    return Policy()


@pytest.fixture(scope="session")
def signing_key() -> ec.EllipticCurvePrivateKey:
    return new_key()


@pytest.fixture
def objects() -> Objects:
    objects = Objects()
    objects.add("serviceaccounts", "default", "robot")
    return objects
