"""A token server, as registries with bearer authentication send their clients to."""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import trustme
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from images.servers.registry import PASSWORD, USER, TokenAuth

SERVICE, ISSUER, REFRESH = "disks.test", "tokens.test", "a-refresh-token"


class TokenServer:
    """Everybody may pull what begins with `public/`; USER with PASSWORD, or the bearer of REFRESH, may do anything.

    `asked`: what was asked for so far: who (or ""), and the scopes. `seconds`: how long tokens last.
    """

    def __init__(self, directory: Path) -> None:
        authority = trustme.CA()
        leaf = authority.issue_cert("tokens.test")
        self._key = serialization.load_pem_private_key(leaf.private_key_pem.bytes(), None)
        pem = leaf.cert_chain_pems[0].bytes().decode()
        self._certificate = "".join(pem.split("-----")[2].split())
        self._bundle = directory / "token-authority.pem"
        self._bundle.write_bytes(authority.cert_pem.bytes())
        self.asked: list[tuple[str, list[str]]] = []
        self.seconds = 300
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                fields = parse_qs(urlsplit(self.path).query)
                server._answer(self, fields, _user(self.headers.get("Authorization", "")))

            def do_POST(self) -> None:
                fields = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                server._answer(self, fields, USER if fields.get("refresh_token") == [REFRESH] else None)

            def log_message(self, *_: object) -> None:
                """Tests look at `asked`."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def auth(self) -> TokenAuth:
        realm = f"http://127.0.0.1:{self._http.server_port}/token"
        return TokenAuth(realm, SERVICE, ISSUER, self._bundle)

    def __enter__(self) -> TokenServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler, fields: dict[str, list[str]], user: str | None) -> None:
        scopes = fields.get("scope", [])
        self.asked.append((user or "", scopes))
        if user is None or fields.get("service") != [SERVICE]:
            handler.send_response(401)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        access = [_granted(scope, user) for scope in scopes]
        body = json.dumps({"token": self._token(user, access), "expires_in": self.seconds}).encode()
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _token(self, user: str, access: list[dict[str, object]]) -> str:
        now = int(time.time())
        head = {"typ": "JWT", "alg": "ES256", "x5c": [self._certificate]}
        claims = {
            "iss": ISSUER,
            "sub": user,
            "aud": SERVICE,
            "exp": now + self.seconds,
            "nbf": now - 10,
            "iat": now,
            "jti": secrets.token_hex(8),
            "access": access,
        }
        signed = f"{_text(json.dumps(head).encode())}.{_text(json.dumps(claims).encode())}"
        assert isinstance(self._key, ec.EllipticCurvePrivateKey)
        r, s = utils.decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{_text(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def _user(authorization: str) -> str | None:
    """The user; "" for a stranger, None for one with a wrong password."""
    if not authorization:
        return ""
    right = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    return USER if authorization == f"Basic {right}" else None


def _granted(scope: str, user: str) -> dict[str, object]:
    kind, name, actions = scope.split(":", 2)
    wanted = actions.split(",")
    if not user:
        wanted = [action for action in wanted if action == "pull" and name.startswith("public/")]
    return {"type": kind, "name": name, "actions": wanted}


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
