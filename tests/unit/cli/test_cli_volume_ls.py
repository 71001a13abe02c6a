"""What the list of volumes shows."""

import pytest

from ingot.api.object import Object
from ingot.cli.volume.ls import _source


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({"source": {"http": {"url": "https://me:word@far/a.qcow2?sig=secret"}}}, "http https://far/a.qcow2"),
        ({"source": {"s3": {"url": "s3://bucket/a"}}}, "s3 s3://bucket/a"),
        ({"source": {"pvc": {"namespace": "golden", "name": "debian"}}}, "pvc golden/debian"),
        ({"source": {"blank": {}}}, "blank"),
        ({"sourceRef": {"kind": "DataSource", "name": "debian"}}, "DataSource debian"),
    ],
)
def test_a_source_is_shown_without_credentials(spec: Object, shown: str) -> None:
    assert _source(spec) == shown
