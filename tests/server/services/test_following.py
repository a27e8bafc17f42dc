"""What is followed begins where somebody who only looks would begin."""

import asyncio
from pathlib import Path

from headrace.jobs.folder import JobFolder
from headrace.jobs.logs import rotate
from headrace.server.services.following import follow_log


def test_a_log_that_was_just_rotated_is_followed_from_its_last_lines(tmp_path: Path) -> None:
    folder = JobFolder(tmp_path)
    folder.log_path.write_text("one\ntwo\nthree\n")
    assert rotate(folder.log_path, largest=1)

    async def first() -> list[str]:
        return list((await anext(follow_log(folder, 2))).value["lines"])

    assert asyncio.run(first()) == ["two", "three"]
