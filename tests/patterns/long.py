"""The long form: ``python tests/patterns/long.py --cases 2000 --seed 1`` asks random questions about random rows.

A case is one pattern over the rows of one key, compared after every batch and at the end, and once more by a run over
all rows in a file. A failure is printed with
the smallest question and the fewest rows that were found to show it; the last line counts.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from headrace.testing.spark_driver import SparkEngine
from headrace.values import to_json_line
from patterns.drawing import Rows, keyed
from patterns.questions import Question, smaller
from patterns.running import Mismatch, Trial, at_once, check, check_once, fitted, one_by_one, planned, trial

ROUNDS = 12
"""How often a failure is made smaller."""
WIDTH = 15
"""How many smaller questions are asked at once, each about every smaller sequence of rows."""


def fewer(rows: Rows) -> Iterator[Rows]:
    """Yield what is left of rows when some are taken out: halves first, then single ones."""
    half = len(rows) // 2
    if half:
        yield rows[:half]
        yield rows[half:]
    for i in range(len(rows)):
        yield (*rows[:i], *rows[i + 1 :])


def size(question: Question, rows: Rows) -> tuple[int, int]:
    """Return what says which of two failures is easier to understand."""
    return len(question.sql) + 20 * len(rows), len(rows)


def culprit(asked: Trial, engine: SparkEngine) -> Rows:
    """Return the rows of a key on which a query dies; all rows if no key alone brings that about."""
    keys = list(asked.arrived.values())
    while len(keys) > 1:
        half = len(keys) // 2
        for part in (keys[:half], keys[half:]):
            if check(at_once(asked.questions, part), engine):
                keys = part
                break
        else:
            break
    return tuple(row for rows in keys for row in rows)


def smallest(question: Question, rows: Rows, engine: SparkEngine) -> tuple[Question, Rows, Mismatch] | None:
    """Return the smallest failure that was found, or None if the rows of one key show none."""
    for manner in (at_once, one_by_one):
        found = check(manner([question], [rows]), engine)
        if found:
            break
    else:
        return None
    best = (question, rows, found[0])
    offset = 0
    for _ in range(ROUNDS):
        question, rows, _ = best
        others = [each for each in smaller(question) if not planned([each])[1]]
        asked = [question, *others[offset : offset + WIDTH]]
        sequences = [rows, *fewer(rows)]
        fitting = [each for each in asked if fitted(each, sequences) == each]
        keys = keyed(sequences)
        failed = [(each.question, keys.get(each.key, rows), each) for each in check(manner(fitting, sequences), engine)]
        better = min(failed, key=lambda each: size(each[0], each[1]), default=best)
        if size(better[0], better[1]) < size(question, rows):
            best, offset = better, 0
        else:
            offset += WIDTH
            if offset >= len(others):
                break
    return best


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def report(mismatch: Mismatch, asked: Trial, engine: SparkEngine) -> None:
    """Print a failure with the least that shows it."""
    _say(f"FAILED {mismatch}\n{mismatch.question.sql}")
    if mismatch.error:  # each further try would have to die first
        rows = culprit(replace(asked, questions=(mismatch.question,)), engine)
        _say("\n".join(map(to_json_line, rows)))
        return
    rows = asked.arrived.get(mismatch.key, ())
    _say("\n".join(map(to_json_line, rows)))
    found = smallest(mismatch.question, rows, engine)
    if found is None:
        _say("not so if the rows of this key come alone; the batches were:")
        _say("\n".join(f"{len(each.rows)} rows {each.after}" for each in asked.delivery))
        return
    question, rows, mismatch = found
    _say(f"smallest: {mismatch}\n{question.sql}")
    _say("\n".join(map(to_json_line, rows)))


def main(arguments: Sequence[str] | None = None, engine: SparkEngine | None = None) -> int:
    """Run, print, and return how the process ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--questions", type=int, default=15, help="how many patterns are searched for at once")
    parser.add_argument("--keys", type=int, default=30, help="how many keys they are searched for in")
    parser.add_argument("--shown", type=int, default=3, help="how many failures of a trial are made small")
    given = parser.parse_args(arguments)
    engine = engine or SparkEngine()
    done = failed = refused = asked = 0
    seed = given.seed
    began = time.monotonic()
    while done < given.cases:
        whole, refusals = trial(given.questions, given.keys, seed)
        for question, why in refusals:
            _say(f"REFUSED {question.sql}\n{why}")
        refused += len(refusals)
        asked += len(refusals) + len(whole.questions)
        mismatches = [*check(whole, engine), *check_once(whole)]
        done += whole.cases
        failed += len(mismatches)
        questions = {each.question.sql: each for each in reversed(mismatches)}
        for mismatch in list(questions.values())[: given.shown]:
            report(mismatch, whole, engine)
        _say(f"seed {seed}: {done} cases, {failed} failed, {time.monotonic() - began:.0f} s")
        seed += 1
    _say(f"{refused} of {asked} patterns refused")
    _say(f"{done} cases, {failed} failed")
    return 1 if failed or refused * 20 > asked else 0


if __name__ == "__main__":
    sys.exit(main())
