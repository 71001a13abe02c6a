"""Certificate authorities that are trusted besides those of the machine."""

import ssl
from collections.abc import Mapping
from pathlib import Path

from ingot.images.fault import ImageFault


def trust(context: ssl.SSLContext, place: Path) -> None:
    """Trusts what is in the file `place`, or in all files of that directory, as a ConfigMap has them. Raises ImageFault
    where there is nothing to trust."""
    files = _files(place)
    if not files:
        raise ImageFault(str(place), "BadCa", "it has no file: put the certificates of the authorities in it, in PEM")
    for file in files:
        try:
            context.load_verify_locations(file)
        except (OSError, ssl.SSLError) as error:
            raise ImageFault(
                str(file), "BadCa", f"it cannot be used ({error}): a file with certificates in PEM is accepted"
            ) from None


def trust_text(context: ssl.SSLContext, text: str) -> None:
    """Trusts certificates that are in memory, in PEM. Raises ImageFault where there are none."""
    try:
        context.load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError):
        message = "these cannot be used: certificates in PEM are accepted"
        raise ImageFault("the authorities to trust", "BadCa", message) from None


def of_config_map(name: str, files: Mapping[str, bytes]) -> str:
    """The certificates in the ConfigMap that a source names in certConfigMap, for `trust_text`. Raises ImageFault where
    there are none, and for a file that holds something else."""
    if not files:
        message = "it has no file: put the certificates of the authorities in it, in PEM"
        raise ImageFault(_subject(name), "BadCa", message)
    texts = {file: content.decode(errors="replace") for file, content in files.items()}
    for file, text in texts.items():
        try:
            trust_text(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), text)
        except ImageFault:
            message = f"{file} in it cannot be used: certificates in PEM are accepted"
            raise ImageFault(_subject(name), "BadCa", message) from None
    return "\n".join(texts.values())


def mounted(name: str, directory: Path) -> str:
    """The same of one that is mounted there."""
    try:
        return of_config_map(name, {file.name: file.read_bytes() for file in _files(directory)})
    except OSError as error:
        message = f"it cannot be read: {error.strerror}"
        raise ImageFault(_subject(name), "BadCa", message, retry=True) from None


def _subject(config_map: str) -> str:
    return f'certConfigMap: ConfigMap "{config_map}"'


def _files(place: Path) -> list[Path]:
    """A mounted ConfigMap also has names that begin with a dot, for its versions."""
    if not place.is_dir():
        return [place]
    return sorted(file for file in place.iterdir() if not file.name.startswith(".") and file.is_file())
