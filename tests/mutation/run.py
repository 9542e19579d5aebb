"""Mutation testing of the capabilities: change one place of the code, and see whether the tests of its row fail.

    python tests/mutation/run.py [--quick] [--row 15] [--jobs 2] [WORD …]

`mutants.py` reads the list. No file is changed: a process imports the changed source through an import hook and runs
pytest on the tests that the row names. Processes are forked from one that has imported the libraries, because their
import takes longer than the tests. So the tool needs Linux or macOS.
A mutant is killed if a test fails, or if the tests take more than a minute and three times as long as without it.
Exit status 1: a mutant survived, a text of the list is not in its file, or the tests fail without a mutant.

mutmut and cosmic-ray are other tools: they generate every change of the configured files and run one test command for
each. Here a person lists the changes that matter, and each has the tests of its own row, which takes minutes instead of
hours. Both would also need a layout of their own, because the root of the repository is the package `weft`.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from mutants import ROOT, Mutant, read_mutants, tests_of, tests_of_rows

LIBRARIES = (
    "numpy",
    "httpx",
    "hypothesis",
    "lsprotocol.types",
    "pygls.lsp.client",
    "rapidfuzz",
    "rich.console",
    "pytest",
)
"""Imported once before processes are forked: what takes longest of what tests/conftest.py imports."""

ROOMS = (
    "weft.languages",
    "weft.codegraph",
    "weft.llm",
    "weft.retrieval",
    "weft.memory",
    "weft.server",
    "weft.benchmarks",
)
"""Lower rooms first. No room imports a higher one (`test_architecture.py`), so those below a mutant stay imported."""

IMPORTED = ("weft.memory.strategies", "weft.server.completion", "weft.server.shared.control")
"""What tests/conftest.py needs."""

OPTIONS = (
    "-c",
    "tests/pytest.ini",
    "-x",
    "-q",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-p",
    "no:hypothesispytest",
)

LIMIT_S = 60
SLOWER = 3
"""A mutant may take this many times as long as the tests do without it, or `LIMIT_S`."""

WHOLE_LIMIT_S = 20 * LIMIT_S
"""For all tests without a mutant."""

N_TESTS_FAILED = 1
"""pytest's exit status when tests ran and some failed; others mean that tests could not run."""

Outcome = tuple[str, str]
"""A word and what pytest printed."""

Job = tuple[str, Mutant | None, str, list[str], float]
"""A name, the mutant and its source, the tests, and the seconds that they may take."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="only the mutants of the short form")
    parser.add_argument("--row", type=int, action="append", help="only mutants of this row; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--no-check", action="store_true", help="don't run the tests without a mutant first")
    parser.add_argument("--verbose", action="store_true", help="print what pytest says of each mutant")
    parser.add_argument("words", nargs="*", help="only mutants whose name contains one of these")
    options = parser.parse_args(arguments)
    mutants = [mutant for mutant in read_mutants() if _is_wanted(mutant, options)]
    prepare()
    return run(mutants, options.jobs, is_checked=not options.no_check, is_verbose=options.verbose)


def prepare() -> None:
    """Import what the tests of most rows need. Once, in the process that runs the mutants."""
    os.chdir(ROOT)
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in (*LIBRARIES, *IMPORTED):
        importlib.import_module(name)


def run(mutants: Sequence[Mutant], jobs: int, *, is_checked: bool = True, is_verbose: bool = False) -> int:
    """Print the outcome of each and a summary; the exit status."""
    started = time.monotonic()
    rows = tests_of_rows()
    runnable = [mutant for mutant in mutants if mutant.can_run]
    sources = {mutant: mutant.source() for mutant in runnable}
    for mutant, source in sources.items():
        compile(source, mutant.file, "exec")

    without = list(dict.fromkeys(test for mutant in runnable for test in tests_of(mutant, rows)))
    seconds, failing = _run_without_mutants(without, jobs) if is_checked else (dict.fromkeys(without, 0.0), [])
    if failing:
        print("The tests fail without a mutant. Correct them first.", *failing, sep="\n")
        return 1

    # The fastest tests first: most mutants are killed by each.
    wanted = [_job(m, sources[m], tests_of(m, rows), seconds) for m in runnable]
    outcomes = _outcomes(wanted, jobs, lambda name, outcome: _report(name, outcome, is_verbose))
    survivors = [name for name, (word, _) in outcomes.items() if word != "killed"]
    left_out = [mutant for mutant in mutants if not mutant.can_run and not mutant.equivalent]
    n_equivalent = sum(bool(mutant.equivalent) for mutant in mutants)
    for mutant in left_out:
        print(f"left out (needs {mutant.needs}): {mutant.name}")
    print(
        f"{len(outcomes)} mutants: {len(outcomes) - len(survivors)} killed, {len(survivors)} not; "
        f"{n_equivalent} equivalent, {len(left_out)} left out; {time.monotonic() - started:.0f} s"
    )
    return 1 if survivors else 0


def _job(mutant: Mutant, source: str, tests: Sequence[str], seconds: Mapping[str, float]) -> Job:
    limit_s = max(LIMIT_S, SLOWER * sum(seconds[test] for test in tests))
    return mutant.name, mutant, source, sorted(tests, key=lambda test: seconds[test]), limit_s


def _run_without_mutants(tests: Sequence[str], jobs: int) -> tuple[dict[str, float], list[str]]:
    """The seconds of each test, and what pytest printed where one fails."""
    shares = [list(tests[k::jobs]) for k in range(min(jobs, len(tests)))]
    outcomes = _outcomes([(f"part {k + 1}", None, "", share, WHOLE_LIMIT_S) for k, share in enumerate(shares)], jobs)
    failing = [text for word, text in outcomes.values() if word != "survived"]
    seconds = dict.fromkeys(tests, 0.0)
    for _, text in outcomes.values():
        for name, taken in json.loads(text.rpartition(_Seconds.MARK)[2].partition("\n")[0] or "{}").items():
            for test in {f"tests/{name}", f"tests/{name.partition('[')[0]}"} & seconds.keys():
                seconds[test] += taken
    return seconds, failing


class _Seconds:
    """A plugin of pytest that prints how long each test took."""

    MARK = "seconds of tests: "

    def __init__(self) -> None:
        self._of: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._of[report.nodeid] = self._of.get(report.nodeid, 0.0) + report.duration

    def pytest_unconfigure(self) -> None:
        print(f"\n{self.MARK}{json.dumps(self._of)}")


class MutatedModule(importlib.abc.MetaPathFinder):
    """Finds one module with another source than its file has."""

    def __init__(self, mutant: Mutant, source: str) -> None:
        self._module, self._path, self._source = mutant.module, str(ROOT / mutant.file), source

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._module:
            return None
        loader = _SourceLoader(name, self._path)
        loader.source = self._source
        return importlib.util.spec_from_file_location(name, self._path, loader=loader)


class _SourceLoader(importlib.machinery.SourceFileLoader):
    source = ""

    def get_code(self, name: str) -> CodeType:
        return compile(self.source, self.path, "exec")  # no bytecode is read or written


def _outcomes(
    jobs: Sequence[Job], n_at_once: int, done: Callable[[str, Outcome], None] = lambda name, outcome: None
) -> dict[str, Outcome]:
    """Run each job in a process of its own."""
    waiting, outcomes = list(jobs), {}
    running: dict[int, tuple[str, BaseProcess, float, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < n_at_once:
                name, mutant, source, tests, limit_s = waiting.pop(0)
                output = str(Path(folder) / str(len(waiting)))
                process = multiprocessing.get_context("fork").Process(
                    target=_run_tests, args=(mutant, source, tests, output)
                )
                process.start()
                running[process.sentinel] = name, process, time.monotonic() + limit_s, output
            ended = set(wait(list(running), timeout=1))
            for sentinel, (name, process, end, output) in list(running.items()):
                late = time.monotonic() > end
                if late and sentinel not in ended:
                    process.kill()
                if late or sentinel in ended:
                    process.join()
                    del running[sentinel]
                    text = Path(output).read_text(encoding="utf-8", errors="replace")
                    outcomes[name] = _word(process.exitcode, late), text
                    done(name, outcomes[name])
    return outcomes


def _word(exit_status: int | None, late: bool) -> str:
    if late or exit_status == N_TESTS_FAILED:
        return "killed"
    return "survived" if exit_status == 0 else f"pytest ended with {exit_status}"


def _run_tests(mutant: Mutant | None, source: str, tests: list[str], output: str) -> None:
    """The whole life of a forked process."""
    import pytest

    with open(output, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if mutant is not None:
        sys.meta_path.insert(0, MutatedModule(mutant, source))
        _forget_from(mutant.module)
    plugins = [_Seconds()] if mutant is None else []
    status = int(pytest.main([*OPTIONS, "-W", "ignore::pytest.PytestAssertRewriteWarning", *tests], plugins))
    sys.stdout.flush()
    os._exit(status)


def _forget_from(module: str) -> None:
    """Import the room of a module and the rooms above it again."""
    first = next(number for number, room in enumerate(ROOMS) if module.startswith(f"{room}."))
    for room in ROOMS[first:]:
        for name in [name for name in sys.modules if name == room or name.startswith(f"{room}.")]:
            del sys.modules[name]
        vars(sys.modules["weft"]).pop(room.removeprefix("weft."), None)


def _report(name: str, outcome: Outcome, is_verbose: bool) -> None:
    word, text = outcome
    print(f"{word:8} {name}", flush=True)
    if is_verbose or word not in ("killed", "survived"):
        print(text, flush=True)


def _is_wanted(mutant: Mutant, options: Any) -> bool:
    return (
        (not options.quick or mutant.quick)
        and (not options.row or mutant.row in options.row)
        and (not options.words or any(word in mutant.name for word in options.words))
    )


if __name__ == "__main__":
    sys.exit(main())
