"""A server that only looks after jobs, to be killed: ``python job_server.py FOLDER [DATABASE]``."""

import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from headrace.jobs.jobs import Jobs
from headrace.jobs.queue import Capacity
from headrace.jobs.supervisor import supervisor_of
from headrace.records.database import Database
from support.job_yard import FAKE

CAPACITY = Capacity(cores=6, memory=16384)

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    url = sys.argv[2] if sys.argv[2:] else f"sqlite:///{folder / 'server.sqlite'}"
    jobs = Jobs(Database.open(url), folder / "jobs", CAPACITY)
    supervisor_of(jobs, command=FAKE).run(threading.Event())
