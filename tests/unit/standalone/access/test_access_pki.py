import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ingot.standalone.access import certificates, pki
from ingot.standalone.access.certificates import AUTHORITY_LIFETIME, LEAF_LIFETIME, Pair


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> pki.Pki:
    return pki.ensure(tmp_path_factory.mktemp("keys") / "pki", ["192.0.2.7", "lab.example"])


def later(by: timedelta) -> datetime:
    return datetime.now(UTC) + by


def test_only_the_owner_reads_the_keys(made: pki.Pki) -> None:
    assert stat.S_IMODE(made.directory.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in made.directory.iterdir()}
    assert modes == dict.fromkeys(["ca.pem", "server.pem", "admin.pem", "service-account.pem"], 0o600)


def test_the_server_is_good_for_every_name_it_may_be_called_by(made: pki.Pki) -> None:
    hosts = certificates.hosts_of(made.server.certificate)
    assert {
        "127.0.0.1",
        "::1",
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "192.0.2.7",
        "lab.example",
    } <= set(hosts)


def test_the_administrator_is_a_master(made: pki.Pki) -> None:
    subject = made.admin.certificate.subject
    groups = [name.value for name in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    assert groups == ["system:masters"]


def test_each_certificate_serves_its_purpose_only(made: pki.Pki) -> None:
    def purposes(pair: Pair) -> list[x509.ObjectIdentifier]:
        return list(pair.certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)

    assert purposes(made.server) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert purposes(made.admin) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_the_next_start_finds_the_same_keys(made: pki.Pki) -> None:
    before = {path.name: path.read_bytes() for path in made.directory.iterdir()}
    pki.ensure(made.directory, ["192.0.2.7"])
    assert {path.name: path.read_bytes() for path in made.directory.iterdir()} == before


def test_a_new_address_renews_the_server_alone(tmp_path: Path) -> None:
    first = pki.ensure(tmp_path)
    second = pki.ensure(tmp_path, ["192.0.2.1"])
    assert "192.0.2.1" in certificates.hosts_of(second.server.certificate)
    assert (second.authority_pem, second.admin.pem()) == (first.authority_pem, first.admin.pem())


def test_leaves_are_renewed_before_they_expire(tmp_path: Path) -> None:
    first = pki.ensure(tmp_path)
    second = pki.ensure(tmp_path, now=later(LEAF_LIFETIME - timedelta(days=50)))
    assert second.authority_pem == first.authority_pem
    assert second.server.pem() != first.server.pem()
    assert second.admin.pem() != first.admin.pem()


def test_a_renewed_authority_renews_all_but_the_key_of_tokens(tmp_path: Path) -> None:
    first = pki.ensure(tmp_path)
    second = pki.ensure(tmp_path, now=later(AUTHORITY_LIFETIME - timedelta(days=50)))
    assert second.authority_pem != first.authority_pem
    assert second.server.issued_by(second.authority)
    assert second.admin.issued_by(second.authority)
    assert second.signing_key.private_numbers() == first.signing_key.private_numbers()


def test_a_leaf_of_another_authority_is_replaced(tmp_path: Path) -> None:
    pki.ensure(tmp_path / "a")
    pki.ensure(tmp_path / "b")
    (tmp_path / "a" / "ca.pem").write_bytes((tmp_path / "b" / "ca.pem").read_bytes())
    mended = pki.ensure(tmp_path / "a")
    assert mended.server.issued_by(mended.authority)


@pytest.mark.parametrize("name", ["ca.pem", "server.pem", "admin.pem", "service-account.pem"])
@pytest.mark.parametrize("content", [b"", b"rubbish", b"-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END"])
def test_a_damaged_file_is_refused_by_name_and_left_alone(tmp_path: Path, name: str, content: bytes) -> None:
    pki.ensure(tmp_path)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(pki.PkiError, match=f"{name} cannot be used: .*remove it") as caught:
        pki.ensure(tmp_path)
    assert caught.value.path == tmp_path / name
    assert (tmp_path / name).read_bytes() == content


def test_a_key_that_fits_another_certificate_is_refused(tmp_path: Path) -> None:
    made = pki.ensure(tmp_path)
    (tmp_path / "server.pem").write_bytes(made.admin.key_pem + made.server.certificate_pem)
    with pytest.raises(pki.PkiError, match="does not belong"):
        pki.ensure(tmp_path)


def test_a_key_opened_to_others_is_closed_again(tmp_path: Path) -> None:
    pki.ensure(tmp_path)
    (tmp_path / "ca.pem").chmod(0o644)
    pki.ensure(tmp_path)
    assert stat.S_IMODE((tmp_path / "ca.pem").stat().st_mode) == 0o600


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> bytes | None:
    """The client certificate in DER that the server sees; raises ssl.SSLError when either side refuses."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=host)
    waiting = [theirs, ours]
    while waiting:
        for side in list(waiting):
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                pass
    return ours.getpeercert(True)


def administrator(made: pki.Pki) -> ssl.SSLContext:
    client = ssl.create_default_context(cadata=made.authority_pem.decode())
    client.load_cert_chain(made.directory / "admin.pem")
    return client


def test_server_and_administrator_trust_each_other(made: pki.Pki) -> None:
    seen = handshake(made.server_context(), administrator(made), "127.0.0.1")
    assert seen is not None
    assert x509.load_der_x509_certificate(seen) == made.admin.certificate


def test_a_client_without_certificate_may_connect(made: pki.Pki) -> None:
    client = ssl.create_default_context(cadata=made.authority_pem.decode())
    assert handshake(made.server_context(), client, "localhost") is None


def test_another_name_is_refused_by_the_client(made: pki.Pki) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(made.server_context(), administrator(made), "elsewhere.example")


@pytest.mark.parametrize("who", ["stranger", "server"])
def test_certificates_not_made_for_clients_are_refused(made: pki.Pki, tmp_path: Path, who: str) -> None:
    foreign = certificates.new_authority("elsewhere")
    pairs = {"stranger": certificates.new_client(foreign, "ingot-admin", ["system:masters"]), "server": made.server}
    (tmp_path / "client.pem").write_bytes(pairs[who].pem())
    client = ssl.create_default_context(cadata=made.authority_pem.decode())
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    client.load_cert_chain(tmp_path / "client.pem")
    with pytest.raises(ssl.SSLError):
        handshake(made.server_context(), client, "localhost")


def test_another_server_of_the_machine_has_a_certificate_of_the_same_authority(tmp_path: Path) -> None:
    first = pki.ensure(tmp_path / "pki")
    path = pki.serving(tmp_path / "pki", "web", ["192.0.2.7"])
    pair = Pair.from_pem(path.read_bytes())
    assert pair.issued_by(first.authority)
    assert set(certificates.hosts_of(pair.certificate)) == {"127.0.0.1", "::1", "localhost", "192.0.2.7"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert pki.authority_pem(tmp_path / "pki") == first.authority_pem
    assert b"PRIVATE" not in pki.authority_pem(tmp_path / "pki")
    pki.serving(tmp_path / "pki", "web", ["192.0.2.7"])
    assert Pair.from_pem(path.read_bytes()).certificate == pair.certificate, "it is kept while it is good"
    pki.serving(tmp_path / "pki", "web", ["lab.example"])
    assert "lab.example" in certificates.hosts_of(Pair.from_pem(path.read_bytes()).certificate)


def test_without_an_authority_there_is_no_other_server(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    with pytest.raises(pki.PkiError, match=r"ca\.pem cannot be used"):
        pki.serving(tmp_path / "pki", "web", [])
