"""The checkouts that a benchmark reads: their language, their sources and manifests, and their tasks.

Owns the choice between pinned archives, pinned commits and the folders of `--trees`. Knows no retrieval and no metric.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .archives import ARCHIVES, COMMITS, PINNED, ArchiveError, checkout, checkout_commit
from .labels import labelled_calls
from .sources import SourceFile, read_manifests, read_sources
from .task_languages import PYTHON, TASK_LANGUAGES, TaskLanguage, majority_language
from .tasks import Task, build_tasks


@dataclass(frozen=True, slots=True)
class Checkout:
    """One repository on disk."""

    repo: str
    tree: Path
    language: TaskLanguage


@dataclass(frozen=True, slots=True)
class CheckoutFiles:
    """The files of a checkout that a benchmark reads. Baselines search `sources` alone."""

    sources: Mapping[str, SourceFile]
    manifests: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, checkout: Checkout) -> CheckoutFiles:
        return cls(read_sources(checkout.tree, checkout.language), read_manifests(checkout.tree, checkout.language))

    @property
    def texts(self) -> dict[str, str]:
        """Text of all files by path, manifests last."""
        return {path: source.text for path, source in self.sources.items()} | dict(self.manifests)


def tasks_of(checkout: Checkout, files: CheckoutFiles, work: Path) -> list[Task]:
    """All tasks of a checkout. Labels of calls are stored in `work`. Raises LabelError."""
    if checkout.language == PYTHON:
        return build_tasks(files.sources, checkout.repo)
    calls = labelled_calls(checkout.language, checkout.tree, files.sources, files.manifests, work)
    return build_tasks(files.sources, checkout.repo, calls=calls)


def resolutions(tasks: list[Task]) -> dict[str, int]:
    """Number of API tasks by how their label was found, most frequent first."""
    return dict(Counter(task.resolution or "" for task in tasks if task.kind == "api").most_common())


def checkouts(options: argparse.Namespace) -> Iterator[Checkout]:
    """The checkouts that `trees`, `work`, `repos` and `language` of the options ask for. Raises ArchiveError.

    Without `trees` these are the Python archives, or the pinned commits of `language`.
    """
    language = TASK_LANGUAGES.get(options.language or "")
    if options.trees:
        found = [folder.name for folder in sorted(options.trees.iterdir()) if folder.is_dir()]
    elif language in (None, PYTHON):
        found = [archive.repo for archive in ARCHIVES]
    else:
        found = [commit.repo for commit in COMMITS.values() if commit.language == language.name]
    wanted = [repo for repo in found if not options.repos or any(part in repo for part in options.repos)]
    if not wanted:
        raise ArchiveError(f"No repository name contains any of {options.repos}. Choose one of {', '.join(found)}.")
    for repo in wanted:
        if options.trees:
            tree = options.trees / repo
        else:
            tree = (
                checkout_commit(COMMITS[repo], options.work)
                if repo in COMMITS
                else checkout(PINNED[repo], options.work)
            )
        yield Checkout(repo, tree, language or (majority_language(tree) if options.trees else PYTHON))
