"""Which tag is the newest, and what a published file of checksums says (G3)."""

import tracemalloc

import pytest

from ingot.images.fault import ImageFault
from ingot.images.watching.checksums import checksum_of
from ingot.images.watching.semver import newest

HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("tags", "wanted"),
    [
        (["1.9.0", "1.10.0", "1.2.0"], "1.10.0"),
        (["v1.0.0", "v0.9.9", "latest"], "v1.0.0"),
        (["2.0.0-rc.1", "1.0.0"], "1.0.0"),
        (["2.0.0-rc.1"], None),
        (["latest", "39", "1.2", "1.2.3.4", "01.2.3", "1.2.3-01", "1.2.3-", ""], None),
        (["1.0.0", "v1.0.0"], "v1.0.0"),
        (["1.0.99999999999999999999", "1.0.1"], "1.0.1"),
    ],
)
def test_the_newest_release_is_found(tags: list[str], wanted: str | None) -> None:
    assert newest(tags) == wanted
    assert newest(reversed(tags)) == wanted


def test_the_newest_of_many_is_found_without_keeping_them() -> None:
    tracemalloc.start()
    try:
        assert newest(f"1.0.{number}" for number in range(10_000)) == "1.0.9999"
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


def test_prereleases_are_in_the_order_of_semver() -> None:
    order = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11"]
    order += ["1.0.0-rc.1", "1.0.0", "2.0.0-alpha"]
    for index in range(1, len(order) + 1):
        assert newest(sorted(order[:index]), prereleases=True) == order[index - 1]


@pytest.mark.parametrize(
    "text",
    [
        f"{HEX}  disk.qcow2\n",
        f"{HEX} *./images/disk.qcow2\r\n{'f' * 64}  other.qcow2\n",
        f"# published today\nSHA256 (disk.qcow2) = {HEX.upper()}\n",
        f"{HEX}\n",
        f"{'a' * 32}  disk.qcow2\n{HEX}  disk.qcow2\n",
    ],
)
def test_a_checksum_is_read_in_every_form_that_is_published(text: str) -> None:
    assert str(checksum_of(text, "disk.qcow2", "http://a/SUMS")) == f"sha256:{HEX}"


@pytest.mark.parametrize(
    "text",
    [
        f"{'a' * 64}  arm64/disk.qcow2\n{HEX}  amd64/disk.qcow2\n",
        f"{'a' * 64}  disk.qcow2\n{HEX}  ./amd64/disk.qcow2\n{'b' * 64}  11/amd64/disk.qcow2\n",
        f"SHA256 (arm64/disk.qcow2) = {'a' * 64}\nSHA256 (images/12/amd64/disk.qcow2) = {HEX}\n",
        f"{'a' * 128}  arm64/disk.qcow2\n{HEX}  disk.qcow2\n{HEX}  /disk.qcow2\n",
    ],
)
def test_of_files_of_one_name_it_is_the_one_in_the_directory_of_the_address(text: str) -> None:
    assert str(checksum_of(text, "/debian/12/amd64/disk.qcow2", "http://a/SUMS")) == f"sha256:{HEX}"


@pytest.mark.parametrize(
    "text",
    [
        f"MD5 (12/disk.qcow2) = {'a' * 32}\n{HEX}  disk.qcow2\n",
        f"{HEX}  amd64/12/disk.qcow2\nMD5 (arm64/12/disk.qcow2) = {'a' * 32}\n",
    ],
)
def test_of_lines_that_may_be_meant_it_is_the_strongest_checksum(text: str) -> None:
    assert str(checksum_of(text, "/amd64/12/disk.qcow2", "http://a/SUMS")) == f"sha256:{HEX}"


def test_a_weaker_checksum_of_the_file_goes_before_a_stronger_one_of_another() -> None:
    text = f"{HEX}  arm64/disk.qcow2\nMD5 (amd64/disk.qcow2) = {'a' * 32}\n"
    assert str(checksum_of(text, "/12/amd64/disk.qcow2", "http://a/SUMS")) == f"md5:{'a' * 32}"


def test_a_file_of_which_two_checksums_are_told_is_refused_with_its_path() -> None:
    text = f"{HEX}  arm64/disk.qcow2\n{'a' * 64}  amd64/disk.qcow2\n"
    with pytest.raises(ImageFault, match="2 different checksums of 'disk") as told:
        checksum_of(text, "/12/disk.qcow2", "http://a/SUMS")
    assert told.value.reason == "AmbiguousChecksum"


@pytest.mark.parametrize("text", ["", f"{HEX}  other.qcow2\n", "<html>404</html>", f"{HEX}\n{HEX}\n", "g" * 64])
def test_a_file_without_the_checksum_is_refused_with_the_forms_that_are_read(text: str) -> None:
    with pytest.raises(ImageFault) as told:
        checksum_of(text, "disk.qcow2", "http://a/SUMS")
    assert told.value.reason == "NoChecksum"
    assert "SHA256 (disk.qcow2) = HEX" in told.value.message
