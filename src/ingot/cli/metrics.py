"""Where the figures of one machine are served, written down in its directory."""

from pathlib import Path

# The URL of the page, in the directory.
ADDRESS = "metrics.address"


def announce(directory: Path, host: str, port: int) -> None:
    """Called once the page is served there."""
    from ingot.host.files import write_atomically
    from ingot.standalone.access.kubeconfig import server_url

    write_atomically(directory / ADDRESS, f"{server_url(host, port, 'http')}/metrics".encode())


def forget(directory: Path) -> None:
    """For one who starts and serves no page."""
    (directory / ADDRESS).unlink(missing_ok=True)


def known_url(directory: Path) -> str:
    """The URL of the page; "" for none."""
    try:
        return (directory / ADDRESS).read_text().strip()
    except OSError:
        return ""
