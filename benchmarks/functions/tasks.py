"""Function-body tasks of a pinned release, drawn by RepoEval's rules: covered by tests, true body passes, empty fails.

RepoEval (RepoCoder, section 3) takes functions of 3 to 30 lines that tests cover. Where it is silent: the lines are
those of the body without its docstring, which the prompt shows; a test covers a function when it calls it; no two
bodies of a repository are equal; a task has at most 40 of the tests that cover it, spread over all of them. A task
counts only if its tests pass with the true body, and fail with `pass` and with `raise NotImplementedError`.

Owns the drawing and its seed. Runs tests only in the sandbox that it is given. Knows no model.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..command import say
from ..repoeval.sources import SourceFile, read_sources
from ..repoeval.tasks import SEED, Task, make_task
from .bodies import Function, empty_bodies, functions_of, with_body
from .repositories import Repository
from .sandbox import Sandbox, SandboxError
from .testing import ALL_TESTS, SOME_TESTS, run_tests

KIND = "function"
MOST_TESTS = 40


@dataclass(frozen=True, slots=True)
class Drawn:
    """A function that tests tell apart from an empty one, with the node ids of these tests."""

    function: Function
    tests: tuple[str, ...]

    @classmethod
    def of_record(cls, function: Mapping[str, Any], tests: Sequence[str]) -> Drawn:
        """From its JSON form."""
        return cls(Function(**function), tuple(tests))


@dataclass(frozen=True, slots=True)
class FunctionTask:
    """Complete the body of a function; `tests` are the node ids that must pass."""

    task: Task
    function: Function
    tests: tuple[str, ...]

    @property
    def record(self) -> dict[str, object]:
        """In JSON, with the fields of a RepoEval task."""
        return asdict(self.task) | {"function": self.function.qualname, "tests": self.tests}


def code_of(repository: Repository, tree: Path) -> dict[str, SourceFile]:
    """The files of a release that a task may come from and that are searched: no tests."""
    sources = read_sources(tree)
    tests = f"{repository.tests}/"
    return {
        path: source
        for path, source in sources.items()
        if (path == repository.code or path.startswith(f"{repository.code}/")) and not path.startswith(tests)
    }


def draw_functions(
    sandbox: Sandbox, repository: Repository, tree: Path, sources: Mapping[str, SourceFile], n_tasks: int
) -> list[Drawn]:
    """At most `n_tasks` functions with their tests, in the order of the files.

    Raises SandboxError when the tests cannot be run at all.
    """
    functions = _functions(sources)
    by_file: dict[str, dict[str, str]] = {}
    for function in functions:
        by_file.setdefault(function.path, {})[str(function.code_line)] = function.key
    found = run_tests(sandbox, repository, tree, [repository.tests], {}, ALL_TESTS, by_file)
    if not found.passed:
        raise SandboxError(
            f"No test of {repository.name} passes in the sandbox: {found.problem or 'all fail'}. "
            "Install benchmarks/functions/requirements.txt into the environment of --python."
        )
    covering: dict[str, list[str]] = {}
    for test in sorted(found.passed):
        for key in found.reached.get(test, ()):
            covering.setdefault(key, []).append(test)
    covered = [function for function in functions if function.key in covering]
    say(
        f"{repository.name}: {len(found.passed)} tests pass, {len(found.failed)} fail; "
        f"{len(functions)} functions, {len(covered)} covered"
    )
    generator = random.Random(f"{SEED}:{repository.name}:{KIND}")
    generator.shuffle(covered)
    drawn: list[Drawn] = []
    for function in covered:
        if len(drawn) == n_tasks:
            break
        tests = covering[function.key]
        if len(tests) > MOST_TESTS:
            tests = sorted(generator.sample(tests, MOST_TESTS))
        if _tells_bodies_apart(sandbox, repository, tree, sources[function.path], function, tests):
            drawn.append(Drawn(function, tuple(tests)))
    return sorted(drawn, key=lambda each: (each.function.path, each.function.start))


def _functions(sources: Mapping[str, SourceFile]) -> list[Function]:
    """The functions of all files, one of each body."""
    seen, found = set[str](), []
    for path in sorted(sources):
        for function in functions_of(sources[path]):
            body = "\n".join(line.strip() for line in sources[path].lines[function.start : function.end])
            if body not in seen:
                seen.add(body)
                found.append(function)
    return found


def _tells_bodies_apart(
    sandbox: Sandbox,
    repository: Repository,
    tree: Path,
    source: SourceFile,
    function: Function,
    tests: Sequence[str],
) -> bool:
    """Whether the tests pass with the true body, and fail with bodies that do nothing."""
    bodies = ("\n".join(source.lines[function.start : function.end]), *empty_bodies(source, function))
    wanted = (True, False, False)
    return all(
        passes(sandbox, repository, tree, source, function, tests, body) == expected
        for body, expected in zip(bodies, wanted, strict=True)
    )


def passes(
    sandbox: Sandbox,
    repository: Repository,
    tree: Path,
    source: SourceFile,
    function: Function,
    tests: Sequence[str],
    body: str,
) -> bool:
    """Whether all tests pass with this body."""
    changed = {source.path: with_body(source, function, body)}
    done = run_tests(sandbox, repository, tree, tests, changed, SOME_TESTS, stop_at_failure=True)
    return done.passed.issuperset(tests)


def tasks_of(
    repository: Repository, sources: Mapping[str, SourceFile], drawn: Iterable[Drawn]
) -> Iterator[FunctionTask]:
    """The tasks of drawn functions, numbered in their order."""
    n_repeats = Counter(line.strip() for source in sources.values() for line in source.lines if line.strip())
    for number, each in enumerate(drawn):
        function, source = each.function, sources[each.function.path]
        truth = "\n".join(source.lines[function.start : function.end])
        task = make_task(f"{repository.name}/{KIND}/{number}", source, function.start, truth, n_repeats)
        yield FunctionTask(task, function, each.tests)


def write_tasks(folder: Path, repository: Repository, tasks: Sequence[FunctionTask]) -> Path:
    """A file of JSON lines: a note on the source and its licence, then one line a task."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = repository.archive
    note = {
        "source": f"{archive.requirement}, {archive.filename}, SHA-256 {archive.sha256}",
        "licence": f"{repository.licence}, as the archive says; the bodies below are its authors'",
        "rules": (__doc__ or "").splitlines()[0],
        "seed": SEED,
    }
    target = folder / f"{repository.name}.jsonl"
    lines = [json.dumps(each, ensure_ascii=False, sort_keys=True) for each in (note, *(task.record for task in tasks))]
    target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    return target
