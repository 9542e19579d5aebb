"""Running a repository's tests in the sandbox: which pass, and which functions each of them reaches.

Owns the request to `inside_tests` and the reading of its answer. Knows no task and no model.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .repositories import Repository
from .sandbox import Limits, Sandbox

TEST_SECONDS = 2.0
"""Tests that take longer are left out, and a body fails that makes one take longer."""

ALL_TESTS = Limits(seconds=400, cpu_seconds=400)
SOME_TESTS = Limits(seconds=60, cpu_seconds=60)

_RUNNER = Path(__file__).with_name("inside_tests.py")


@dataclass(frozen=True, slots=True)
class TestRun:
    """Node ids of tests that passed and failed, and what each reached. All are empty when the run did not end."""

    passed: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    reached: Mapping[str, Sequence[str]] = field(default_factory=dict)
    problem: str = ""  # the reason why there is no result


def run_tests(
    sandbox: Sandbox,
    repository: Repository,
    tree: Path,
    tests: Sequence[str],
    changed: Mapping[str, str],
    limits: Limits,
    functions: Mapping[str, Mapping[str, str]] | None = None,
    *,
    stop_at_failure: bool = False,
) -> TestRun:
    """Run these tests on the tree with `changed` files. `functions` are those to trace, see `inside_tests`."""
    nonce = secrets.token_hex(16)
    request = {
        "nonce": nonce,
        "tests": list(tests),
        "functions": functions,
        "options": ["-x"] if stop_at_failure else [],
        "test_seconds": TEST_SECONDS,
    }
    files = {"run.py": _RUNNER.read_text(encoding="utf-8")} | {f"tree/{path}": text for path, text in changed.items()}
    done = sandbox.run_python(tree, "run.py", files, json.dumps(request), limits, [repository.imports])
    for line in reversed(done.stdout.splitlines()):
        if line.startswith(nonce):
            found = json.loads(line[len(nonce) :])
            return TestRun(frozenset(found["passed"]), frozenset(found["failed"]), found["reached"])
    if done.timed_out:
        return TestRun(problem=f"killed after {limits.seconds:g} s")
    said = " ".join(done.stderr.split())[-300:]
    return TestRun(problem=f"ended with status {done.status}: {said}")
