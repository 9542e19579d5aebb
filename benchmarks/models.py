"""Command-line spelling and opening of models for the benchmarks.

Owns the spelling of `--model`, and that every machine reads the same prompts. Knows no task.
"""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath

from ..llm import CodeModel, ModelConfig, ModelError, open_model
from ..server.models.model_argument import MODEL_SYNTAX, parse_model

NEVER_MS = 600_000
"""The time limit of a prompt: in a benchmark of quality all machines read the same prompts."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as `--model` spells it, with its context. "workspace" is the repository's own."""

    spelling: str
    context_tokens: int
    quantise: str = "auto"  # see ModelConfig


def model_option(*others: str) -> Callable[[str], str]:
    """The type of an option that names a model, or one of `others`."""

    def checked(spelling: str) -> str:
        if spelling not in others and parse_model(spelling) is None:
            raise ArgumentTypeError(f"`{spelling}` is not a model. Use {', '.join((*others, MODEL_SYNTAX))}.")
        return spelling

    return checked


@lru_cache(maxsize=1)
def open_spec(spec: ModelSpec) -> CodeModel | None:
    """The open model; None for the repository's own. Raises ModelError."""
    table = parse_model(spec.spelling)
    assert table is not None, spec.spelling
    limits = {"context_tokens": spec.context_tokens, "prompt_ms": NEVER_MS}
    return open_model(ModelConfig(**table, **limits, quantise=spec.quantise))  # type: ignore[arg-type]


def open_chat_model(spelling: str, context_tokens: int) -> CodeModel | None:
    """A chat model; None for "none". Raises ModelError, also for the workspace model."""
    if spelling == "none":
        return None
    model = open_spec(ModelSpec(spelling, context_tokens))
    if model is None:
        raise ModelError(f"`{spelling}` is not a chat model. Use another of {MODEL_SYNTAX}.")
    return model


def shown_name(spelling: str) -> str:
    """The name of a model without folders and addresses of one machine."""
    backend, _, where = spelling.partition("=")
    name = where.rpartition("#")[2] or where
    return f"{backend}={PurePath(name).name}" if where else PurePath(spelling).name
