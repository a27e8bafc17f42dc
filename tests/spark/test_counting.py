"""Counts are read from plans as Spark gives them; here the plans are small stand-ins."""

from dataclasses import dataclass, field

from headrace.spark.counting import MARK, Counter


@dataclass
class Values:
    items: list

    def size(self):
        return len(self.items)

    def apply(self, index):
        return self.items[index]


@dataclass
class Metrics:
    rows: int | None

    def contains(self, name):
        return name == "numOutputRows" and self.rows is not None

    def apply(self, name):
        return self

    def value(self):
        return self.rows


@dataclass
class Plan:
    name: str
    rows: int | None = None
    below: list = field(default_factory=list)
    test: str = ""

    def nodeName(self):
        return self.name

    def children(self):
        return Values(self.below)

    def metrics(self):
        return Metrics(self.rows)

    def condition(self):
        return self

    def toString(self):
        return self.test


def scan(stream, records, alive, wrapped=True):
    source = Plan("Project", below=[Plan("Scan json", records)]) if wrapped else Plan("Scan json", records)
    return Plan("Filter", alive, [source], test=f"(NOT dead OR concat({MARK}{stream}#, x) = )")


def test_records_dead_ones_and_given_rows():
    plan = Plan("Project", below=[Plan("Filter", 4, [scan("clicks", 10, 7)], test="x > 1")])
    counts = Counter().read(plan)
    assert (counts.records, counts.dead, counts.given) == ({"clicks": 10}, {"clicks": 3}, 4)


def test_a_stream_that_is_read_twice_counts_once_and_a_union_gives_the_sum():
    plan = Plan("Union", below=[scan("a", 10, 7), scan("a", 10, 7), scan("b", 2, 2)])
    counts = Counter().read(plan)
    assert (counts.records, counts.dead, counts.given) == ({"a": 10, "b": 2}, {"a": 3, "b": 0}, 16)


def test_a_plan_that_changes_its_shape_is_searched_again():
    counter = Counter()
    assert counter.read(Plan("Project", below=[scan("a", 3, 3)])).records == {"a": 3}
    assert counter.read(Plan("Project", below=[scan("a", 4, 3)])).dead == {"a": 1}
    assert counter.read(Plan("LocalTableScan", 0)).records == {}
    assert counter.read(scan("a", 5, 5, wrapped=False)).records == {"a": 5}
