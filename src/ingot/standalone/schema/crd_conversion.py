"""How a CRD says that its versions are converted into each other."""

import urllib.parse

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names
from ingot.standalone.goprint import strings

_REVIEWS = ("v1", "v1beta1")
_URL_FORM = "; desired format: https://host[/path]"
_NOT_WEBHOOK = "should not be set when strategy is not set to Webhook"


def check(conversion: Object, path: str) -> list[Cause]:
    causes = _strategy(conversion.get("strategy") or "", f"{path}.strategy")
    webhook = conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    client_path, reviews_path = f"{path}.webhookClientConfig", f"{path}.conversionReviewVersions"
    if conversion.get("strategy") != "Webhook":
        if client is not None:
            causes.append(fields.forbidden(client_path, _NOT_WEBHOOK))
        if reviews:
            causes.append(fields.forbidden(reviews_path, _NOT_WEBHOOK))
        return causes
    if client is None:
        causes.append(fields.required(client_path, "required when strategy is set to Webhook"))
    else:
        causes += _client(client, client_path)
    return causes + _reviews(reviews, reviews_path)


def _strategy(strategy: str, path: str) -> list[Cause]:
    if not strategy:
        return [fields.required(path)]
    if strategy in ("None", "Webhook"):
        return []
    return [fields.not_supported(path, strategy, ("None", "Webhook"))]


def _client(client: Object, path: str) -> list[Cause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [fields.required(path, "exactly one of url or service is required")]
    if service is not None:
        return _service(service, f"{path}.service")
    return _url(str(url), f"{path}.url")


def _url(url: str, path: str) -> list[Cause]:
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError as error:
        return [fields.required(path, f"url must be a valid URL: {error}{_URL_FORM}")]
    causes = []
    if parts.scheme != "https":
        causes.append(fields.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_URL_FORM}"))
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        causes.append(fields.invalid(path, "", f"host must be specified{_URL_FORM}"))
    if at:
        causes.append(fields.invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        causes.append(fields.invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        causes.append(fields.invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return causes


def _service(service: Object, path: str) -> list[Cause]:
    causes = [
        fields.required(f"{path}.{key}", f"service {key} is required")
        for key in ("name", "namespace")
        if not service.get(key)
    ]
    port = service.get("port", 443)
    faults = names.port_number(port)
    if faults:
        causes.append(fields.invalid(f"{path}.port", port, f"port is not valid: {', '.join(faults)}"))
    return causes + _service_path(service.get("path") or "", f"{path}.path")


def _service_path(url_path: str, path: str) -> list[Cause]:
    if url_path in ("", "/"):
        return []
    if url_path == "//":
        return [fields.invalid(path, url_path, "segment[0] may not be empty")]
    causes = []
    if not url_path.startswith("/"):
        causes.append(fields.invalid(path, url_path, "must start with a '/'"))
    for position, step in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not step:
            causes.append(fields.invalid(path, url_path, f"segment[{position}] may not be empty"))
            continue
        causes += [fields.invalid(path, url_path, f"segment[{position}]: {fault}") for fault in names.subdomain(step)]
    return causes


def _reviews(versions: list[str], path: str) -> list[Cause]:
    if not versions:
        return [fields.required(path)]
    causes = []
    for position, version in enumerate(versions):
        place = fields.index(path, position)
        if version in versions[:position]:
            causes.append(fields.invalid(place, version, "duplicate version"))
            continue
        causes += [fields.invalid(place, version, fault) for fault in names.label_1035(version)]
    if not any(version in _REVIEWS for version in versions):
        detail = f"must include at least one of {', '.join(_REVIEWS)}"
        causes.append(fields.invalid(path, strings(versions), detail))
    return causes
