"""Matching text against Go's regular expressions.

Values come from users and expressions from whoever wrote the CRD, so a match must not be able to take long: both
engines here answer in linear time. Rust's is the one that compiled schemas run in; RE2 takes what that one cannot
say or hold, and finds the text that matched, which jsonschema-rs does not tell.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jsonschema_rs
import re2  # type: ignore[import-untyped]  # the package brings no types

from ingot.standalone.schema.goregex import PatternError, translate

# Expressions come from few CRDs; a program that makes expressions from its data still gets a bounded memory.
_REMEMBERED = 1024


class Pattern:
    """One expression of Go's. Raises PatternError when Go would refuse it, or when it is too big for both engines.

    `rust` is the expression as a JSON schema's `pattern` may hold it, or None when only RE2 can run it.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.rust = translate(source)
        self._validator = _validator(self.rust) if self.rust is not None else None
        if self._validator is None:
            self.rust = None
            _re2(source)

    def matches(self, text: str) -> bool:
        """Whether the expression matches anywhere in the text."""
        if self._validator is not None:
            return self._validator.is_valid(text)
        return _re2(self.source).search(text) is not None

    def check_search(self) -> None:
        """Raises PatternError when the expression is too big to be searched for."""
        _re2(self.source)

    def find_all(self, text: str) -> Iterator[str]:
        """The texts that match, one after the other; an empty one does not follow directly on another, as in Go."""
        end = -1
        for match in _re2(self.source).finditer(text):
            if not match.start() == match.end() == end:
                yield match[0]
            end = match.end()


@lru_cache(_REMEMBERED)
def pattern(source: str) -> Pattern:
    return Pattern(source)


def _validator(expression: str) -> jsonschema_rs.Draft4Validator | None:
    try:
        return jsonschema_rs.Draft4Validator({"pattern": expression}, pattern_options=jsonschema_rs.RegexOptions())
    except jsonschema_rs.ValidationError:
        return None


@lru_cache(_REMEMBERED)
def _re2(source: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(source, options)
    except re2.error as error:
        # What Go refuses is known by now, but for scripts that Unicode does not know.
        fault = "expression too large" if b"too large" in error.args[0] else "invalid character class range"
        raise PatternError(fault, source) from None
