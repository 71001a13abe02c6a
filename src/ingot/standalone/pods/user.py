"""As whom a local process of a pod runs."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingot.api.object import Object
from ingot.standalone.pods.fault import PodFault


@dataclass(frozen=True, slots=True)
class User:
    """None stands for what we are ourselves."""

    uid: int | None = None
    gid: int | None = None

    @property
    def changes(self) -> bool:
        return self.uid is not None or self.gid is not None

    @property
    def options(self) -> list[str]:
        """What setpriv is told."""
        if not self.changes:
            return []
        uid = [] if self.uid is None else ["--reuid", str(self.uid)]
        return [*uid, "--regid", str(self.group), "--clear-groups"]

    @property
    def group(self) -> int:
        return self.gid if self.gid is not None else self.uid if self.uid is not None else os.getegid()

    def own(self, path: Path) -> None:
        """Gives the file or directory itself to the user: of a link, not what it leads to."""
        if self.changes:
            os.chown(path, *self._numbers, follow_symlinks=False)

    def own_open(self, descriptor: int) -> None:
        """Gives the open file or directory to the user."""
        if self.changes:
            os.fchown(descriptor, *self._numbers)

    @property
    def _numbers(self) -> tuple[int, int]:
        return -1 if self.uid is None else self.uid, self.group


def user_of(pod: Object, container: Object) -> User:
    """The user that the security contexts ask for. Raises PodFault for one that we cannot become."""
    contexts: dict[str, Any] = {
        **(pod["spec"].get("securityContext") or {}),
        **(container.get("securityContext") or {}),
    }
    uid, gid = contexts.get("runAsUser"), contexts.get("runAsGroup")
    own = os.geteuid()
    if own != 0 and (uid not in (None, own) or gid not in (None, os.getegid())):
        why = f"securityContext: user {own}, who runs ingot, cannot become {uid}:{gid}"
        raise PodFault("CreateContainerConfigError", f"{why}; leave it out, or run ingot as root")
    if contexts.get("runAsNonRoot") and (uid == 0 or (uid is None and own == 0)):
        why = "securityContext.runAsNonRoot: it would run as root; give runAsUser"
        raise PodFault("CreateContainerConfigError", why)
    return User(uid, gid) if own == 0 else User()
