"""The text of a test file goes in, its cases and their blocks come out; and back, byte for byte."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.errors import HeadraceError, Source, Span
from headrace.testing.directives import (
    ApplicationFile,
    At,
    Changes,
    Crash,
    Directive,
    Drain,
    Ingest,
    Rows,
    Sql,
    WantedError,
    parse_directive,
)
from headrace.testing.expected import expected_batches, expected_rows

__all__ = ["Block", "Case", "CaseFile", "format_file", "parse_file", "read_file", "with_body", "write_file"]

BLOCK, CASE = "----", "===="
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_TITLE = re.compile(r"#\s*title:\s*(.*)")


@dataclass(frozen=True, slots=True)
class Block:
    """A directive and its body; ``lead`` is all text from the block before up to the body."""

    directive: Directive
    body: str
    lead: str
    span: Span

    @property
    def line(self) -> int:
        """The number of the directive's line, from 1."""
        return self.span.line

    @property
    def body_span(self) -> Span:
        """The place of the body as it was read."""
        start = self.span.source.text.find("\n", self.span.end) + 1 or self.span.end
        return Span(self.span.source, start, start + len(self.body))


@dataclass(frozen=True, slots=True)
class Case:
    """One application and what is done to it; the first block says which application."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A test file: its cases, and the text after the last block."""

    source: Source
    cases: tuple[Case, ...]
    tail: str = ""


def read_file(path: Path) -> CaseFile:
    """Read the test file at a path; what is wrong with it is an error at its place."""
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise HeadraceError(f"cannot read {path}", detail=f"{error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise HeadraceError(f"{path} is not UTF-8 text", detail=f"Byte {error.start} is wrong.") from error
    return parse_file(Source(str(path), text))


def write_file(file: CaseFile) -> None:
    """Write a file back to the path it was read from."""
    Path(file.source.name).write_bytes(format_file(file).encode("utf-8"))


def format_file(file: CaseFile) -> str:
    """Return the text of a file, equal to what was read but for bodies that were replaced."""
    return "".join(block.lead + block.body for case in file.cases for block in case.blocks) + file.tail


def with_body(block: Block, lines: Sequence[str]) -> Block:
    """Return the block with other lines as its body; blank lines at its end stay."""
    for line in lines:
        if line.rstrip() in (BLOCK, CASE):
            raise HeadraceError(
                f'the new text has a line "{line.rstrip()}", which would end the block', span=block.span
            )
    spacing = block.body[len(block.body.rstrip()) :].partition("\n")[2] if block.body.strip() else block.body
    lead = block.lead if block.lead.endswith("\n") else block.lead + "\n"
    return replace(block, lead=lead, body="".join(line + "\n" for line in lines) + spacing)


def parse_file(source: Source) -> CaseFile:
    r"""Return the cases of a test file.

    >>> file = parse_file(Source("a.test", "# title: none\nsql\nSELECT 1\n----\ndrain\n"))
    >>> file.cases[0].title, [block.directive for block in file.cases[0].blocks]
    ('none', [Sql(), Drain()])
    """
    grouped: list[list[Block]] = []
    titles: list[str | None] = []
    tail = ""
    for piece in _pieces(source):
        separator = _stripped(piece[0]).text
        at = 1 if separator in (BLOCK, CASE) else 0
        opens_case = separator == CASE or not grouped
        comments = []
        while at < len(piece) and _stripped(piece[at]).text[:1] in ("", "#"):
            comments.append(_stripped(piece[at]).text)
            at += 1
        if at == len(piece):
            if piece[-1].end == len(source.text) and not any(comments) and grouped:
                tail = piece[0].to(piece[-1]).text
                break
            raise HeadraceError("block has no directive", span=_stripped(piece[0]))
        if opens_case:
            grouped.append([])
            titles.append(next((found[1] for line in comments if (found := _TITLE.match(line))), None))
        grouped[-1].append(_block(piece, at))
    if not grouped:
        raise HeadraceError(
            f"{source.name} has no test case", hint="Start with a line sql, followed by the application."
        )
    stem = Path(source.name).stem
    cases = []
    for number, (title, blocks) in enumerate(zip(titles, grouped, strict=True), 1):
        _check(blocks)
        default = stem if len(grouped) == 1 else f"{stem} {number}"
        cases.append(Case(title or default, tuple(blocks)))
    return CaseFile(source, tuple(cases), tail)


def _pieces(source: Source) -> Iterator[list[Span]]:
    """Yield the lines of each block, the separator before it first."""
    piece: list[Span] = []
    for found in _LINE.finditer(source.text):
        if piece and found[0].rstrip() in (BLOCK, CASE):
            yield piece
            piece = []
        piece.append(Span(source, found.start(), found.end()))
    if piece:
        yield piece


def _stripped(line: Span) -> Span:
    """Return the place of a line's text without the space around it and a byte-order mark before it."""
    text = line.text.lstrip("\ufeff \t\r\n")
    start = line.end - len(text)
    return Span(line.source, start, start + len(text.rstrip()))


def _block(piece: list[Span], at: int) -> Block:
    span = _stripped(piece[at])
    end = piece[at].end
    text = span.source.text
    block = Block(parse_directive(span), body=text[end : piece[-1].end], lead=text[piece[0].start : end], span=span)
    match block.directive:
        case ApplicationFile() | At() | Drain() | Crash() if block.body.strip():
            raise HeadraceError(
                f"{span.text.split()[0]} takes no body",
                hint=f"Separate blocks by a line {BLOCK}.",
                span=next(line for line in map(_stripped, piece[at + 1 :]) if line.text),
            )
        case Rows():
            expected_rows(block.body, block.body_span)
        case Changes():
            expected_batches(block.body, block.body_span)
        case _:
            pass
    return block


def _check(blocks: Sequence[Block]) -> None:
    """Raise an error for a block that stands where it has no meaning."""
    clock: At | None = None
    for position, block in enumerate(blocks):
        match block.directive:
            case ApplicationFile() | Sql() if position > 0:
                raise HeadraceError(
                    "the case has its application already",
                    hint=f"Separate cases by a line {CASE}.",
                    span=block.span,
                )
            case Ingest(joined=True) if not isinstance(blocks[position - 1].directive, Ingest):
                raise HeadraceError(
                    "ingest+ has no batch to join", hint="Put it after an ingest block.", span=block.span
                )
            case WantedError() if position + 1 < len(blocks):
                raise HeadraceError("error must be the last block of its case", span=block.span)
            case At() as clock_set:
                if clock and clock_set.instant_at < clock.instant_at:
                    raise HeadraceError("the clock cannot go back", span=block.span)
                clock = clock_set
            case _:
                pass
        if position == 0 and not isinstance(block.directive, (ApplicationFile, Sql)):
            raise HeadraceError(
                "the case has no application",
                hint="Let its first block be sql or application PATH.",
                span=block.span,
            )
