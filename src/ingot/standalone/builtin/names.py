"""What may be a name, a label, a key or a port in Kubernetes.

Every function returns what is wrong with its argument, in Kubernetes' words; an empty list means that it is well.
"""

import re
from collections.abc import Callable

Rule = Callable[[str], list[str]]

_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_1123 = rf"{_LABEL_1123}(\.{_LABEL_1123})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"

_qualified = re.compile(_QUALIFIED).fullmatch
_label_value = re.compile(f"({_QUALIFIED})?").fullmatch
_label_1123 = re.compile(_LABEL_1123).fullmatch
_subdomain_1123 = re.compile(_SUBDOMAIN_1123).fullmatch
_label_1035 = re.compile(_LABEL_1035).fullmatch
_config_key = re.compile(_CONFIG_KEY).fullmatch
_port_characters = re.compile("[-a-z0-9]+").fullmatch
_letter = re.compile("[a-z]").search

_LOWER = "lower case alphanumeric characters"
_ENDS = "must start and end with an alphanumeric character"
_QUALIFIED_TEXT = f"must consist of alphanumeric characters, '-', '_' or '.', and {_ENDS}"


def _longest(limit: int) -> str:
    return f"must be no more than {limit} characters"


def _pattern(text: str, pattern: str, *examples: str) -> str:
    if not examples:
        return f"{text} (regex used for validation is '{pattern}')"
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {listed}regex used for validation is '{pattern}')"


def between(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def subdomain(value: str) -> list[str]:
    """A DNS subdomain of RFC 1123, such as `a.example.com`."""
    faults = [_longest(253)] if len(value) > 253 else []
    if not _subdomain_1123(value):
        text = f"a lowercase RFC 1123 subdomain must consist of {_LOWER}, '-' or '.', and {_ENDS}"
        faults.append(_pattern(text, _SUBDOMAIN_1123, "example.com"))
    return faults


def label(value: str) -> list[str]:
    """A DNS label of RFC 1123: no dots."""
    faults = [_longest(63)] if len(value) > 63 else []
    if not _label_1123(value):
        if _subdomain_1123(value):
            faults.append("must not contain dots")
        else:
            text = f"a lowercase RFC 1123 label must consist of {_LOWER} or '-', and {_ENDS}"
            faults.append(_pattern(text, _LABEL_1123, "my-name", "123-abc"))
    return faults


def label_1035(value: str) -> list[str]:
    """A DNS label that starts with a letter: the name of a Service."""
    faults = [_longest(63)] if len(value) > 63 else []
    if not _label_1035(value):
        text = (
            f"a DNS-1035 label must consist of {_LOWER} or '-', start with an alphabetic character, "
            "and end with an alphanumeric character"
        )
        faults.append(_pattern(text, _LABEL_1035, "my-name", "abc-123"))
    return faults


def path_segment(value: str) -> list[str]:
    """Anything that can stand between two slashes of a URL: the names of RBAC's kinds."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in value]


def qualified(value: str) -> list[str]:
    """A label's key or a finalizer: a short name, with a DNS subdomain and a slash before it if need be."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        text = _pattern(_QUALIFIED_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc")
        prefixed = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a qualified name {text} {prefixed}"]
    faults = []
    if slash and not prefix:
        faults.append("prefix part must be non-empty")
    elif slash:
        faults.extend(f"prefix part {fault}" for fault in subdomain(prefix))
    if not name:
        faults.append("name part must be non-empty")
    elif len(name) > 63:
        faults.append(f"name part {_longest(63)}")
    if not _qualified(name):
        faults.append("name part " + _pattern(_QUALIFIED_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc"))
    return faults


def label_value(value: str) -> list[str]:
    faults = [_longest(63)] if len(value) > 63 else []
    if not _label_value(value):
        characters = "alphanumeric characters, '-', '_' or '.'"
        text = f"a valid label must be an empty string or consist of {characters}, and {_ENDS}"
        faults.append(_pattern(text, f"({_QUALIFIED})?", "MyValue", "my_value", "12345"))
    return faults


def config_key(value: str) -> list[str]:
    """A key of a ConfigMap or Secret: it becomes a file's name."""
    faults = [_longest(253)] if len(value) > 253 else []
    if not _config_key(value):
        text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        faults.append(_pattern(text, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    return faults + _parent_directory(value)


def _parent_directory(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []


def environment_variable(value: str) -> list[str]:
    """What a container's environment may hold: printable ASCII other than `=`."""
    if not value:
        return ["environment variable name must be non-empty"]
    if all(" " <= char <= "~" and char != "=" for char in value):
        return []
    what = "a valid environment variable name"
    return [f"{what} must consist only of printable ASCII characters other than '='"]


def port_number(value: int) -> list[str]:
    return [] if 1 <= value <= 65535 else [between(1, 65535)]


def port_name(value: str) -> list[str]:
    """The name of a container's port: at most 15 characters, as IANA has it."""
    faults = [_longest(15)] if len(value) > 15 else []
    if not _port_characters(value):
        faults.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _letter(value):
        faults.append("must contain at least one letter (a-z)")
    if "--" in value:
        faults.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        faults.append("must not begin or end with a hyphen")
    return faults


def prefix(rule: Rule, value: str) -> list[str]:
    """What is wrong with `value` as a generateName under `rule`; a trailing dash is well, as letters follow it."""
    # Kubernetes itself cuts two characters and adds one: the length counts one less.
    masked = value[:-2] + "a" if len(value) > 1 and value.endswith("-") else value
    return rule(masked)
