"""Matching text against Go's regular expressions.

Values come from users and expressions from whoever wrote the CRD, so a match must not be able to take long: the Rust
engine behind jsonschema-rs answers in linear time. Python's engine is asked only for what Rust's cannot say.
"""

import re
from functools import lru_cache

import jsonschema_rs

from ingot.standalone.schema.goregex import PatternError, UnsupportedPattern, translate

# Expressions come from few CRDs; a program that makes expressions from its data still gets a bounded memory.
_REMEMBERED = 1024


class Pattern:
    """One expression of Go's. Raises PatternError when Go would refuse it.

    `rust` is the expression as a JSON schema's `pattern` may hold it, or None when only Python's engine can run it.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.rust: str | None = None
        self._validator: jsonschema_rs.Draft4Validator | None = None
        try:
            self.rust = translate(source, "rust")
            self._validator = jsonschema_rs.Draft4Validator(
                {"pattern": self.rust}, pattern_options=jsonschema_rs.RegexOptions()
            )
        except (UnsupportedPattern, jsonschema_rs.ValidationError):
            self.rust = None
            self._require_python()

    def _require_python(self) -> None:
        try:
            _python(self.source)
        except UnsupportedPattern:
            # Only a script that Unicode does not know is refused by both engines.
            raise PatternError("invalid character class range", self.source) from None
        except (re.error, RecursionError, OverflowError):
            raise PatternError("expression nests too deeply", self.source) from None

    def matches(self, text: str) -> bool:
        """Whether the expression matches anywhere in the text."""
        if self._validator is not None:
            return self._validator.is_valid(text)
        return self.python().search(text) is not None

    def python(self) -> re.Pattern[str]:
        """For those who need the text that matched. Raises UnsupportedPattern for Unicode classes."""
        return _python(self.source)


@lru_cache(_REMEMBERED)
def pattern(source: str) -> Pattern:
    return Pattern(source)


@lru_cache(_REMEMBERED)
def _python(source: str) -> re.Pattern[str]:
    return re.compile(translate(source, "python"), re.ASCII)
