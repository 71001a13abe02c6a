"""What can go wrong with an expression: when it is compiled, and when it runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Issue:
    """One fault of an expression, at an offset into its text."""

    at: int
    message: str

    def shown(self, source: str) -> str:
        """The fault with its line and a mark under the place."""
        before = source[: self.at]
        line_number = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1)
        line = source.split("\n")[line_number - 1].replace("\t", " ")
        # Wide dots under what is not ASCII: the mark stays in place where such characters are wide.
        dots = "".join("." if char.isascii() else "\uff0e" for char in line[:column])
        mark = "^" if column >= len(line) or line[column].isascii() else "\uff3e"
        return f"ERROR: <input>:{line_number}:{column + 1}: {self.message}\n | {line}\n | {dots}{mark}"


class CompileError(ValueError):
    """An expression that cannot be compiled; the text shows every fault."""

    def __init__(self, source: str, issues: list[Issue]) -> None:
        shown = [issue.shown(source) for issue in sorted(issues, key=lambda issue: issue.at)]
        super().__init__("\n".join(dict.fromkeys(shown)))
        self.issues = issues


class ProgramError(ValueError):
    """A well-typed expression that cannot be made ready to run."""


class CelError(Exception):
    """A fault while an expression runs: a missing key, an overflow, an argument of a wrong type."""


class CostExceeded(Exception):
    """An expression did more work than it may."""


NO_OVERLOAD = "no such overload"


def no_overload() -> CelError:
    return CelError(NO_OVERLOAD)
