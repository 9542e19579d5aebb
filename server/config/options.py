"""The configuration, said in the words of the rooms that it configures.

Owns the translation. Knows no file: configuration has been read and checked before.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from ...codegraph import Weights
from ...llm import ModelConfig
from ...retrieval import RetrievalOptions, RetrievalSettings
from ...version import __version__
from ..models.budget import prompt_ms
from ..workspace.analysis import ANALYSIS_VERSION
from ..workspace.snapshot import STORED_CLASSES
from ..workspace.store import Store
from . import Config, ModelOptions


def index_settings(config: Config, name: str) -> RetrievalSettings:
    """What the index of a folder called `name` is built with."""
    relations = config.retrieval.relations
    return RetrievalSettings(
        name=name, weights=Weights(**{f.name: getattr(relations, f.name) for f in fields(Weights)})
    )


def retrieval_options(config: Config) -> RetrievalOptions:
    """What a query ranks by."""
    ranking = config.retrieval
    return RetrievalOptions(
        strategy=ranking.strategy,
        k=ranking.k,
        alpha=ranking.alpha,
        include_self=ranking.include_self,
        query_lines=ranking.query_lines,
        cutoff=ranking.relations.cut_off,
    )


def model_configs(config: Config) -> tuple[ModelConfig, ...]:
    """The models to ask before the workspace model, in order. The list ends where the workspace model stands in it."""
    wanted = []
    for options in config.model:
        if options.backend in ("workspace", "none"):
            break
        wanted.append(_model_config(options, config.completion.target_ms))
    return tuple(wanted)


def uses_workspace_model(config: Config) -> bool:
    """Whether the workspace model answers when no other does; only `backend = "none"` says no."""
    return all(options.backend != "none" for options in config.model)


def kept_indexes(config: Config) -> Store:
    """Where indexes are kept between starts."""
    directory = Path(config.cache_dir).expanduser() if config.cache_dir else None
    return Store(STORED_CLASSES, _analysis_stamp(), directory, config.cache_limit_mb * 1_000_000)


def _analysis_stamp() -> str:
    """What an index depends on besides the files: another analysis, or classes of another make, need another index."""
    layout = [(kind.__qualname__, sorted(getattr(kind, "__slots__", ()))) for kind in STORED_CLASSES]
    return f"{__version__} {ANALYSIS_VERSION} {layout}"


def _model_config(options: ModelOptions, target_ms: int) -> ModelConfig:
    milliseconds = {"connect_timeout_ms": "connect_timeout_s", "timeout_ms": "read_timeout_s"}
    same = {f.name: getattr(options, f.name) for f in fields(options) if f.name not in milliseconds}
    seconds = {name: getattr(options, option) / 1e3 for option, name in milliseconds.items()}
    same["prompt_ms"] = options.prompt_ms or prompt_ms(target_ms)
    return ModelConfig(**same, **seconds)
