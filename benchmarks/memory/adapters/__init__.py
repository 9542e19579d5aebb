"""Readers of published data sets, which validate the published form, and the option `--data`."""

from __future__ import annotations

from argparse import Action, ArgumentError, ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
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

__all__ = ["ADAPTERS", "BadData", "DataOption", "read_samples"]

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
        raise BadData(f"{path} holds no sample. Give one JSON object a line, or a JSON list of objects.")
    first: dict[str, int] = {}
    for number, sample in enumerate(samples):
        if first.setdefault(sample.id, number) != number:
            raise BadData(f"{path}: samples {first[sample.id]} and {number} are both called {sample.id!r}. Rename one.")
    return samples


class DataOption(Action):
    """`--data FORM FILE` as a pair of the form and a path."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: object, option_string: str | None = None
    ) -> None:
        assert isinstance(values, Sequence)
        form, path = values
        if form not in ADAPTERS:
            raise ArgumentError(self, f"give one of {', '.join(ADAPTERS)}, not {form}")
        setattr(namespace, self.dest, (form, Path(path)))
