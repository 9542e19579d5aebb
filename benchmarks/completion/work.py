"""A run in pieces of work, and three executors: this process, a process pool, a Ray cluster.

Owns the content of a piece of work, so that any process with the same folders can do it, and the state of a process
between two pieces: the last repository and the open model. Knows no figure and no file of results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from ...errors import UserError
from ...llm.installation import install_command
from ..models import ModelSpec, open_spec
from ..repoeval.checkouts import Checkout, CheckoutFiles
from ..repoeval.task_languages import TASK_LANGUAGES
from ..repoeval.tasks import Task
from .answering import CompletionRow, Repository, answer
from .settings import Setting


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One task, in all settings that it lacks. Every node of a cluster must see `tree` and the model's files."""

    repo: str
    tree: Path
    task: Task
    settings: tuple[Setting, ...]
    model: ModelSpec
    suffix: bool


def run_item(work: WorkItem) -> list[CompletionRow]:
    """The rows of one piece of work. Raises ModelError."""
    repository, model = _repository(work.repo, work.tree, work.task.language), open_spec(work.model)
    return [answer(repository, work.task, setting, model, suffix=work.suffix) for setting in work.settings]


Executor = Callable[[Iterable[WorkItem]], Iterator[list[CompletionRow]]]


def in_this_process(pieces: Iterable[WorkItem]) -> Iterator[list[CompletionRow]]:
    """One after the other, in this process."""
    return map(run_item, pieces)


def in_processes(n_processes: int) -> Executor:
    """On this machine; each process opens the model for itself."""

    def run(pieces: Iterable[WorkItem]) -> Iterator[list[CompletionRow]]:
        # Not forked: an engine's threads would be missing in a copy of this process.
        with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
            for done in as_completed([pool.submit(run_item, piece) for piece in pieces]):
                yield done.result()

    return run


def on_ray(address: str) -> Executor:
    """On a Ray cluster, whose nodes have Weft installed and see the same folders. "local" starts one on this machine.

    Raises UserError when Ray is not installed, and while running when no cluster answers.
    """
    try:
        ray = import_module("ray")
    except ImportError:
        raise UserError(f"--ray needs Ray. Run: {install_command('ray')}") from None

    def run(pieces: Iterable[WorkItem]) -> Iterator[list[CompletionRow]]:
        try:
            ray.init(address=address)
        except ConnectionError as error:
            raise UserError(f"No Ray cluster at `{address}`: {error}. Start one with `ray start --head`.") from error
        try:
            remote = ray.remote(run_item)
            waiting = [remote.remote(piece) for piece in pieces]
            while waiting:
                (done,), waiting = ray.wait(waiting, num_returns=1)
                yield ray.get(done)
        finally:
            ray.shutdown()

    return run


@lru_cache(maxsize=1)
def _repository(repo: str, tree: Path, language: str) -> Repository:
    files = CheckoutFiles.read(Checkout(repo, tree, TASK_LANGUAGES[language]))
    return Repository.of(repo, files.sources, files.manifests)
