"""Data sets as files that people have, each read and checked by the form that its makers publish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ..values import Sample
from .babilong import babilong
from .checked import BadData
from .generic import generic
from .hotpotqa import hotpotqa
from .longbench import longbench
from .mtbench_plus import mtbench_plus
from .quality import quality
from .repoeval import repoeval

__all__ = ["ADAPTERS", "BadData", "read_samples"]

ADAPTERS: dict[str, Callable[[Path], Iterator[Sample]]] = {
    "longbench": longbench,
    "quality": quality,
    "hotpotqa": hotpotqa,
    "mtbench+": mtbench_plus,
    "babilong": babilong,
    "repoeval": repoeval,
    "generic": generic,
}


def read_samples(form: str, path: Path) -> list[Sample]:
    """All samples of a file. Raises BadData, which names the file, the line, the field and what was expected."""
    samples = list(ADAPTERS[form](path))
    if not samples:
        raise BadData(f"{path} holds no sample. Expected one JSON object a line, or a JSON list of objects.")
    first: dict[str, int] = {}
    for number, sample in enumerate(samples):
        if first.setdefault(sample.id, number) != number:
            raise BadData(f"{path}: samples {first[sample.id]} and {number} are both called {sample.id!r}.")
    return samples
