"""The long form: ``python tests/maintained/long.py --runs 500 --seed 1`` keeps every template under random changes.

A run is one template over one random sequence of batches, compared after every batch. A failure is printed with the
smallest sequence that was found to show it; the last line counts.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from headrace.testing.spark_driver import SparkEngine
from maintained.drawing import drawn
from maintained.running import Mismatch, check_alone, check_group, refusal, verdict
from maintained.sequences import Sequence_, printed, shorter
from maintained.templates import ALL, Template

PATIENCE = 60
"""How many shorter sequences are tried to make a failure small."""


def groups(templates: Sequence[Template], runs: int, size: int, start: int) -> Iterator[list[Template]]:
    """Yield groups of templates that share a sequence, each template as often as the others."""
    shuffle = random.Random(start)
    while runs > 0:
        order = list(templates)
        shuffle.shuffle(order)
        for i in range(0, len(order), size):
            group = order[i : i + min(size, runs)]
            if group:
                yield group
            runs -= len(group)


def smallest(
    template: Template, sequence: Sequence_, mismatch: Mismatch, engine: SparkEngine
) -> tuple[Sequence_, Mismatch]:
    """Return the shortest sequence that was found to fail, and how it fails."""
    sequence = sequence[: mismatch.batch]
    tried = 0
    again = True
    while again and tried < PATIENCE:
        again = False
        for candidate in shorter(sequence):
            tried += 1
            if tried > PATIENCE:
                break
            found = check_alone(template, candidate, engine)
            if found is not None:
                sequence, mismatch, again = candidate[: found.batch], found, True
                break
    return sequence, mismatch


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def report(mismatch: Mismatch, sequence: Sequence_, engine: SparkEngine) -> None:
    """Print a failure with the least that shows it."""
    _say(f"FAILED {mismatch}")
    alone = check_alone(mismatch.template, sequence, engine)
    if alone is None:
        _say("only together with other queries:")
    else:
        sequence, mismatch = smallest(mismatch.template, sequence, alone, engine)
        _say(f"smallest: {mismatch}")
    _say(mismatch.template.sql)
    _say(printed(sequence))
    _say(verdict(mismatch, sequence))


def main() -> int:
    """Run, print, and return how the process ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batches", type=int, default=6, help="the most batches of a sequence")
    parser.add_argument("--together", type=int, default=30, help="how many templates share a sequence and a query")
    parser.add_argument("--only", default="", help="names of templates, separated by commas")
    given = parser.parse_args()
    wanted = [each for each in ALL if not given.only or each.name in given.only.split(",")]
    refused = {each.name: why for each in wanted if (why := refusal(each)) is not None}
    for name, why in refused.items():
        _say(f"refused {name}: {why}")
    templates = [each for each in wanted if each.name not in refused]
    plan = list(groups(templates, given.runs, given.together, given.seed))
    engine = SparkEngine()
    done = failed = 0
    began = time.monotonic()
    for group, sequence in zip(plan, drawn(len(plan), given.batches, given.seed), strict=True):
        mismatches = check_group(group, sequence, engine)
        done += len(group)
        failed += len(mismatches)
        for mismatch in mismatches:
            report(mismatch, sequence, engine)
        _say(f"{done} runs, {failed} failed, {time.monotonic() - began:.0f} s")
    _say(f"{done} runs, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
