"""Writes tweets and follows as JSON lines, new files each second: some are edited, deleted and ended again."""

import argparse
import json
import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

USERS = ("ann", "bob", "cem", "dea", "eve", "fay", "gil", "hui", "ida", "jon", "kim", "lou")
WORDS = ("tea", "rain", "again", "late", "train", "coffee", "sun", "quiet", "music", "bread", "night", "first")
EDITED, DELETED = 0.1, 0.05
"""How likely the next line is to change or remove an earlier tweet instead of adding one."""
REMEMBERED = 200
"""Tweets that can still be changed."""

Row = dict[str, object]


def changes(seed: int, rate: int, start: datetime) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield what is written into the tables tweets and follows in one second after the other."""
    chance = random.Random(seed)
    follows = {(a, b) for a in USERS for b in USERS if a != b and chance.random() < 0.25}
    tweets: list[Row] = []
    number = 0
    yield [], [follow(*pair) for pair in sorted(follows)]
    for second in range(10**9):
        lines: list[Row] = []
        for part in range(rate):
            choice = chance.random()
            if tweets and choice < DELETED:
                gone = tweets.pop(chance.randrange(len(tweets)))
                lines.append({"id": gone["id"], "_change": "delete"})
            elif tweets and choice < DELETED + EDITED:
                place = chance.randrange(len(tweets))
                tweets[place] = {**tweets[place], "text": f"{sentence(chance)} (edited)"}
                lines.append(tweets[place])
            else:
                number += 1
                at = instant(start + timedelta(seconds=second + part / rate))
                tweets.append(
                    {"id": number, "author": chance.choice(USERS), "text": sentence(chance), "written_at": at}
                )
                lines.append(tweets[-1])
        del tweets[:-REMEMBERED]
        yield lines, [toggled(follows, chance)]


def toggled(follows: set[tuple[str, str]], chance: random.Random) -> Row:
    """Begin or end one follow, and return the line that says so."""
    follower, followee = chance.sample(USERS, 2)
    pair = (follower, followee)
    if pair in follows:
        follows.remove(pair)
        return {**follow(*pair), "_change": "delete"}
    follows.add(pair)
    return follow(*pair)


def follow(follower: str, followee: str) -> Row:
    """Return the row of a follow."""
    return {"follower": follower, "followee": followee}


def sentence(chance: random.Random) -> str:
    """Return a few words."""
    return " ".join(chance.choices(WORDS, k=chance.randint(2, 6)))


def instant(at: datetime) -> str:
    """Return an instant as ISO 8601 has it, to the millisecond."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write(folder: Path, name: str, rows: list[Row]) -> None:
    """Write a file that appears whole or not at all: readers pass over names that begin with a dot."""
    hidden = folder / f".{name}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    hidden.rename(folder / name)


def main() -> None:
    """Read the arguments and write two files each second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("data"), help="the folder (default data)")
    parser.add_argument("--port", help="not used: changes go into files")
    parser.add_argument("--seconds", type=int, default=60, help="how long to go on (default 60)")
    parser.add_argument("--rate", type=int, default=4, help="changes of tweets per second (default 4)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed and start give the same changes")
    parser.add_argument("--start", type=datetime.fromisoformat, help="time of the first tweet (default: now)")
    given = parser.parse_args()
    tweets, follows = given.out / "tweets", given.out / "follows"
    for folder in (tweets, follows):
        folder.mkdir(parents=True, exist_ok=True)
    start = given.start or datetime.now(UTC)
    began = time.monotonic()
    for second, (written, followed) in zip(
        range(given.seconds + 1), changes(given.seed, given.rate, start), strict=False
    ):
        time.sleep(max(0.0, began + second - 1 - time.monotonic()))
        name = f"{start:%Y%m%dT%H%M%S}-{second:06d}.json"
        write(follows, name, followed)
        write(tweets, name, written)


if __name__ == "__main__":
    main()
