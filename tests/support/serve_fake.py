"""A whole server whose jobs need no Spark: ``python serve_fake.py DATA``; prints what ``headrace serve`` prints."""

import sys
from pathlib import Path

from headrace.cli.serve import _tell
from headrace.server.process import run_server
from headrace.server.settings import Settings

if __name__ == "__main__":
    command = (sys.executable, str(Path(__file__).with_name("fake_driver.py")))
    run_server(Settings(data=Path(sys.argv[1]), port=0, driver=command, cores=4, memory=8192), _tell)
    sys.stdout.write("the server is stopped; jobs run on\n")
