"""What other rooms derive from the settings: the models to try, the settings of an index, and where it is stored.

Knows no file: the settings are loaded and checked before.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...llm import ModelConfig
from ...retrieval import RetrievalSettings
from ...retrieval.static_vectors import table_identity
from ...version import __version__
from ..base.base import Base
from ..models.budget import prompt_ms
from ..workspace.analysis import ANALYSIS_VERSION
from ..workspace.analysis_store import AnalysisStore
from ..workspace.snapshot import STORED_CLASSES
from ..workspace.store import Store, cache_folder
from . import Config


def index_settings(config: Config, name: str) -> RetrievalSettings:
    """The settings of the index of a folder called `name`."""
    return RetrievalSettings(name=name, weights=config.relations)


def model_configs(config: Config) -> tuple[ModelConfig, ...]:
    """The models to try before the workspace model, in order. The list ends at `workspace` or `none`."""
    configs = []
    for model in config.model:
        if model.backend in ("workspace", "none"):
            break
        configs.append(replace(model, prompt_ms=model.prompt_ms or prompt_ms(config.completion.target_ms)))
    return tuple(configs)


def uses_workspace_model(config: Config) -> bool:
    """Whether the workspace model is the last fallback; only `backend = "none"` disables it."""
    return all(model.backend != "none" for model in config.model)


def kept_indexes(config: Config) -> Store:
    """The store of cached indexes."""
    directory = Path(config.cache_dir).expanduser() if config.cache_dir else None
    return Store(STORED_CLASSES, _analysis_stamp(), directory, config.cache_limit_mb * 1_000_000)


def kept_analyses(config: Config) -> AnalysisStore | None:
    """The store of file analyses, with the base; None if it may have no size."""
    if not config.analysis_cache_mb:
        return None
    limit_bytes = config.analysis_cache_mb * 1_000_000
    return AnalysisStore(_cache(config) / "analyses", analysis_version(), limit_bytes, base_of(config))


def base_of(config: Config) -> Base | None:
    """The export that an index begins from; None if the settings name none."""
    if not config.base:
        return None
    return Base(config.base, analysis_version(), _cache(config) / "bases", config.analysis_cache_mb * 1_000_000)


def analysis_version() -> str:
    """The version of the analysis of a file: analyses of another one are not read."""
    return f"{__version__} {ANALYSIS_VERSION} {table_identity()}"


def _cache(config: Config) -> Path:
    return Path(config.cache_dir).expanduser() if config.cache_dir else cache_folder()


def _analysis_stamp() -> str:
    """The version of the analysis, the table of static vectors and the layout of the stored classes.

    An index with another stamp is built anew.
    """
    layout = [(kind.__qualname__, sorted(getattr(kind, "__slots__", ()))) for kind in STORED_CLASSES]
    return f"{analysis_version()} {layout}"
