"""One validation rule of a schema, compiled."""

from typing import Any

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.schema.cel.faults import CelError, CompileError, CostExceeded, ProgramError
from ingot.standalone.schema.cel.program import Program
from ingot.standalone.schema.cel.types import BOOL, STRING, Type, optional_of
from ingot.standalone.schema.cel.values import NONE, Optional
from ingot.standalone.schema.fieldpaths import FieldPathError, resolve
from ingot.standalone.schema.node import Node

_MAX_MESSAGE = 5 * 1024


class Rule:
    """An entry of `x-kubernetes-validations`.

    `fault` and `message_fault` say why its expressions cannot be compiled; they are empty for rules that can.
    """

    def __init__(self, source: Object, node: Node, kind: Type) -> None:
        self.source = source
        self.optional_old = source.get("optionalOldSelf") is True
        self.text = str(source.get("message") or source.get("rule") or "").strip()
        self.uses_old = False
        self.fault = self.message_fault = ""
        self._program: Program | None = None
        self._message: Program | None = None
        variables = {"self": kind, "oldSelf": optional_of(kind) if self.optional_old else kind}
        self._compile(variables)
        self._path = _normalized(source.get("fieldPath") or "", node)

    def _compile(self, variables: dict[str, Type]) -> None:
        if not str(self.source.get("rule") or "").strip():
            return
        try:
            program = Program(self.source["rule"], variables)
        except (CompileError, ProgramError) as error:
            step = "compilation" if isinstance(error, CompileError) else "program instantiation"
            self.fault = f"{step} failed: {error}"
            return
        if program.type != BOOL:
            self.fault = "cel expression must evaluate to a bool"
            return
        self._program, self.uses_old = program, "oldSelf" in program.names
        if self.source.get("messageExpression"):
            self._compile_message(variables)

    def _compile_message(self, variables: dict[str, Type]) -> None:
        try:
            message = Program(self.source["messageExpression"], variables)
        except (CompileError, ProgramError) as error:
            step = "compilation" if isinstance(error, CompileError) else "instantiation"
            self.message_fault = f"messageExpression {step} failed: {error}"
            return
        if message.type != STRING:
            self.message_fault = "messageExpression must evaluate to a string"
            return
        self._message = message

    def max_cost(self, node: Node) -> int:
        """What one evaluation can cost at most."""
        return self._program.max_cost(node) if self._program is not None else 0

    def max_message_cost(self, node: Node) -> int:
        return self._message.max_cost(node) if self._message is not None else 0

    def applies(self, old: Any) -> bool:
        """A rule about a change needs something that changed, unless it says that it does not."""
        return self._program is not None and (old is not None or not self.uses_old or self.optional_old)

    def holds(self, now: Any, before: Any, budget: int) -> tuple[bool, int]:
        """(whether the rule holds, what is left of the budget). Raises CelError and CostExceeded."""
        if self._program is None:
            return True, budget
        value, left = self._program.run(self._variables(now, before), budget)
        return value is True, left

    def cause(self, path: str, shown: str, now: Any, before: Any, budget: int) -> Cause:
        """How the failure of the rule is told; `path` is that of the value, `shown` its type."""
        path = fields.child(path, self._path) if self._path else path
        message = self._evaluated_message(now, before, budget) or self._fixed_message()
        match self.source.get("reason"):
            case "FieldValueForbidden":
                return fields.forbidden(path, message)
            case "FieldValueRequired":
                return fields.required(path, message)
            case "FieldValueDuplicate":
                return fields.duplicate(path, shown)
        return fields.invalid(path, shown, message)

    def _fixed_message(self) -> str:
        return self.text if self.source.get("message") else f"failed rule: {self.text}"

    def _evaluated_message(self, now: Any, before: Any, budget: int) -> str:
        if self._message is None:
            return ""
        try:
            value, _ = self._message.run(self._variables(now, before), budget)
        except (CelError, CostExceeded):
            return ""
        message = str(value).strip()
        return "" if "\n" in message or len(message.encode()) > _MAX_MESSAGE else message

    def _variables(self, now: Any, before: Any) -> dict[str, Any]:
        if self.optional_old:
            return {"self": now, "oldSelf": NONE if before is None else Optional(before)}
        return {"self": now, "oldSelf": before}


def _normalized(path: str, node: Node) -> str:
    """The path of a field below the value, as errors print it."""
    try:
        return resolve(path, node.source)[0] if path else ""
    except FieldPathError:
        return ""
