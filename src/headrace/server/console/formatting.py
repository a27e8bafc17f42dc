"""Numbers, durations and instants go in, short texts of a steady width come out."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from json import dumps
from urllib.parse import quote

__all__ = ["address", "ago", "amount", "cell", "count", "duration", "instant", "rate", "size", "sparkline", "until"]

NOTHING = "–"


def count(number: int | None) -> str:
    """Return a whole number with its thousands apart.

    >>> count(1234567), count(None)
    ('1,234,567', '–')
    """
    return NOTHING if number is None else f"{number:,}"


def rate(per_second: float | None) -> str:
    """Return how many there are per second, in at most five characters.

    >>> rate(0), rate(0.25), rate(7.5), rate(930.4), rate(12_340), rate(4_560_000)
    ('0', '0.25', '7.5', '930', '12.3k', '4.56M')
    """
    if per_second is None:
        return NOTHING
    if per_second == 0:
        return "0"
    for limit, factor, letter in ((1e3, 1.0, ""), (1e6, 1e3, "k"), (1e9, 1e6, "M"), (1e15, 1e9, "G")):
        if abs(per_second) < limit * 0.9995:
            return _three_digits(per_second / factor) + letter
    return f"{per_second:.2e}"


def size(number: int | None) -> str:
    """Return a number of bytes.

    >>> size(0), size(999), size(2048), size(5_400_000), size(31_000_000_000)
    ('0 B', '999 B', '2.05 kB', '5.40 MB', '31.0 GB')
    """
    if number is None:
        return NOTHING
    if abs(number) < 1000:
        return f"{number} B"
    value = float(number)
    for letter in "kMGTP":
        value /= 1000
        if abs(value) < 999.5:
            return f"{_fixed(value)} {letter}B"
    return f"{value:.0f} PB"


def duration(length: timedelta | None) -> str:
    """Return how long something takes, in its two largest units.

    >>> duration(timedelta(milliseconds=4)), duration(timedelta(seconds=2.34)), duration(timedelta(seconds=75))
    ('4 ms', '2.3 s', '1 m 15 s')
    >>> duration(timedelta(hours=26)), duration(timedelta(0)), duration(None)
    ('1 d 2 h', '0 ms', '–')
    """
    if length is None:
        return NOTHING
    seconds = length.total_seconds()
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    if seconds < 0.9995:
        return f"{sign}{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{sign}{seconds:.1f} s"
    whole = round(seconds)
    parts: list[tuple[int, str]] = []
    for letter, length_of in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        number, whole = divmod(whole, length_of)
        if number or parts:
            parts.append((number, letter))
    return sign + " ".join(f"{number} {letter}" for number, letter in parts[:2] if number)


def instant(at: datetime | None, now: datetime | None = None) -> str:
    """Return an instant in UTC; only the time if it is on the day of ``now``.

    >>> noon = datetime(2026, 3, 1, 12, 0, 5, tzinfo=UTC)
    >>> instant(noon), instant(noon, now=noon)
    ('2026-03-01 12:00:05', '12:00:05')
    """
    if at is None:
        return NOTHING
    at = at.astimezone(UTC)
    same_day = now is not None and now.astimezone(UTC).date() == at.date()
    return at.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S")


def ago(at: datetime | None, now: datetime) -> str:
    """Return how long ago an instant was, in one unit, so that it changes rarely.

    >>> now = datetime(2026, 3, 1, tzinfo=UTC)
    >>> ago(now - timedelta(seconds=3), now), ago(now - timedelta(minutes=90), now), ago(None, now)
    ('just now', '1 h ago', 'never')
    """
    if at is None:
        return "never"
    seconds = (now - at).total_seconds()
    if seconds < 10:
        return "just now"
    return f"{_one_unit(seconds)} ago"


def until(at: datetime | None, now: datetime) -> str:
    """Return how long it is to an instant.

    >>> now = datetime(2026, 3, 1, tzinfo=UTC)
    >>> until(now + timedelta(days=3), now), until(now - timedelta(days=3), now), until(None, now)
    ('in 3 d', 'over', 'never')
    """
    if at is None:
        return "never"
    seconds = (at - now).total_seconds()
    return f"in {_one_unit(seconds)}" if seconds > 0 else "over"


def amount(value: float) -> str:
    """Return a number as people write it, with at most two decimals.

    >>> amount(1234567.0), amount(1234.5), amount(0.125), amount(-3)
    ('1,234,567', '1,234.5', '0.12', '-3')
    """
    text = f"{value:,.2f}"
    return text.rstrip("0").rstrip(".")


def address(folder: str, name: str) -> str:
    """Return the address of the page of something.

    >>> address("views", "best bids/new")
    '/views/best%20bids%2Fnew'
    """
    return f"/{folder}/{quote(name, safe='')}"


def cell(value: object) -> str:
    """Return a value of a row as it stands in a table.

    >>> cell(None), cell(True), cell(2.50), cell(Decimal("2.50")), cell({"a": [1]})
    ('NULL', 'true', '2.5', '2.50', '{"a": [1]}')
    >>> cell(datetime(2026, 3, 1, 12, tzinfo=UTC))
    '2026-03-01 12:00:00'
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case datetime():
            text = (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat(" ")
            return text.rstrip("0") if "." in text else text
        case date() | Decimal() | int() | float():
            return str(value)
        case bytes():
            return value.hex()
        case _:
            return dumps(value, default=str, ensure_ascii=False)


def sparkline(values: Sequence[float], width: float, height: float) -> str:
    """Return the points of a line through values, from the left to the right edge, zero at the bottom.

    >>> sparkline([0, 5, 10], 20, 10)
    '0,9 10,5 20,1'
    >>> sparkline([], 20, 10)
    ''
    """
    if not values:
        return ""
    highest = max(*values, 0.0) or 1.0
    step = width / max(1, len(values) - 1)
    usable = height - 2
    return " ".join(
        f"{number * step:.4g},{height - 1 - usable * max(0.0, value) / highest:.4g}"
        for number, value in enumerate(values)
    )


def _one_unit(seconds: float) -> str:
    for letter, length_of in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length_of:
            return f"{seconds // length_of:.0f} {letter}"
    return f"{seconds:.0f} s"


def _three_digits(value: float) -> str:
    text = _fixed(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _fixed(value: float) -> str:
    if abs(value) < 9.995:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"
