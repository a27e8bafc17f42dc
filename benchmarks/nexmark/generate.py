"""Write Nexmark events as JSON lines and Parquet, the same for the same seed.

    python benchmarks/nexmark/generate.py --out D [--events 1000000] [--files 2] [--format json]

One stream of person, auction and bid events (1 : 3 : 46) goes to

    D/json/part-*.jsonl        {"event_type":2,"person":null,"auction":null,"bid":{...}}
    D/parquet/part-*.parquet   the same columns, nested structs
    D/side_input.csv           key,value: the table of q13
    D/meta.json                parameters and counts

The same --seed gives the same events whatever --files or --format is, and a smaller --events gives a prefix of a
larger one. Whole groups of 50 events go to the files in turn, so that every file is in event-time order over the
whole time, as the partitions of a topic would be: read the files side by side. With --split time each file is a
stretch of time: read them one after the other.
"""

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PERSONS, AUCTIONS, BIDS = 1, 3, 46
GROUP = PERSONS + AUCTIONS + BIDS
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1000, 10, 5
HOT_AUCTION, HOT_SELLER, HOT_BIDDER = 2, 4, 4  # P(hot) = 1 - 1/x
HOT_BATCH = 100  # one hot id among this many
IN_FLIGHT, ACTIVE_PEOPLE, LEAD = 100, 1000, 10
PERSON_SIZE, AUCTION_SIZE, BID_SIZE = 200, 500, 100
STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
CITIES = [
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent"),
    "Cheyenne",
]
FIRST_NAMES = ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"]
LAST_NAMES = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"]
HOT_CHANNELS = ["Google", "Facebook", "Baidu", "Apple"]
CHANNELS = 10_000
CHUNK = GROUP * 4000  # events per random stream; another number gives other events
POOL = 1 << 20
COLUMNS = {
    "person": ["id", "name", "emailAddress", "creditCard", "city", "state", "dateTime", "extra"],
    "auction": [
        *("id", "itemName", "description", "initialBid", "reserve", "dateTime", "expires", "seller", "category"),
        "extra",
    ],
    "bid": ["auction", "bidder", "price", "channel", "url", "dateTime", "extra"],
}

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Part = tuple[Numbers, list[pa.Array]]
"""The events of one kind: their places among all, and their columns."""


def join(*parts: Any) -> pa.Array:
    """Return texts put together, row by row."""
    return pc.binary_join_element_wise(*parts, "")


def text(column: pa.Array) -> pa.Array:
    """Return a column as text."""
    return column if pa.types.is_string(column.type) else pc.cast(column, pa.string())


def stamp(milliseconds: Numbers) -> pa.Array:
    """Return instants as a column."""
    return pa.array(milliseconds, pa.timestamp("ms"))


def price(random: np.random.Generator, count: int) -> Numbers:
    """Return prices in cents, as many small as large ones on a logarithmic scale."""
    return np.round(10 ** (random.random(count) * 6) * 100).astype(np.int64)


def chosen(random: np.random.Generator, words: list[str], count: int) -> pa.Array:
    """Return words of a list at random."""
    return pa.array(words).take(pa.array(random.integers(0, len(words), count)))


def cut(random: np.random.Generator, pool: Any, lengths: Any) -> pa.Array:
    """Return one substring of the pool, at a random place, for each length."""
    lengths = np.asarray(lengths, dtype=np.int64)
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    start = random.integers(0, POOL - 1024, len(lengths))
    index = np.arange(offsets[-1]) + np.repeat(start - offsets[:-1], lengths)
    buffers = pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(pool[index])
    return pa.StringArray.from_buffers(len(lengths), *buffers)


def word(random: np.random.Generator, count: int, longest: int, pool: Any) -> pa.Array:
    """Return words of three letters or more, shorter than the longest."""
    return pc.utf8_trim_whitespace(cut(random, pool, random.integers(3, longest, count)))


def last_person(event: Numbers) -> Numbers:
    """Return the newest person at each event."""
    return event // GROUP * PERSONS + np.minimum(event % GROUP, PERSONS - 1)


def last_auction(event: Numbers) -> Numbers:
    """Return the newest auction at each event."""
    in_group = np.minimum(event % GROUP - PERSONS, AUCTIONS - 1)  # -1: still the group before
    return event // GROUP * AUCTIONS + np.maximum(in_group, -1)


def any_person(random: np.random.Generator, event: Numbers) -> Numbers:
    """Return a person who is active at each event, or will be soon."""
    people = last_person(event) + 1
    active = np.minimum(people, ACTIVE_PEOPLE)
    return people - active + random.integers(0, active + LEAD)


def any_auction(random: np.random.Generator, event: Numbers) -> Numbers:
    """Return an auction that is open at each event, or will be soon."""
    last = last_auction(event)
    low = np.maximum(last - IN_FLIGHT, 0)
    return low + random.integers(0, last - low + 1 + LEAD)


class Generator:
    """Makes events, chunk by chunk, from a seed and the times they are to have."""

    def __init__(self, seed: int, base_ms: int, spacing_us: float, disorder: int) -> None:
        self.seed, self.base_ms, self.spacing_us, self.disorder = seed, base_ms, spacing_us, disorder
        random = np.random.default_rng([seed, 1])
        self.letters = random.integers(97, 123, POOL, dtype=np.uint8)
        special = random.integers(0, 13, POOL) == 0
        self.words = np.where(special, np.uint8(32), self.letters)  # ' ' now and then
        paths = np.where(special, np.uint8(95), self.letters)  # '_' now and then
        count = CHANNELS + len(HOT_CHANNELS)
        first, second, third = (word(random, count, 5, paths) for _ in range(3))
        urls = join("https://www.nexmark.com/", first, "/", second, "/", third, "/item.htm?query=1")
        has_id = pa.array(random.integers(0, 10, CHANNELS) > 0)
        suffix = pc.if_else(has_id, join("&channel_id=", text(pa.array(map(channel_id, range(CHANNELS))))), "")
        self.urls = pa.concat_arrays([join(urls[:CHANNELS], suffix), urls[CHANNELS:]])
        self.channels = pa.array([f"channel-{i}" for i in range(CHANNELS)] + HOT_CHANNELS)

    def extra(self, random: np.random.Generator, size: Any, average: int) -> pa.Array:
        """Return padding such that the whole event has the average size, give or take 20 %."""
        want = np.maximum(average - size, 0)
        delta = np.round(want * 0.2).astype(np.int64)
        return cut(random, self.letters, want - delta + random.integers(0, np.maximum(2 * delta, 1)))

    def time(self, event: Numbers) -> Numbers:
        """Return when events happen, in milliseconds."""
        return self.base_ms + (event * self.spacing_us / 1000).astype(np.int64)

    def persons(self, random: np.random.Generator, event: Numbers) -> list[pa.Array]:
        """Return the columns of persons."""
        count = len(event)
        name = join(chosen(random, FIRST_NAMES, count), " ", chosen(random, LAST_NAMES, count))
        email = join(word(random, count, 7, self.words), "@", word(random, count, 5, self.words), ".com")
        digits = pc.utf8_lpad(text(pa.array(random.integers(0, 10_000, 4 * count))), 4, "0")
        card = pc.binary_join_element_wise(*(digits[i * count : (i + 1) * count] for i in range(4)), " ")
        city, state = chosen(random, CITIES, count), chosen(random, STATES, count)
        size = 8 + sum(pc.binary_length(column).to_numpy() for column in (name, email, card, city, state))
        number = pa.array(last_person(event) + FIRST_ID)
        extra = self.extra(random, size, PERSON_SIZE)
        return [number, name, email, card, city, state, stamp(self.time(event)), extra]

    def auctions(self, random: np.random.Generator, event: Numbers) -> list[pa.Array]:
        """Return the columns of auctions."""
        count = len(event)
        hot = last_person(event) // HOT_BATCH * HOT_BATCH
        is_hot = random.integers(0, HOT_SELLER, count) > 0
        seller = pa.array(np.where(is_hot, hot, any_person(random, event)) + FIRST_ID)
        category = pa.array(FIRST_CATEGORY + random.integers(0, CATEGORIES, count))
        first = price(random, count)
        now = self.time(event)
        horizon = self.time(event + IN_FLIGHT * GROUP // AUCTIONS) - now
        expires = stamp(now + 1 + random.integers(0, np.maximum(2 * horizon, 1)))
        name, description = word(random, count, 20, self.words), word(random, count, 100, self.words)
        size = 48 + pc.binary_length(name).to_numpy() + pc.binary_length(description).to_numpy()
        number = pa.array(last_auction(event) + FIRST_ID)
        reserve = pa.array(first + price(random, count))
        extra = self.extra(random, size, AUCTION_SIZE)
        return [
            *(number, name, description, pa.array(first), reserve, stamp(now), expires),
            *(seller, category, extra),
        ]

    def bids(self, random: np.random.Generator, event: Numbers) -> list[pa.Array]:
        """Return the columns of bids."""
        count = len(event)
        hot = last_auction(event) // HOT_BATCH * HOT_BATCH
        is_hot = random.integers(0, HOT_AUCTION, count) > 0
        auction = pa.array(np.where(is_hot, hot, any_auction(random, event)) + FIRST_ID)
        hot = last_person(event) // HOT_BATCH * HOT_BATCH + 1  # + 1: not the hot seller
        is_hot = random.integers(0, HOT_BIDDER, count) > 0
        bidder = pa.array(np.where(is_hot, hot, any_person(random, event)) + FIRST_ID)
        is_hot = random.integers(0, 2, count) > 0
        hot = CHANNELS + random.integers(0, len(HOT_CHANNELS), count)
        channel = pa.array(np.where(is_hot, hot, random.integers(0, CHANNELS, count)))
        paid = pa.array(price(random, count))
        extra = self.extra(random, np.full(count, 32), BID_SIZE)
        channels, urls = self.channels.take(channel), self.urls.take(channel)
        return [auction, bidder, paid, channels, urls, stamp(self.time(event)), extra]

    def chunk(self, number: int, count: int) -> list[Part]:
        """Return the first events of a chunk, by kind."""
        arrival = number * CHUNK + np.arange(CHUNK)
        event = arrival // self.disorder * self.disorder + arrival * 953 % self.disorder
        in_group = event % GROUP
        kinds = (
            (self.persons, 0, PERSONS),
            (self.auctions, PERSONS, PERSONS + AUCTIONS),
            (self.bids, PERSONS + AUCTIONS, GROUP),
        )
        parts = []
        for kind, (make, low, high) in enumerate(kinds):
            place = np.flatnonzero((in_group >= low) & (in_group < high))
            columns = make(np.random.default_rng([self.seed, 2, number, kind]), event[place])
            keep = int(np.searchsorted(place, count))
            parts.append((place[:keep], [column[:keep] for column in columns]))
        return parts


def channel_id(channel: int) -> int:
    """Return the number that a channel has in urls: its bits reversed, without the sign."""
    return abs(int(np.uint32(int(f"{channel:032b}"[::-1], 2)).view(np.int32)))


def json_lines(parts: list[Part]) -> pa.Array:
    """Return all events of a chunk as lines of JSON, in order."""
    names = list(COLUMNS)
    lines, places = [], []
    for kind, (place, columns) in enumerate(parts):
        before, name, after = names[:kind], names[kind], names[kind + 1 :]
        line: list[Any] = [f'{{"event_type":{kind}' + "".join(f',"{x}":null' for x in before) + f',"{name}":{{']
        for i, (field, column) in enumerate(zip(COLUMNS[name], columns, strict=True)):
            quote = "" if pa.types.is_integer(column.type) else '"'
            line += [("," if i else "") + f'"{field}":{quote}', text(column), quote]
        line.append("}" + "".join(f',"{x}":null' for x in after) + "}\n")
        lines.append(join(*line))
        places.append(place)
    return pa.concat_arrays(lines).take(pa.array(np.argsort(np.concatenate(places), kind="stable")))


def table(parts: list[Part], count: int, int96: bool) -> pa.Table:
    """Return all events of a chunk as an Arrow table with nullable structs, in order."""
    kinds = np.empty(count, dtype=np.int32)
    structs = {}
    for kind, ((place, columns), (name, fields)) in enumerate(zip(parts, COLUMNS.items(), strict=True)):
        kinds[place] = kind
        index, absent = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
        index[place], absent[place] = np.arange(len(place)), False
        zoned = columns if int96 else [in_utc(column) for column in columns]
        structs[name] = pa.StructArray.from_arrays(zoned, fields).take(pa.array(index, mask=absent))
    return pa.table({"event_type": pa.array(kinds), **structs})


def in_utc(column: pa.Array) -> pa.Array:
    """Return a column whose instants, if it has any, are in UTC."""
    return column.cast(pa.timestamp("ms", "UTC")) if pa.types.is_timestamp(column.type) else column


def write_text(file: BinaryIO, lines: pa.Array) -> None:
    """Write lines to a file."""
    _, offsets, data = lines.buffers()
    offsets = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    file.write(memoryview(data)[int(offsets[0]) : int(offsets[-1])])


def paths(folder: Path, ending: str, files: int) -> list[Path]:
    """Return the files to write in a folder, which is made, or emptied of what an earlier run left."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("part-*"):
        old.unlink()
    return [folder / f"part-{number:05d}.{ending}" for number in range(files)]


def generate(out: Path, options: argparse.Namespace) -> dict[str, int]:
    """Write the events and return how many there are of each kind."""
    base_ms = int(np.datetime64(options.base_time, "ms").astype(np.int64))
    generator = Generator(options.seed, base_ms, options.spacing_us, options.out_of_order)
    counts = dict.fromkeys(("persons", "auctions", "bids"), 0)
    int96 = options.parquet_time == "int96"
    with ExitStack() as stack:
        texts, tables = [], []
        if options.format != "parquet":
            texts = [stack.enter_context(p.open("wb")) for p in paths(out / "json", "jsonl", options.files)]
        if options.format != "json":
            schema = table(generator.chunk(0, 1), 1, int96).schema
            tables = [
                stack.enter_context(pq.ParquetWriter(p, schema, use_deprecated_int96_timestamps=int96))
                for p in paths(out / "parquet", "parquet", options.files)
            ]
        for number in range(-(-options.events // CHUNK)):
            count = min(CHUNK, options.events - number * CHUNK)
            parts = generator.chunk(number, count)
            for kind, (place, _) in zip(counts, parts, strict=True):
                counts[kind] += len(place)
            arrival = number * CHUNK + np.arange(count)
            file = arrival // GROUP % options.files
            if options.split == "time":
                file = arrival * options.files // options.events
            mine = [pa.array(np.flatnonzero(file == i)) for i in range(options.files)]
            if texts:
                lines = json_lines(parts)
                for target, rows in zip(texts, mine, strict=True):
                    write_text(target, lines.take(rows))
            if tables:
                whole = table(parts, count, int96)
                for writer, rows in zip(tables, mine, strict=True):
                    writer.write_table(whole.take(rows))
    return counts


def main() -> None:
    """Read the options, write the events and print what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=["json", "parquet", "both"], default="both")
    parser.add_argument("--files", type=int, default=2, help="files per format")
    parser.add_argument(
        "--split", choices=["turns", "time"], default="turns", help="groups of events in turn, or stretches of time"
    )
    parser.add_argument(
        "--spacing-us", type=float, default=100.0, help="event time between two events (100: 10,000 a second)"
    )
    parser.add_argument("--base-time", default="2024-01-01T00:00:00", help="time of the first event, UTC")
    parser.add_argument(
        "--out-of-order", type=int, default=1, help="shuffle within groups of so many events (1: in order)"
    )
    parser.add_argument(
        "--parquet-time", choices=["int96", "int64"], default="int96", help="Flink reads int96 in nested columns"
    )
    options = parser.parse_args()
    counts = generate(options.out, options)
    (options.out / "side_input.csv").write_text("".join(f"{i},{i}\n" for i in range(10_000)))
    given = {name: value for name, value in vars(options).items() if name != "out"}
    meta = json.dumps(given | counts)
    (options.out / "meta.json").write_text(meta + "\n")
    print(meta)


if __name__ == "__main__":
    main()
