"""Which type can stand for which: CEL's unification of types with free variables."""

from ingot.standalone.schema.cel.types import DYN, NULLABLE, Type, wildcard


class Bindings:
    """What the free variables of an expression have turned out to be."""

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._made = 0

    def fresh(self) -> Type:
        self._made += 1
        return Type(f"$var{self._made}")

    def assignable(self, given: Type, wanted: Type) -> bool:
        """Whether a value of the one type will do for the other; if so, variables are bound."""
        return self.all_assignable((given,), (wanted,))

    def all_assignable(self, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
        if len(given) != len(wanted):
            return False
        before = dict(self._bound)
        if all(self._fits(left, right) for left, right in zip(given, wanted, strict=True)):
            return True
        self._bound = before
        return False

    def resolve(self, kind: Type, free_to_dyn: bool = False) -> Type:
        """The type with its bound variables replaced."""
        if kind.free:
            if kind.name in self._bound:
                return self.resolve(self._bound[kind.name], free_to_dyn)
            return DYN if free_to_dyn else kind
        if not kind.params:
            return kind
        return Type(kind.name, tuple(self.resolve(param, free_to_dyn) for param in kind.params), kind.node)

    def instantiate(self, kinds: tuple[Type, ...]) -> tuple[Type, ...]:
        """The types of a declaration with new variables for its parameters."""
        made: dict[str, Type] = {}

        def fill(kind: Type) -> Type:
            if kind.name.startswith("$param"):
                return made.setdefault(kind.name, self.fresh())
            return Type(kind.name, tuple(fill(param) for param in kind.params), kind.node) if kind.params else kind

        return tuple(fill(kind) for kind in kinds)

    def _fits(self, given: Type, wanted: Type) -> bool:
        if wanted.free:
            valid, known = self._substitutes(given, wanted)
            if valid or known:
                return valid
        if given.free:
            return self._substitutes(wanted, given)[0]
        if wildcard(given) or wildcard(wanted):
            return True
        if "null_type" in (given.name, wanted.name):
            other = wanted if given.name == "null_type" else given
            return other.name == "null_type" or other.name in NULLABLE
        if given.name != wanted.name:
            return False
        if given.name == "type":
            return True
        if given.name == "object":
            return given.node is wanted.node
        return len(given.params) == len(wanted.params) and all(
            self._fits(left, right) for left, right in zip(given.params, wanted.params, strict=True)
        )

    def _substitutes(self, kind: Type, variable: Type) -> tuple[bool, bool]:
        """(whether the variable can be the type, whether it was bound before)."""
        if kind == variable:
            return True, True
        bound = self._bound.get(variable.name)
        if bound is None:
            if self._occurs(variable, kind):
                return False, False
            self._bound[variable.name] = kind
            return True, False
        if kind == bound:
            return True, True
        if not self._fits(kind, bound):
            return False, True
        general = kind if self._less_specific(kind, bound) else bound
        if not self._occurs(variable, general):
            self._bound[variable.name] = general
        return True, True

    def _less_specific(self, one: Type, other: Type) -> bool:
        if wildcard(one) or one.free:
            return True
        if wildcard(other) or other.free or one.name != other.name:
            return False
        if one.name == "type":
            return True
        return len(one.params) == len(other.params) and all(
            self._less_specific(left, right) for left, right in zip(one.params, other.params, strict=True)
        )

    def general(self, one: Type, other: Type) -> Type:
        """The more general of two types that fit each other."""
        return one if self._less_specific(one, other) else other

    def _occurs(self, variable: Type, within: Type) -> bool:
        if variable == within:
            return True
        if within.free and within.name in self._bound:
            return self._occurs(variable, self._bound[within.name])
        return any(self._occurs(variable, param) for param in within.params)
