"""Tables that are read anew from time to time: when the time has come, the files that are there then are read."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pyspark.sql import DataFrame

from headrace.catalog.objects import Table
from headrace.connectors.durations import parse_duration


@dataclass(slots=True)
class Refreshing:
    """The tables of a run that have a period, and when each is due."""

    due: list[tuple[datetime, timedelta, DataFrame]] = field(default_factory=list)

    def add(self, table: Table, frame: DataFrame, now: datetime) -> None:
        """Take in a table that is looked up, if it is to be read anew."""
        refresh = getattr(table.common, "refresh", None)
        period = parse_duration(refresh) if refresh is not None else None
        if period is not None:
            self.due.append((now + period, period, frame))

    def refresh(self, now: datetime) -> int:
        """Look again at the files of the tables that are due; return how many there were."""
        count = 0
        for i, (at, period, frame) in enumerate(self.due):
            if at <= now:
                _look_again(frame)
                self.due[i] = (now + period, period, frame)
                count += 1
        return count


def _look_again(frame: DataFrame) -> None:
    """Let the files of a frame be listed anew; a topic is read anew by every batch as it is."""
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves().iterator()
    while leaves.hasNext():
        leaf = leaves.next()
        if str(leaf.nodeName()).startswith("LogicalRelation"):
            leaf.relation().location().refresh()
