"""Where an API server is and who we are to it: kubeconfig files, or what a pod is given."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import yaml

from ingot.api.object import Object

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ConfigError(Exception):
    """Credentials that cannot be used: `source` is the file or place, `problem` what is wrong with it."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(f"{source}: {problem}")
        self.source = source
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Material:
    """A certificate, key or token: held here, or in a file that may be replaced at any time."""

    data: bytes = field(default=b"", repr=False)
    file: Path | None = None

    def read(self) -> bytes:
        if self.file is None:
            return self.data
        try:
            return self.file.read_bytes()
        except OSError as error:
            raise ConfigError(str(self.file), error.strerror or str(error)) from error

    def stamp(self) -> tuple[int, int, int]:
        """Changes whenever the file does, also through the symlink swaps of projected volumes."""
        if self.file is None:
            return (0, 0, 0)
        try:
            found = self.file.stat()
        except OSError as error:
            raise ConfigError(str(self.file), error.strerror or str(error)) from error
        return (found.st_ino, found.st_mtime_ns, found.st_size)


@dataclass(frozen=True, slots=True)
class Config:
    """One server and one user. `headers` are sent with every request (impersonation)."""

    server: str
    namespace: str = "default"
    ca: Material | None = None
    certificate: Material | None = None
    key: Material | None = None
    token: Material | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    insecure: bool = False
    server_name: str = ""
    proxy: str = ""
    headers: tuple[tuple[str, str], ...] = ()


def load(path: str | Path = "", context: str = "", env: Mapping[str, str] = os.environ) -> Config:
    """Read `path`, else the files of $KUBECONFIG, else ~/.kube/config, else be the pod that we are in.

    Several files are merged as kubectl does: the first that defines a name wins, and a relative path is
    relative to the file that has it.
    """
    if path:
        files = [Path(path)]
    elif env.get("KUBECONFIG"):
        files = [Path(name) for name in env["KUBECONFIG"].split(os.pathsep) if name]
    else:
        files = [Path(env.get("HOME", "~")).expanduser() / ".kube" / "config"]
    present = [file for file in files if file.exists()]
    if not present:
        tried = os.pathsep.join(str(file) for file in files)
        if not path and env.get("KUBERNETES_SERVICE_HOST"):
            return in_cluster(env=env)
        raise ConfigError(tried, "no such kubeconfig, and this is not a pod: give --kubeconfig or set KUBECONFIG")
    return _choose(present, context)


def in_cluster(root: Path = SERVICE_ACCOUNT, env: Mapping[str, str] = os.environ) -> Config:
    """The service account of the pod; its token and CA are read again whenever the kubelet renews them."""
    host = env.get("KUBERNETES_SERVICE_HOST", "")
    if not host or not (root / "token").exists():
        raise ConfigError(str(root), "not in a pod, or the pod has no service account token")
    host = f"[{host}]" if ":" in host else host
    namespace = root / "namespace"
    return Config(
        server=f"https://{host}:{env.get('KUBERNETES_SERVICE_PORT', '443')}",
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        ca=Material(file=root / "ca.crt"),
        token=Material(file=root / "token"),
    )


class _Cluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    certificate_authority: str | None = None
    certificate_authority_data: bytes | None = None
    insecure_skip_tls_verify: bool | None = None
    tls_server_name: str | None = None
    proxy_url: str | None = None


class _User(msgspec.Struct, rename="kebab"):
    client_certificate: str | None = None
    client_certificate_data: bytes | None = None
    client_key: str | None = None
    client_key_data: bytes | None = None
    token: str | None = None
    token_file: str | None = msgspec.field(default=None, name="tokenFile")
    username: str | None = None
    password: str | None = None
    impersonate: str | None = msgspec.field(default=None, name="as")
    impersonate_uid: str | None = msgspec.field(default=None, name="as-uid")
    impersonate_groups: list[str] | None = msgspec.field(default=None, name="as-groups")
    exec: Object | None = None
    auth_provider: Object | None = None


class _Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str | None = None


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: _Cluster


class _NamedUser(msgspec.Struct):
    name: str
    user: _User


class _NamedContext(msgspec.Struct):
    name: str
    context: _Context


class _File(msgspec.Struct, rename="kebab"):
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None
    current_context: str | None = None


def _parse(file: Path) -> _File:
    try:
        return msgspec.convert(yaml.safe_load(file.read_bytes()), _File)
    except (OSError, yaml.YAMLError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ConfigError(str(file), f"not a kubeconfig: {error}") from error


def _choose(files: list[Path], wanted: str) -> Config:
    clusters: dict[str, tuple[_Cluster, Path]] = {}
    users: dict[str, tuple[_User, Path]] = {}
    contexts: dict[str, _Context] = {}
    for file in files:
        document = _parse(file)
        wanted = wanted or document.current_context or ""
        for cluster in document.clusters or ():
            clusters.setdefault(cluster.name, (cluster.cluster, file))
        for user in document.users or ():
            users.setdefault(user.name, (user.user, file))
        for context in document.contexts or ():
            contexts.setdefault(context.name, context.context)
    where = os.pathsep.join(str(file) for file in files)
    if wanted not in contexts:
        known = ", ".join(contexts) or "none"
        raise ConfigError(where, f'no context "{wanted}" (there is: {known})' if wanted else "no current-context")
    chosen = contexts[wanted]
    if chosen.cluster not in clusters:
        raise ConfigError(where, f'context "{wanted}" names cluster "{chosen.cluster}", which is not there')
    return _config(chosen, *clusters[chosen.cluster], *users.get(chosen.user, (_User(), files[0])))


def _config(context: _Context, cluster: _Cluster, cluster_file: Path, user: _User, user_file: Path) -> Config:
    server = cluster.server.rstrip("/")
    if not server.startswith(("http://", "https://")):
        raise ConfigError(str(cluster_file), f'server "{server}" is not an http:// or https:// address')
    # A token file wins over a token: the token beside it is what the file held once.
    token = _material(None, user.token_file, user_file) or _material((user.token or "").encode(), None, user_file)
    certificate = _material(user.client_certificate_data, user.client_certificate, user_file)
    if (user.exec or user.auth_provider) and not (token or certificate or user.username):
        raise ConfigError(str(user_file), "credential plugins (exec, auth-provider) are not run: give a token")
    impersonation = [("Impersonate-User", user.impersonate), ("Impersonate-Uid", user.impersonate_uid)]
    impersonation += [("Impersonate-Group", group) for group in user.impersonate_groups or ()]
    return Config(
        server=server,
        namespace=context.namespace or "default",
        ca=_material(cluster.certificate_authority_data, cluster.certificate_authority, cluster_file),
        certificate=certificate,
        key=_material(user.client_key_data, user.client_key, user_file),
        token=token,
        username=user.username or "",
        password=user.password or "",
        insecure=bool(cluster.insecure_skip_tls_verify),
        server_name=cluster.tls_server_name or "",
        proxy=cluster.proxy_url or "",
        headers=tuple((name, value) for name, value in impersonation if value),
    )


def _material(data: bytes | None, path: str | None, file: Path) -> Material | None:
    """Data wins over a path; a relative path is relative to the file that names it."""
    if data:
        return Material(data)
    return Material(file=file.parent / path) if path else None
