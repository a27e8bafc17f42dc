"""Searches and the plan of a batch go in; the names of the batch's operators that keep state come out."""

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame


@dataclass(slots=True)
class StateNames:
    """The names of the operators of one query that keep state, in the order in which Spark reports them."""

    jvm: Any
    names: list[str] = field(default_factory=list)
    processors: list[Any] = field(default_factory=list)

    def add(self, name: str, frame: DataFrame) -> None:
        """Let the state of a search, whose matches are a frame, have a name."""
        processor = self.jvm.org.headrace.StateOperators.processor(frame._jdf)
        if processor is not None:
            self.names.append(name)
            self.processors.append(processor)

    def of(self, plan: Any) -> list[str | None]:
        """Return the name of each operator of a physical plan that keeps state, None where it is no search.

        Processors are told apart by identity: Spark takes them into its plans as they are.
        """
        if not self.names:
            return []
        places = self.jvm.org.headrace.StateOperators.places(plan, self.processors)
        return [self.names[each] if each >= 0 else None for each in places]
