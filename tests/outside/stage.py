"""A router in front of a simulated pair, each a process of its own."""

import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager

MODEL = "plimsoll-sim"


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def wait_for(url):
    """The answer, once there is one that is no error."""
    end = time.monotonic() + 20
    while True:
        try:
            return urllib.request.urlopen(url, timeout=2).read().decode()
        except OSError:
            assert time.monotonic() < end, f"{url} does not answer"
            time.sleep(0.1)


@contextmanager
def running(program, *arguments):
    """The program, until the block ends."""
    process = subprocess.Popen([program, *map(str, arguments)], stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=20)


class Stage:
    """Where everything is, and how to start it."""

    def __init__(self, program):
        self.program = program
        self.prefill, self.decode, self.serving, self.metrics = (free_port() for _ in range(4))
        self.bootstrap = free_port()
        self.api = f"http://127.0.0.1:{self.serving}"
        self.page = f"http://127.0.0.1:{self.metrics}/"

    def engine(self, role, *flags):
        own = ["--role", role, "--port", getattr(self, role), "--bootstrap-port", self.bootstrap]
        return running(self.program, "sim", *own, "--cache-report", *flags)

    def router(self, *flags):
        prefill = ["--prefill", f"http://127.0.0.1:{self.prefill}", self.bootstrap]
        workers = ["--pd-disaggregation", *prefill, "--decode", f"http://127.0.0.1:{self.decode}"]
        ports = ["--port", self.serving, "--prometheus-port", self.metrics]
        hosts = ["--host", "127.0.0.1", "--prometheus-host", "127.0.0.1"]
        return running(self.program, *workers, *ports, *hosts, "--log-level", "error", *flags)

    def ready(self):
        """Waits until the router sends requests to both engines."""
        wait_for(self.api + "/readiness")

    def samples(self, start):
        """The lines of the metrics page that begin so, as values by name and labels."""
        lines = wait_for(self.page + "metrics").splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if line.startswith(start))
        return {name: float(value) for name, value in pairs}


def until(what, is_so, seconds=20):
    """Waits until something is so; `what` says what is not."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"still not so: {what()}"
        time.sleep(0.2)
