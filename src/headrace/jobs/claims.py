"""The folder and the database of jobs go in; the claims of the one server that looks after them come out."""

import logging
from pathlib import Path

from headrace.errors import HeadraceError
from headrace.jobs.data_folder import is_settled, settle
from headrace.records.claims import Claim, FileClaim, claim_on, taken_within
from headrace.records.database import Database

__all__ = ["Claims", "Unclaimed"]

_log = logging.getLogger("headrace.jobs")


class Unclaimed(Exception):
    """A claim is lost, and another server may be at work: nothing more may be done."""


class Claims:
    """What a server has while it looks after jobs: nobody else has any of it."""

    def __init__(self, root: Path, database: Database) -> None:
        self._root, self._database = root, database
        self._held: list[Claim] = []
        self.are_held = False
        """Whether they were when that was last seen."""

    @classmethod
    def take(cls, root: Path, database: Database, *, moved: bool = False) -> "Claims":
        """Take the folder of jobs and their database; raise if another server has one of them.

        Raise also if the jobs are in another folder, unless that was ``moved`` to this one.
        """
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        claims = cls(root, database)
        try:
            claims._add(FileClaim(root / "supervisor.lock", str(root)), "a folder")
            if (claim := claim_on(database)) is not None:
                claims._add(claim, "a database")
            settle(root, database, moved=moved)
        except BaseException:
            claims.release()
            raise
        claims.are_held = True
        return claims

    def _add(self, claim: Claim, kind: str) -> None:
        if not taken_within(claim, claim.patience):
            raise HeadraceError(
                "another server looks after these jobs",
                detail=f"It holds {claim.what}.",
                hint=f"Stop it first, or give this one {kind} of its own.",
            )
        self._held.append(claim)

    def require(self) -> None:
        """Raise unless all are held at this moment; what has just been lost is not taken again here."""
        if not all(claim.is_held() for claim in self._held):
            raise Unclaimed

    def regain(self) -> bool:
        """Take again what was lost and say whether anything was; raise if another server has it now."""
        lost = [claim for claim in self._held if not claim.is_held()]
        if not lost:
            return False
        if self.are_held:
            self.are_held = False
            _log.warning("the claim on %s is lost: no job is looked after until it is held again", lost[0].what)
        if not all(claim.take() for claim in lost):
            raise Unclaimed
        if not is_settled(self._root, self._database):  # another server has taken the jobs to its own folder
            for claim in lost:
                claim.release()
            raise Unclaimed
        _log.warning("the claim on %s is held again", lost[0].what)
        self.are_held = True
        return True

    def release(self) -> None:
        """Let another server have them."""
        self.are_held = False
        for claim in self._held:
            claim.release()
        self._held.clear()
