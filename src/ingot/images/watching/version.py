"""A version of a source: what changes when its content does."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Version:
    """`digest` is `sha256:…`: of the manifest of an image, of a file whose checksum is published, else of its address
    and of what a web server says changes with the file. `name` is what people call it: a tag, a date. `checksum` is
    what the file must have, as far as that is known; `size` how large its server says that it is. `listed`: it was
    found among all tags of its repository."""

    digest: str
    name: str
    checksum: str = ""
    size: str = field(default="", compare=False)
    listed: bool = field(default=False, compare=False)
