"""The work of a run in pieces, and three ways to have it done: here, in processes, on a Ray cluster.

Owns what a piece of work says, so that any process that sees the same folders can do it, and what a process keeps
between two pieces: the last repository and the open model. Knows no figure and no file of results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ...llm import CodeModel, open_model
from ...llm.installation import install_command
from ...llm.local_model import LocalModel
from ...llm.mixture import MixedModel
from ...server.config import Config, ModelOptions
from ...server.model_spelling import spelled_model
from ...server.outcome import UserError
from ...server.settings import model_configs
from ..repoeval.sources import read_sources
from ..repoeval.tasks import Task
from .answering import Repository, Row, answer
from .settings import Setting

_MIXTURE = "mixture="

NEVER_MS = 600_000
"""A prompt may take this long: in a benchmark of quality all machines read the same prompts."""


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """A model as `--model` spells it, with its context.

    "workspace" is the repository's own; "mixture=DIRECTORY" is that and the ONNX model in the directory together.
    """

    spelling: str
    context_tokens: int

    @property
    def is_mixture(self) -> bool:
        return self.spelling.startswith(_MIXTURE)

    @property
    def table(self) -> Mapping[str, Any] | None:
        """The settings of the model that is opened; None for a spelling that is none."""
        neural = f"onnx={self.spelling.removeprefix(_MIXTURE)}"
        return spelled_model(neural if self.is_mixture else self.spelling)


@dataclass(frozen=True, slots=True)
class Work:
    """One task, in all settings that it lacks. Every node of a cluster must see `tree` and the model's files."""

    repo: str
    tree: Path
    task: Task
    settings: tuple[Setting, ...]
    model: ModelAsked
    suffix: bool


def do(work: Work) -> list[Row]:
    """The rows of one piece of work. Raises ModelError."""
    repository, model = _repository(work.repo, work.tree), open_asked(work.model)
    if work.model.is_mixture:
        assert isinstance(model, LocalModel)
        model = MixedModel(repository.snapshot.model, model)
    return [answer(repository, work.task, setting, model, suffix=work.suffix) for setting in work.settings]


Way = Callable[[Iterable[Work]], Iterator[list[Row]]]


def here(pieces: Iterable[Work]) -> Iterator[list[Row]]:
    """One after the other, in this process."""
    return map(do, pieces)


def in_processes(n_processes: int) -> Way:
    """On this machine; each process opens the model for itself."""

    def run(pieces: Iterable[Work]) -> Iterator[list[Row]]:
        # Not forked: an engine's threads would be missing in a copy of this process.
        with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
            for done in as_completed([pool.submit(do, piece) for piece in pieces]):
                yield done.result()

    return run


def on_ray(address: str) -> Way:
    """On a Ray cluster, whose nodes have Weft installed and see the same folders. "local" starts one on this machine.

    Raises UserError when Ray is not installed, and while running when no cluster answers.
    """
    try:
        ray = import_module("ray")
    except ImportError:
        raise UserError(f"--ray needs Ray. Run: {install_command('ray')}") from None

    def run(pieces: Iterable[Work]) -> Iterator[list[Row]]:
        try:
            ray.init(address=address)
        except ConnectionError as error:
            raise UserError(f"no Ray cluster at {address}: {error}. Start one with `ray start --head`.") from error
        try:
            remote = ray.remote(do)
            waiting = [remote.remote(piece) for piece in pieces]
            while waiting:
                (done,), waiting = ray.wait(waiting, num_returns=1)
                yield ray.get(done)
        finally:
            ray.shutdown()

    return run


@lru_cache(maxsize=1)
def _repository(repo: str, tree: Path) -> Repository:
    return Repository.of(repo, read_sources(tree))


@lru_cache(maxsize=1)
def open_asked(asked: ModelAsked) -> CodeModel | None:
    """The open model, of a mixture the neural one; None for the repository's own. Raises ModelError."""
    table = asked.table
    assert table is not None, asked.spelling
    options = replace(ModelOptions(), **table, context_tokens=asked.context_tokens, prompt_ms=NEVER_MS)
    configs = model_configs(replace(Config(), model=(options,)))
    return open_model(configs[0]) if configs else None
