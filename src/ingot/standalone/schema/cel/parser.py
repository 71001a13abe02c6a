"""From the text of an expression to its tree."""

from collections.abc import Callable, Sequence

from ingot.standalone.goprint import INT64
from ingot.standalone.schema.cel import macros
from ingot.standalone.schema.cel.faults import CompileError, Issue
from ingot.standalone.schema.cel.lexer import Token, tokens
from ingot.standalone.schema.cel.names import RESERVED
from ingot.standalone.schema.cel.syntax import Call, Constant, Expr, ListOf, MapOf, Name, Select
from ingot.standalone.schema.cel.types import BOOL, INT, NULL

_RELATIONS = ("<", "<=", ">=", ">", "==", "!=", "in")
_CONSTANTS = {"true": (True, BOOL), "false": (False, BOOL), "null": (None, NULL)}


def parse(source: str) -> Expr:
    """Raises CompileError."""
    return _Parser(source).run()


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokens(source)
        self.position = 0

    def run(self) -> Expr:
        expr = self.expression()
        if self.next.kind != "end":
            raise self.unexpected()
        return expr

    @property
    def next(self) -> Token:
        return self.tokens[self.position]

    def take(self) -> Token:
        token = self.tokens[self.position]
        self.position += 1
        return token

    def expect(self, kind: str) -> Token:
        if self.next.kind != kind:
            raise self.unexpected(kind)
        return self.take()

    def found(self, kind: str) -> bool:
        """Takes the next sign if it is the one asked for."""
        if self.next.kind == kind:
            self.position += 1
            return True
        return False

    def fault(self, at: int, message: str) -> CompileError:
        return CompileError(self.source, [Issue(at, message)])

    def unexpected(self, wanted: str = "") -> CompileError:
        expecting = f" expecting '{wanted}'" if wanted else ""
        kind = "mismatched" if wanted else "extraneous"
        return self.fault(self.next.at, f"Syntax error: {kind} input '{self.next.text}'{expecting}")

    def expression(self) -> Expr:
        condition = self.disjunction()
        if self.next.kind == "?":
            at = self.take().at
            then = self.disjunction()
            self.expect(":")
            condition = Call(at, "_?_:_", None, [condition, then, self.expression()])
        return condition

    def disjunction(self) -> Expr:
        return self.chain(self.conjunction, ("||",))

    def conjunction(self) -> Expr:
        return self.chain(self.relation, ("&&",))

    def relation(self) -> Expr:
        return self.chain(self.sum, _RELATIONS)

    def sum(self) -> Expr:
        return self.chain(self.product, ("+", "-"))

    def product(self) -> Expr:
        return self.chain(self.unary, ("*", "/", "%"))

    def chain(self, operand: Callable[[], Expr], signs: Sequence[str]) -> Expr:
        """Operators of one rank, from left to right."""
        left = operand()
        while self.next.kind in signs or (self.next.text == "in" and "in" in signs):
            sign = self.take()
            function = "@in" if sign.text == "in" else f"_{sign.text}_"
            left = Call(sign.at, function, None, [left, operand()])
        return left

    def unary(self) -> Expr:
        signs: list[Token] = []
        while self.next.kind in ("!", "-") and (not signs or signs[-1].kind == self.next.kind):
            signs.append(self.take())
        if signs and signs[-1].kind == "-" and isinstance(self.next.value, int | float):
            return self.negated(signs, self.negative_literal(signs.pop()))
        return self.negated(signs, self.member())

    def negated(self, signs: list[Token], operand: Expr) -> Expr:
        # Two of a kind undo each other.
        if len(signs) % 2:
            function = "!_" if signs[0].kind == "!" else "-_"
            return Call(signs[0].at, function, None, [operand])
        return operand

    def negative_literal(self, sign: Token) -> Expr:
        token = self.take()
        literal = Constant(sign.at, -token.value, token.type or INT)
        return self.members(literal)

    def member(self) -> Expr:
        return self.members(self.primary())

    def members(self, operand: Expr) -> Expr:
        while self.next.kind in (".", "["):
            sign = self.take()
            optional = self.found("?")
            if sign.kind == "[":
                index = self.expression()
                self.expect("]")
                operand = Call(sign.at, "_[?_]" if optional else "_[_]", None, [operand, index])
                continue
            name = self.identifier()
            if self.next.kind == "(" and not optional:
                at = self.take().at
                operand = self.called(at, name, operand, self.arguments(")"))
            else:
                operand = Select(sign.at, operand, name, optional=optional)
        return operand

    def called(self, at: int, name: str, target: Expr | None, args: list[Expr]) -> Expr:
        expanded = macros.expand(at, name, target, args)
        if isinstance(expanded, Issue):
            raise CompileError(self.source, [expanded])
        return expanded or Call(at, name, target, args)

    def identifier(self) -> str:
        if self.next.kind != "name" or self.next.text in ("in", "true", "false", "null"):
            raise self.unexpected("IDENTIFIER")
        return self.take().text

    def arguments(self, closing: str) -> list[Expr]:
        args: list[Expr] = []
        while not self.found(closing):
            if args:
                self.expect(",")
            args.append(self.expression())
        return args

    def primary(self) -> Expr:
        token = self.next
        if token.kind == "literal":
            self.take()
            if token.type == INT and token.value > INT64[-1]:
                raise self.fault(token.at, "invalid int literal")
            return Constant(token.at, token.value, token.type or INT)
        if self.found("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.found("["):
            return self.list_literal(token.at)
        if self.found("{"):
            return self.map_literal(token.at)
        self.found(".")
        return self.name()

    def name(self) -> Expr:
        token = self.next
        if token.text in _CONSTANTS:
            self.take()
            value, kind = _CONSTANTS[token.text]
            return Constant(token.at, value, kind)
        name = self.identifier()
        if self.next.kind == "(":
            at = self.take().at
            return self.called(at, name, None, self.arguments(")"))
        if self.next.kind == "{":
            # There are no message types to make values of.
            raise self.fault(self.next.at, f"undeclared reference to '{name}' (in container '')")
        if name in RESERVED:
            raise self.fault(token.at, f"reserved identifier: {name}")
        return Name(token.at, name)

    def list_literal(self, at: int) -> Expr:
        items: list[Expr] = []
        optional = set()
        while not self.found("]"):
            if items:
                self.expect(",")
                if self.found("]"):
                    break
            if self.found("?"):
                optional.add(len(items))
            items.append(self.expression())
        return ListOf(at, items, frozenset(optional))

    def map_literal(self, at: int) -> Expr:
        entries: list[tuple[Expr, Expr]] = []
        optional = set()
        while not self.found("}"):
            if entries:
                self.expect(",")
                if self.found("}"):
                    break
            if self.found("?"):
                optional.add(len(entries))
            key = self.expression()
            self.expect(":")
            entries.append((key, self.expression()))
        return MapOf(at, entries, frozenset(optional))
