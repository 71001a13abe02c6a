"""What the gateway proves itself with: an authority of its own and a certificate by that, in one Secret."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from ingot.api.object import Object
from ingot.standalone.access import certificates
from ingot.standalone.access.certificates import Pair

RENEW_BEFORE = timedelta(days=60)
# As in Secrets of type kubernetes.io/tls, and the key of the authority beside them.
AUTHORITY, AUTHORITY_KEY = "ca.crt", "ca.key"
CERTIFICATE, KEY = "tls.crt", "tls.key"


@dataclass(frozen=True, slots=True)
class Papers:
    """The authority lasts for ten years, and the certificate that is shown for one."""

    authority: Pair
    server: Pair

    @classmethod
    def new(cls, hosts: Sequence[str]) -> Self:
        return cls._issued(certificates.new_authority("ingot-gateway-ca"), hosts)

    @classmethod
    def _issued(cls, authority: Pair, hosts: Sequence[str]) -> Self:
        return cls(authority, certificates.new_server(authority, "ingot-gateway", hosts))

    @classmethod
    def read(cls, secret: Object) -> Self:
        """The papers in a Secret. Raises ValueError for one that somebody has changed."""
        data = secret.get("data") or {}
        try:
            found = {field: base64.b64decode(data.get(field) or "", validate=True) for field in _FIELDS}
        except (binascii.Error, TypeError) as error:
            raise ValueError(f"its data is not in base64: {error}") from error
        authority = Pair.from_pem(found[AUTHORITY_KEY] + found[AUTHORITY])
        return cls(authority, Pair.from_pem(found[KEY] + found[CERTIFICATE]))

    def data(self) -> dict[str, str]:
        """The `data` of the Secret."""
        content = {
            AUTHORITY: self.authority.certificate_pem,
            AUTHORITY_KEY: self.authority.key_pem,
            CERTIFICATE: self.server.certificate_pem,
            KEY: self.server.key_pem,
        }
        return {field: base64.b64encode(value).decode() for field, value in content.items()}

    def renewed(self, hosts: Sequence[str], now: datetime | None = None) -> Self:
        """These papers where they are good for all hosts and for long enough; else with a new certificate, by the same
        authority as long as that lasts, so that whoever trusts it need not hear of it.

        Names are added to those that are there: gateways of two settings, as during an update, do not take turns.
        """
        deadline = (now or datetime.now(UTC)) + RENEW_BEFORE
        if self.authority.expires() <= deadline:
            return self.new(hosts)
        if self.server.expires() <= deadline or not self.server.issued_by(self.authority):
            return self._issued(self.authority, hosts)
        known = certificates.hosts_of(self.server.certificate)
        missing = [host for host in hosts if host not in known]
        return self._issued(self.authority, [*known, *missing]) if missing else self


_FIELDS = (AUTHORITY, AUTHORITY_KEY, CERTIFICATE, KEY)
