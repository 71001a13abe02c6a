"""Ceph's gateway for S3: buckets behind HTTP, for those whose requests are signed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import secrets
from contextlib import ExitStack
from email.utils import formatdate

from guest.servers.ceph import Ceph
from guest.servers.server import HOST, listens, wait_until
from kube.cluster import free_ports


class RadosGateway(Ceph):
    """One user, `access` with `secret`, who has all buckets. Objects are put there by requests of S3's older signature,
    which has nothing in common with ours."""

    programs = (*Ceph.programs, "radosgw", "radosgw-admin")
    packages = (*Ceph.packages, "radosgw")

    def __init__(self) -> None:
        super().__init__()
        self.access, self.secret = secrets.token_hex(10), secrets.token_urlsafe(30)
        (self.gateway_port,) = free_ports(1)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.gateway_port}"

    def put(self, path: str, content: bytes = b"", *, public: bool = False) -> None:
        """A bucket, by `/NAME`, or an object in one; `public`: for everybody to read."""
        date = formatdate(usegmt=True)
        acl = "x-amz-acl:public-read\n" if public else ""
        text = f"PUT\n\n\n{date}\n{acl}{path}"
        signature = base64.b64encode(hmac.digest(self.secret.encode(), text.encode(), hashlib.sha1)).decode()
        headers = {"Date": date, "Authorization": f"AWS {self.access}:{signature}"}
        if public:
            headers["x-amz-acl"] = "public-read"
        connection = http.client.HTTPConnection(HOST, self.gateway_port, timeout=60)
        connection.request("PUT", path, content, headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"PUT {path}: {answer.status} {answer.read().decode()}")
        connection.close()

    def _start(self, stack: ExitStack) -> None:
        super()._start(stack)
        user = ("--uid", "tester", "--display-name", "tester", "--access-key", self.access, "--secret", self.secret)
        self._run("radosgw-admin", "user", "create", *user)
        frontend = f"beast endpoint={HOST}:{self.gateway_port}"
        command = ["radosgw", "-f", "-n", "client.admin", "-c", self._file("ceph.conf"), "--rgw-frontends", frontend]
        self.gateway = self.run(stack, command)
        wait_until(lambda: listens(self.gateway_port), self.gateway)
