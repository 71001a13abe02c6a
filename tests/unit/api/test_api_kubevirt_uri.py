"""Addresses of network volumes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.api.kubevirt.endpoints import SCHEMES
from ingot.api.kubevirt.uri import DEFAULT_PORTS, Endpoint, HostPort, UriError, parse, parse_host


def endpoint(scheme, host, port, name, lun=0):
    return Endpoint(scheme, (HostPort(host, port),), name, lun)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("nbd://diskservice/Fedora-34.iso", endpoint("nbd", "diskservice", 10809, "Fedora-34.iso")),
        ("nbd://Host:1/a/B/c", endpoint("nbd", "Host", 1, "a/B/c")),
        ("nbd://host", endpoint("nbd", "host", 10809, "")),
        ("nbd://host/", endpoint("nbd", "host", 10809, "")),
        ("nbd://host//leading", endpoint("nbd", "host", 10809, "/leading")),
        ("nbd://host/a%20b%2Fc", endpoint("nbd", "host", 10809, "a b/c")),
        ("nbds://[fe80::1]:77/x", endpoint("nbds", "fe80::1", 77, "x")),
        ("NBD://host/X", endpoint("nbd", "host", 10809, "X")),
        ("iscsi://h/iqn.2017-01.io.Kube:sn.42/2", endpoint("iscsi", "h", 3260, "iqn.2017-01.io.Kube:sn.42", 2)),
        ("iscsi://h:99/iqn.2017-01.io:x", endpoint("iscsi", "h", 99, "iqn.2017-01.io:x")),
        ("rbd://mon/pool/image", endpoint("rbd", "mon", 6789, "pool/image")),
        ("rbd://mon/pool/space/image@snap", endpoint("rbd", "mon", 6789, "pool/space/image@snap")),
        ("rbd://a,b:1/p/i", Endpoint("rbd", (HostPort("a", 6789), HostPort("b", 1)), "p/i")),
        ("gluster://g/vol/dir/Disk.img", endpoint("gluster", "g", 24007, "vol/dir/Disk.img")),
        ("http://web/a%20b?q=1&r", endpoint("http", "web", 80, "/a%20b?q=1&r")),
        ("https://web", endpoint("https", "web", 443, "/")),
        ("https://web?x=1", endpoint("https", "web", 443, "/?x=1")),
    ],
)
def test_addresses(uri, expected):
    assert parse(uri) == expected
    assert parse(uri).tls == (expected.scheme in ("nbds", "https"))


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ("", "scheme://host/name"),
        ("diskservice/x", "scheme://host/name"),
        ("nbd:diskservice", "scheme://host/name"),
        ("nbd://host/a b", "without spaces"),
        ("nbd://host/a\n", "without spaces"),
        ("ftp://host/x", "one of nbd, nbds, iscsi, rbd, gluster, http, https"),
        ("nbd+unix:///x", "one of nbd"),
        ("nbd:///x", "needs a host"),
        ("nbd://user:secret@host/x", "secretRef"),
        ("nbd://host:0/x", "between 1 and 65535"),
        ("nbd://host:70000/x", "between 1 and 65535"),
        ("nbd://host:/x", "must be a name or an address"),
        ("nbd://ho^st/x", "must be a name or an address"),
        ("nbd://a,b/x", "must be a name or an address"),
        ("nbd://host/x?tls=1", "query"),
        ("http://host/x#part", "fragment"),
        ("iscsi://host/", "iqn., eui. or naa."),
        ("iscsi://host/some-target/1", "iqn., eui. or naa."),
        ("iscsi://host/iqn.2017-01.io:x/lun", "must be a number"),
        ("iscsi://host/iqn.2017-01.io:x/1/2", "must be a number"),
        ("iscsi://host/iqn.2017-01.io:x/99999", "below 16384"),
        ("rbd://mon/image", "a pool and an image"),
        ("rbd://mon/pool/", "a pool and an image"),
        ("gluster://host/volume", "a volume and a file"),
        ("gluster://host//file", "a volume and a file"),
        ("nbd://host/a%00b", "control characters"),
        ("nbd://host/a%0Ab", "control characters"),
        ("rbd://mon/pool/a%7F", "control characters"),
        ("gluster://host/volume/a%1b", "control characters"),
    ],
)
def test_refusals_say_what_is_accepted(uri, why):
    with pytest.raises(UriError) as told:
        parse(uri)
    assert why in told.value.why
    assert told.value.uri == uri


def test_a_refusal_does_not_repeat_a_password():
    with pytest.raises(UriError) as told:
        parse("nbd://user:secret@host/x")
    assert "secret@" not in told.value.why


@given(st.text())
def test_any_text_is_an_address_or_a_refusal(text):
    for uri in (text, f"nbd://{text}", f"iscsi://h/{text}", f"rbd://{text}/p/i", f"http://h/{text}"):
        try:
            found = parse(uri)
        except UriError:
            continue
        assert found.hosts
        assert all(0 < each.port < 65536 for each in found.hosts)


def test_hosts():
    assert parse_host("storage.local", 3260) == HostPort("storage.local", 3260)
    assert parse_host("[::1]:99", 3260) == HostPort("::1", 99)


def test_every_scheme_has_a_port():
    assert tuple(DEFAULT_PORTS) == SCHEMES
