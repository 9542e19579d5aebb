"""Runs pytest inside of the sandbox and prints what passed and, when asked, which functions each test reached.

Runs alone, with the Python environment of the benchmark. Reads its request from the standard input: `nonce`, `tests`
(node ids or folders), `options` of pytest, `test_seconds` for each test, and `functions`, or null: for each file its
functions by the first line of their code. The last line that it prints begins with the nonce, so a test that ends the
process passes nothing. Plug-ins of the environment stay out: a test that needs one fails.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from types import CodeType, FrameType
from typing import Any

OPTIONS = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "filterwarnings=", "--no-header", "--tb=no"]
OPTIONS += ["--continue-on-collection-errors"]


class Recorder:
    """A plug-in that lists passed and failed tests, and the functions that were called meanwhile."""

    def __init__(self, functions: dict[str, dict[str, str]] | None, test_seconds: float) -> None:
        self.failed, self.passed = set[str](), set[str]()
        self.reached: dict[str, set[str]] = {}
        self._functions = functions or {}
        self._traces = functions is not None
        self._test_seconds = test_seconds
        self._test = ""
        self._known: dict[CodeType, str] = {}
        signal.signal(signal.SIGALRM, self._stop)

    def pytest_collection_finish(self) -> None:
        if "hypothesis" in sys.modules:
            steady_hypothesis()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._test = nodeid
        self.reached.setdefault(nodeid, set())
        signal.setitimer(signal.ITIMER_REAL, self._test_seconds)
        if self._traces:
            sys.settrace(self._called)
            threading.settrace(self._called)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self.passed.add(report.nodeid)

    def pytest_runtest_logfinish(self) -> None:
        sys.settrace(None)
        threading.settrace(None)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _stop(self, number: int, frame: object) -> None:
        import pytest

        pytest.fail(f"more than {self._test_seconds} s")  # no `except Exception` of the tested code catches it

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        found = self._known.get(code)
        if found is None:
            name = os.path.relpath(os.path.realpath(code.co_filename)) if os.path.isabs(code.co_filename) else ""
            found = self._known[code] = self._functions.get(name, {}).get(str(code.co_firstlineno), "")
        if found:
            self.reached[self._test].add(found)


def steady_hypothesis() -> None:
    """Property tests draw the same examples each time, and a slow machine fails none."""
    from hypothesis import settings

    settings.register_profile("weft", deadline=None, derandomize=True, database=None, max_examples=25)
    settings.load_profile("weft")


def main() -> None:
    request = json.loads(sys.stdin.read())
    nonce = request.pop("nonce")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    import pytest

    recorder = Recorder(request["functions"], request["test_seconds"])
    pytest.main([*OPTIONS, *request["options"], *request["tests"]], plugins=[recorder])
    result = {
        "passed": sorted(recorder.passed - recorder.failed),
        "failed": sorted(recorder.failed),
        "reached": {test: sorted(found) for test, found in recorder.reached.items() if found},
    }
    sys.stdout.flush()
    os.write(1, f"\n{nonce}{json.dumps(result)}\n".encode())
    os._exit(0)  # not waiting for threads that tests left behind


if __name__ == "__main__":
    main()
