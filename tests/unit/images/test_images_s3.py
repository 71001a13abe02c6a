"""Addresses and signatures of S3."""

from datetime import UTC, datetime

import pytest

from ingot.images.fault import ImageFault
from ingot.images.s3 import Keys, object_url, refused, region, signed

# The examples of Amazon's documentation.
KEYS = Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
WHEN = datetime(2013, 5, 24, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "signature"),
    [
        ("?lifecycle", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("?prefix=J&max-keys=2", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)
def test_signatures_are_those_of_the_documentation(query: str, signature: str) -> None:
    headers = signed(KEYS, f"https://examplebucket.s3.amazonaws.com/{query}", WHEN)
    assert headers["Authorization"] == (
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
        f"SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature={signature}"
    )
    assert headers["x-amz-date"] == "20130524T000000Z"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("s3://bucket/dir/disk.img", "https://s3.amazonaws.com/bucket/dir/disk.img"),
        ("s3://minio.example:9000/bucket/disk.img", "https://minio.example:9000/bucket/disk.img"),
        ("s3://s3.eu-west-1.amazonaws.com/bucket/d", "https://s3.eu-west-1.amazonaws.com/bucket/d"),
        ("http://127.0.0.1:9000/bucket/a b+c%20d.img", "http://127.0.0.1:9000/bucket/a%20b%2Bc%20d.img"),
        ("https://host/bucket/disk.img?versionId=7", "https://host/bucket/disk.img?versionId=7"),
    ],
)
def test_an_object_by_what_people_call_it(text: str, url: str) -> None:
    assert object_url(text) == url


@pytest.mark.parametrize(
    "text", ["s3://bucket", "s3://bucket/", "https://host/bucket", "ftp://host/a/b", "https://KEY:SECRET@host/a/b", "x"]
)
def test_what_is_no_object_is_refused_without_secrets(text: str) -> None:
    with pytest.raises(ImageFault, match="write s3://BUCKET/KEY") as caught:
        object_url(text)
    assert caught.value.reason == "BadAddress"
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "where"),
    [
        ("s3.amazonaws.com", "us-east-1"),
        ("s3.eu-central-1.amazonaws.com", "eu-central-1"),
        ("bucket.s3.eu-central-1.amazonaws.com", "eu-central-1"),
        ("s3-eu-west-1.amazonaws.com", "eu-west-1"),
        ("s3.dualstack.eu-west-1.amazonaws.com", "eu-west-1"),
        ("s3.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("minio.example", "us-east-1"),
    ],
)
def test_the_region_is_in_the_host(host: str, where: str) -> None:
    assert region(host) == where


def test_a_refusal_says_what_to_do() -> None:
    denied = ImageFault("https://host/bucket/disk", "Denied", "its server does not allow it")
    assert "secretRef" in refused(denied, "https://host/bucket/disk", None).message
    assert "accessKeyId" in refused(denied, "https://host/bucket/disk", KEYS).message
    moved = ImageFault("https://s3.amazonaws.com/b/k", "BadRedirect", "it redirects to nowhere")
    assert "s3.REGION.amazonaws.com" in refused(moved, "https://s3.amazonaws.com/b/k", KEYS).message
