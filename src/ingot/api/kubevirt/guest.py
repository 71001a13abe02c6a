"""What reaches into the guest from outside: credentials, probes, claims."""

from typing import Annotated

from ingot.api.kubevirt.devices import Bare
from ingot.api.machinery import UNSET, Field, Int32, Opt, Raw, Shape


class CredentialSecret(Shape):
    """A Secret of the same namespace."""

    secret_name: Annotated[str, Field("Its name.", min_length=1)]


class CredentialSource(Shape):
    """Where a credential is kept."""

    secret: Opt[CredentialSecret] = UNSET


class KeyByAgent(Shape):
    """Keys that the guest agent writes."""

    users: Annotated[list[str], Field("The users whose keys they become.", list_type="set")]


class KeyPropagation(Shape):
    """How SSH keys get into the guest."""

    config_drive: Annotated[Opt[Bare], Field("With cloud-init's config drive.")] = UNSET
    no_cloud: Annotated[Opt[Bare], Field("With cloud-init's NoCloud disk.")] = UNSET
    qemu_guest_agent: Opt[KeyByAgent] = UNSET


class PasswordPropagation(Shape):
    """How passwords get into the guest."""

    qemu_guest_agent: Annotated[Opt[Bare], Field("By the guest agent.")] = UNSET


class SshPublicKey(Shape):
    """SSH keys for the guest."""

    source: CredentialSource
    propagation_method: KeyPropagation


class UserPassword(Shape):
    """Passwords for the guest."""

    source: CredentialSource
    propagation_method: PasswordPropagation


class AccessCredential(Shape):
    """A credential that lets someone into the guest."""

    ssh_public_key: Opt[SshPublicKey] = UNSET
    user_password: Opt[UserPassword] = UNSET


class Probe(Shape):
    """A check of the guest that is repeated."""

    exec: Annotated[Opt[Raw], Field("A command that the guest agent runs.")] = UNSET
    guest_agent_ping: Annotated[Opt[Bare], Field("Whether the guest agent answers.")] = UNSET
    http_get: Annotated[Opt[Raw], Field("An HTTP request.")] = UNSET
    tcp_socket: Annotated[Opt[Raw], Field("A TCP connection.")] = UNSET
    initial_delay_seconds: Annotated[Opt[Int32], Field("When it begins.", minimum=0)] = UNSET
    timeout_seconds: Annotated[Opt[Int32], Field("How long an answer may take.", minimum=0)] = UNSET
    period_seconds: Annotated[Opt[Int32], Field("How often it is done.", minimum=0)] = UNSET
    success_threshold: Annotated[Opt[Int32], Field("Successes that make it good.", minimum=0)] = UNSET
    failure_threshold: Annotated[Opt[Int32], Field("Failures that make it bad.", minimum=0)] = UNSET


class ResourceClaim(Shape):
    """Devices that are claimed for the machine."""

    name: Annotated[str, Field("The name that devices refer to.")]
    resource_claim_name: Annotated[Opt[str], Field("A ResourceClaim.")] = UNSET
    resource_claim_template_name: Annotated[Opt[str], Field("A ResourceClaimTemplate.")] = UNSET


class UtilityVolume(Shape):
    """A claim for dumps and backups."""

    name: Annotated[str, Field("Its name.")]
    claim_name: Annotated[str, Field("The claim's name.")]
    read_only: Annotated[Opt[bool], Field("Whether it is mounted for reading only.")] = UNSET
    type: Annotated[Opt[str], Field("MemoryDump or Backup.")] = UNSET
