"""Tokens of a window table function go in, a `WindowTable` comes out.

The short form, the standard form with TABLE and DESCRIPTOR, and named arguments give the same node.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from headrace.language.expressions import WindowTable
from headrace.language.mistakes import did_you_mean, found
from headrace.language.spans import place

if TYPE_CHECKING:
    from headrace.language.query_parser import HeadraceParser

__all__ = ["SIGNATURES", "Signature", "parse_window_table", "starts_window_table"]


@dataclass(frozen=True, slots=True)
class Signature:
    """What a window function takes after its data; optional names stand first."""

    parameters: tuple[str, ...]
    usage: str
    time_required: bool = True
    offset: bool = False
    optional: int = 0


SIGNATURES = {
    "TUMBLE": Signature(("SIZE",), "TUMBLE(data, time, size [, offset])", offset=True),
    "HOP": Signature(("SLIDE", "SIZE"), "HOP(data, time, slide, size [, offset])", offset=True),
    "SLIDE": Signature(("SIZE",), "SLIDE(data, time, size)"),
    "SESSION": Signature(("GAP",), "SESSION(data [PARTITION BY key], time, gap)"),
    "CUMULATE": Signature(("STEP", "SIZE"), "CUMULATE(data, time, step, size [, offset])", offset=True),
    "COUNT_TUMBLE": Signature(("ROWS",), "COUNT_TUMBLE(data, [time,] rows)", time_required=False),
    "COUNT_SLIDE": Signature(
        ("SLIDE", "ROWS"), "COUNT_SLIDE(data, [time,] [slide,] rows)", time_required=False, optional=1
    ),
    "PUNCTUATE": Signature(("CONDITION",), "PUNCTUATE(data, [time,] condition)", time_required=False),
}


@dataclass(slots=True)
class _Argument:
    name: str | None
    value: exp.Expr
    first: Token
    descriptor: bool = False


def starts_window_table(parser: "HeadraceParser") -> bool:
    """Say whether the parser stands before a window table function, alone or inside TABLE(...)."""
    ahead = [parser.peek(offset) for offset in range(4)]
    if ahead[0].token_type == TokenType.TABLE and ahead[1].token_type == TokenType.L_PAREN:
        ahead = ahead[2:]
    unquoted = ahead[0].token_type != TokenType.IDENTIFIER
    return unquoted and ahead[0].text.upper() in SIGNATURES and ahead[1].token_type == TokenType.L_PAREN


def parse_window_table(parser: "HeadraceParser") -> WindowTable:
    """Return the window table that starts here, without an alias."""
    first = parser.peek()
    wrapped = parser.accept_type(TokenType.TABLE)
    if wrapped:
        parser.expect_type(TokenType.L_PAREN, "(")
    name = parser.take()
    kind = name.text.upper()
    signature = SIGNATURES[kind]
    parser.expect_type(TokenType.L_PAREN, "(")
    node = _Reader(parser, name, signature).read(kind)
    parser.expect_type(TokenType.R_PAREN, ")", hint=f"Write {signature.usage}.")
    if wrapped:
        parser.expect_type(TokenType.R_PAREN, ")")
    return place(node, first, parser.previous())


class _Reader:
    """Reads the arguments of one call."""

    def __init__(self, parser: "HeadraceParser", name: Token, signature: Signature) -> None:
        self.parser = parser
        self.name = name
        self.signature = signature
        self.hint = f"Write {signature.usage}."
        self.partition_by: list[exp.Expr] = []

    def read(self, kind: str) -> WindowTable:
        """Read from after the opening parenthesis up to the closing one."""
        data: exp.Expr | None = None
        arguments: list[_Argument] = []
        while parser_has_more(self.parser):
            argument_name = self.argument_name()
            if data is None and argument_name in {None, "DATA"}:
                data = self.data()
            else:
                arguments.append(self.argument(argument_name))
            if not self.parser.accept_type(TokenType.COMMA):
                break
        if data is None:
            raise self.parser.error(f"{kind} needs a table", token=self.name, hint=self.hint)
        values = self.assign(arguments)
        parameters = [values.get(parameter) for parameter in self.signature.parameters]
        return WindowTable(
            this=data,
            kind=kind,
            time=values.get("TIMECOL"),
            parameters=[value for value in parameters if value is not None],
            offset=values.get("OFFSET"),
            partition_by=self.partition_by or None,
        )

    def argument_name(self) -> str | None:
        """Pass ``NAME =>`` if it stands here, and return the name."""
        if self.parser.peek(1).token_type != TokenType.FARROW:
            return None
        token = self.parser.take()
        self.parser.take()
        name = token.text.upper()
        known = (
            "DATA",
            "TIMECOL",
            *self.signature.parameters,
            *(("OFFSET",) if self.signature.offset else ()),
        )
        if name not in known:
            raise self.parser.error(
                f"{self.name.text.upper()} has no argument {token.text}",
                token=token,
                hint=did_you_mean(name, known, f"It takes {', '.join(known)}."),
            )
        return name

    def data(self) -> exp.Expr:
        """Read a table's name or a query in parentheses, and PARTITION BY after it."""
        parser = self.parser
        first = parser.peek()
        parser.accept_type(TokenType.TABLE)
        data: exp.Expr | None
        if starts_window_table(parser):
            data = parse_window_table(parser)
        elif parser.peek().token_type == TokenType.L_PAREN:
            data = parser._parse_select(table=True, parse_subquery_alias=False)
        else:
            if not parser.at_name():
                raise parser.error(f"expected a table but found {found(first or None)}", hint=self.hint)
            data = parser._parse_table_parts(schema=True)
        if data is None:
            raise parser.error("expected a table or a query in parentheses", token=first, hint=self.hint)
        if parser.accept_type(TokenType.PARTITION_BY):
            self.partition_by = self.keys()
        return data

    def keys(self) -> list[exp.Expr]:
        """Read the expressions of PARTITION BY: one, or several in parentheses."""
        parser = self.parser
        if parser.accept_type(TokenType.L_PAREN):
            keys = parser._parse_csv(parser._parse_disjunction)
            parser.expect_type(TokenType.R_PAREN, ")")
            return keys
        return [parser.required_expression()]

    def argument(self, name: str | None) -> _Argument:
        """Read one argument after the data."""
        parser = self.parser
        first = parser.peek()
        if first.text.upper() == "DESCRIPTOR" and parser.peek(1).token_type == TokenType.L_PAREN:
            parser.take()
            parser.take()
            column = parser._parse_column()
            if not isinstance(column, exp.Column):
                raise parser.error("DESCRIPTOR takes one column", token=first)
            parser.expect_type(TokenType.R_PAREN, ")", hint="DESCRIPTOR takes one column.")
            return _Argument(name, column, first, descriptor=True)
        return _Argument(name, parser.required_expression(), first)

    def assign(self, arguments: list[_Argument]) -> dict[str, exp.Expr]:
        """Give every argument its name and check their number."""
        values: dict[str, exp.Expr] = {}
        places = iter(self.order(arguments))
        for argument in arguments:
            name = argument.name or next(places, None)
            if name is None:
                raise self.wrong_number(argument.first)
            if name in values:
                raise self.parser.error(f"{name} is given twice", token=argument.first, hint=self.hint)
            if name == "TIMECOL" and not isinstance(argument.value, exp.Column):
                raise self.parser.error(
                    f"{self.name.text.upper()} needs a time column here", token=argument.first, hint=self.hint
                )
            if argument.descriptor and name != "TIMECOL":
                raise self.parser.error("DESCRIPTOR names the time column only", token=argument.first, hint=self.hint)
            values[name] = argument.value
        required = self.signature.parameters[self.signature.optional :]
        wanted = ("TIMECOL", *required) if self.signature.time_required else required
        if any(name not in values for name in wanted):
            raise self.wrong_number(self.name)
        return values

    def order(self, arguments: list[_Argument]) -> list[str]:
        """Return the names of the positional arguments, in the order in which they are given."""
        positional = [argument for argument in arguments if argument.name is None]
        named = {argument.name for argument in arguments}
        left = [name for name in self.signature.parameters if name not in named]
        optional = self.signature.parameters[: self.signature.optional]
        given = len(positional)
        names: list[str] = []
        if "TIMECOL" not in named and (self.signature.time_required or self.has_time(positional, left)):
            names.append("TIMECOL")
            given -= 1
        left = [name for name in left if name not in optional or given >= len(left)]
        return [*names, *left, *(["OFFSET"] if self.signature.offset and "OFFSET" not in named else [])]

    def has_time(self, positional: list[_Argument], left: list[str]) -> bool:
        """Say whether the first positional argument is the optional time column."""
        if not positional or not isinstance(positional[0].value, exp.Column):
            return False
        return positional[0].descriptor or len(positional) > len(left) - self.signature.optional

    def wrong_number(self, token: Token) -> Exception:
        """Return the error for too few or too many arguments."""
        few = "too few" if token is self.name else "too many"
        return self.parser.error(f"{few} arguments for {self.name.text.upper()}", token=token, hint=self.hint)


def parser_has_more(parser: "HeadraceParser") -> bool:
    """Say whether an argument follows."""
    return bool(parser.peek()) and parser.peek().token_type != TokenType.R_PAREN
