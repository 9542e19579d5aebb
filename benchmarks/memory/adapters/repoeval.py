"""RepoEval: `prompt` and `metadata` a line, and the repositories beside the file, where there are any."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from ....memory import Item, Question
from ..values import Sample
from .checked import read_records


def repoeval(path: Path) -> Iterator[Sample]:
    """The question is the code before the target, the items are the other files of `repositories/NAME`."""
    for number, record in enumerate(read_records(path)):
        metadata = record.record("metadata")
        place = metadata.texts("fpath_tuple")
        repo, target = place[0], "/".join(place[1:])
        files = _files(path.parent / "repositories" / repo)
        yield Sample(
            metadata.text("task_id", f"{repo}/{number}"),
            "repoeval",
            tuple(item for item in files if item.source != target),
            Question(record.text("prompt"), task="completion"),
            (metadata.text("ground_truth"),),
            metric="completion",
        )


@lru_cache(maxsize=2)  # samples of a repository follow each other
def _files(folder: Path) -> tuple[Item, ...]:
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else []
    return tuple(Item(path.relative_to(folder).as_posix(), path.read_text("utf-8", "replace")) for path in paths)
