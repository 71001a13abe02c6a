"""nbdkit's arguments for an endpoint that QEMU cannot or must not reach by itself."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ingot.api.kubevirt.uri import HostPort
from ingot.disks.endpoint import Network, Tls
from ingot.disks.source.refusal import final

# A server that is away for about a minute is waited for; after that the guest's request fails, and it is stopped.
_RETRIES = ("retries=6", "retry-delay=1", "retry-exponential=yes")
# A guest reads in small pieces, and each would cost a round trip: at 20 ms reading in order is 7 times as fast with it.
_READING = ("cache-on-read=true", "cache-min-block-size=1M", "cache-max-size=512M")
# No request is so large that it takes longer, so the connection is dead.
_REQUEST_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Plan:
    """`options` are nbdkit's own, `parameters` the plugin and what it is told, `reading` those of a cache for what is
    only read. `files` are private files by name that the parameters refer to: all that is secret is in them."""

    options: tuple[str, ...]
    parameters: tuple[str, ...]
    files: Mapping[str, bytes]
    reading: tuple[str, ...] = ()

    def serving(self, socket: Path, ready: Path) -> list[str]:
        """The command that serves on a socket, and writes its number to `ready` when it does."""
        filters = [*(["--filter=cache"] if self.reading else []), "--filter=retry"]
        own = ["nbdkit", "-f", *filters, *self.options, "-U", str(socket), "-P", str(ready)]
        # The cache is a file without a name on the filesystem of TMPDIR; it goes with the process.
        return ["env", f"TMPDIR={ready.parent}", *own, *self.parameters, *_RETRIES, *self.reading]

    def trying(self, socket: Path) -> list[str]:
        """The command that serves on a socket, says at once what it does not like, and keeps nothing."""
        return ["nbdkit", "-f", *self.options, "-U", str(socket), *self.parameters]


def plan(volume: str, endpoint: Network, home: Path) -> Plan:
    """The plan for an endpoint whose private files are in `home`. Raises DiskFault for what nbdkit cannot do."""
    return _PLANS[endpoint.protocol](volume, endpoint, home)


def _web(volume: str, endpoint: Network, home: Path) -> Plan:
    secure = endpoint.protocol == "https"
    files = {}
    parameters = [
        "curl",
        f"url={url_of(endpoint)}",
        # A redirect may lead to another host, to which curl gives no credentials, but never out of encryption.
        f"protocols={'https' if secure else 'http,https'}",
        # Where it leads to is not told our address, in which there may be a token.
        "header=Referer:",
        f"timeout={_REQUEST_SECONDS}",
    ]
    if endpoint.tls is not None and endpoint.tls.certificate:
        why = (
            "the Secret holds a certificate of ours (tls.crt), which nbdkit cannot show to an https server; "
            "use username and password, or an nbds server"
        )
        raise final(volume, "ClientCertificateUnsupported", why)
    if endpoint.tls is not None and endpoint.tls.authority:
        files["authority.pem"] = endpoint.tls.authority.encode()
        parameters.append(f"cainfo={home / 'authority.pem'}")
    if endpoint.credentials is not None:
        if set(endpoint.credentials.secret) & set(b"\n\r\0"):
            why = "the Secret holds a password of several lines, which no web server takes; put one line there"
            raise final(volume, "SecretInvalid", why)
        files["password"] = endpoint.credentials.secret
        parameters += [f"user={endpoint.credentials.user}", f"password=+{home / 'password'}"]
    return Plan(("-r",), tuple(parameters), files, _READING)


def _block(_volume: str, endpoint: Network, home: Path) -> Plan:
    tls = endpoint.tls or Tls()
    files = {"ca-cert.pem": tls.authority.encode() or _authorities()}
    if tls.certificate:
        files |= {"client-cert.pem": tls.certificate.encode(), "client-key.pem": tls.key.encode()}
    host = endpoint.hosts[0]
    return Plan(
        (),
        (
            "nbd",
            f"hostname={host.host}",
            f"port={host.port}",
            f"export={endpoint.name}",
            "tls=require",
            "tls-verify=true",
            f"tls-certificates={home}",
        ),
        files,
    )


_PLANS: dict[str, Callable[[str, Network, Path], Plan]] = {"http": _web, "https": _web, "nbd": _block}


def url_of(endpoint: Network) -> str:
    return f"{endpoint.protocol}://{_portal(endpoint.hosts[0])}{endpoint.name}"


def _portal(host: HostPort) -> str:
    return f"[{host.host}]:{host.port}" if ":" in host.host else f"{host.host}:{host.port}"


def _authorities() -> bytes:
    """The authorities that this machine trusts."""
    path = ssl.get_default_verify_paths().cafile
    return Path(path).read_bytes() if path else b""
