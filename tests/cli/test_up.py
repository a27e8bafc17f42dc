"""`headrace up`: broker, server and console come up together, and nothing of them is left."""

import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import psutil

from support.homes import own_home


def test_up_gives_a_console_to_log_in_to_and_a_broker_and_takes_them_away(tmp_path: Path) -> None:
    everything = own_home(tmp_path).items()
    environment = {key: value for key, value in everything if not key.startswith(("PYTEST", "NICEGUI"))}
    command = [sys.executable, "-m", "headrace.cli.main", "up", "--port", "0"]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = threading.Timer(180, process.kill)
    deadline.start()
    try:
        assert process.stdout is not None
        said: dict[str, str] = {}
        for line in process.stdout:
            if found := re.fullmatch(r"(Headrace|log in|password|broker) +(\S+)\n", line):
                said[found[1]] = found[2]
            if len(said) == 4:
                break
        assert set(said) == {"Headrace", "log in", "password", "broker"}, said
        with httpx.Client(base_url=said["Headrace"]) as browser:
            page = browser.get("/", follow_redirects=True)
            assert page.url.path == "/login"
            assert "<h1>Headrace</h1>" in page.text
            entered = browser.post("/login", data={"name": said["log in"], "password": said["password"]})
            assert (entered.status_code, entered.headers["location"]) == (303, "/")
            assert browser.get("/").status_code == 200
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert "the server is stopped; jobs run on\n" in rest
        assert "the broker is stopped\n" in rest
        assert "Traceback" not in errors
        assert not psutil.wait_procs(children, timeout=30)[1]
        host, port = said["broker"].rsplit(":", 1)
        assert not any(
            each.laddr.port == int(port) and each.status == psutil.CONN_LISTEN for each in psutil.net_connections("tcp")
        ), host
    finally:
        deadline.cancel()
        if process.poll() is None:
            process.kill()
            process.communicate()
        for left in psutil.process_iter(["environ"]):
            if (left.info["environ"] or {}).get("HEADRACE_HOME") == environment["HEADRACE_HOME"]:
                with suppress(ProcessLookupError):
                    os.kill(left.pid, signal.SIGKILL)
