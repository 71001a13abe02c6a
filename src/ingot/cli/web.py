"""`ingot web`: the endpoint for uploads."""

import asyncio
import errno
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.child import NeedsMending, kubeconfig_option, run_child
from ingot.cli.directory import directory_option
from ingot.cli.listen import listen_option, taken

if TYPE_CHECKING:
    from ingot.control.reach import Reach
    from ingot.kube.client import Client
    from ingot.web.endpoint import Place

DEFAULT_LISTEN = "127.0.0.1:0"
# The URL of the endpoint, in the directory.
ADDRESS = "web.address"
_RENEWAL_SECONDS = 12 * 3600.0
# The address is another program's, or nobody's on this machine.
_UNUSABLE = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES)
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(epilog="Example: ingot web --dir ~/lab --listen 127.0.0.1:8443")
@directory_option
@kubeconfig_option
@listen_option(DEFAULT_LISTEN, everywhere=True)
@click.option("--certificate", type=_FILE, help="Certificate to show, as PEM; without it, one of the directory's CA.")
@click.option("--key", type=_FILE, help="Its private key, as PEM.")
@click.option("--known-as", default="", metavar="HOST:PORT", help="How clients reach it, if not where it listens.")
def web(
    directory: Path,
    kubeconfig: str,
    listen: tuple[str, int],
    certificate: Path | None,
    key: Path | None,
    known_as: str,
) -> None:
    """Take uploads, and pass each on to the pod that fills its volume.

    `ingot up` starts this beside the API server. Who uploads needs a token, which an UploadTokenRequest gives:

    \b
    curl -T disk.qcow2 -H "Authorization: Bearer $TOKEN" https://ADDRESS/v1beta1/upload
    """
    if (certificate is None) != (key is None):
        raise click.UsageError("--certificate and --key go together")

    async def work(client: "Client", stop: asyncio.Event) -> None:
        from ingot.control.reach import Reach
        from ingot.web.endpoint import serve

        host, port = listen
        renewal = None if certificate else asyncio.create_task(_renew(directory, host))
        try:
            # Whose API is that of the directory, their pods are on this machine.
            reach = Reach(None if kubeconfig else directory / "kubelet")
            place = _place(directory, host, port, reach, known_as, certificate, key)
            await serve(client, place, stop, lambda found: _announce(directory, host, found))
        except OSError as error:
            if error.errno not in _UNUSABLE:
                raise
            raise NeedsMending(taken(host, port)) from error
        finally:
            if renewal is not None:
                renewal.cancel()

    run_child(directory, "web", kubeconfig, work)


def _place(
    directory: Path, host: str, port: int, reach: "Reach", known_as: str, certificate: Path | None, key: Path | None
) -> "Place":
    from ingot.web.endpoint import Place

    if certificate is not None and key is not None:
        return Place(host, port, _context(certificate, key), reach, known_as=known_as)
    from ingot.standalone.access import pki

    try:
        pair = pki.serving(directory / "pki", "web", [host])
        authority = pki.authority_pem(directory / "pki").decode()
    except pki.PkiError as error:
        raise NeedsMending(str(error)) from error
    return Place(host, port, _context(pair, pair), reach, earlier_port(directory), known_as, authority)


def _context(certificate: Path, key: Path) -> ssl.SSLContext:
    from ingot.kube.certificate import ServingCertificate
    from ingot.kube.kubeconfig import ConfigError

    try:
        return ServingCertificate(certificate, key).context()
    except ConfigError as error:
        raise NeedsMending(str(error)) from error


async def _renew(directory: Path, host: str) -> None:
    """Puts a new certificate in place long before the old one expires; the next handshake uses it."""
    from ingot.standalone.access import pki

    while True:
        await asyncio.sleep(_RENEWAL_SECONDS)
        pki.serving(directory / "pki", "web", [host])


def _announce(directory: Path, host: str, port: int) -> None:
    from ingot.host.files import write_atomically
    from ingot.standalone.access.kubeconfig import server_url

    url = server_url(host, port)
    write_atomically(directory / ADDRESS, url.encode())
    click.echo(f"Ingot takes uploads at {url}")


def earlier_port(directory: Path) -> int:
    """The port that the directory's endpoint had when it last ran; 0 for none."""
    _, _, port = known_url(directory).rpartition(":")
    return int(port) if port.isdecimal() and int(port) <= 65535 else 0


def known_url(directory: Path) -> str:
    """The URL of the directory's endpoint, when it last ran; "" for none."""
    try:
        return (directory / ADDRESS).read_text().strip()
    except OSError:
        return ""
