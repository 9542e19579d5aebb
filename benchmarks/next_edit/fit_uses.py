"""Fit the probability that a replaced name is replaced at its next places, too.

Owns the logistic regression of `server/next_edit/substituted.py` on the repositories for fitting: after each hunk of
their commits, the features of each name that it replaced, and whether a later hunk is at one of the next places.
Prints the weights, and how often each probability was right, with each repository left out in turn.

    python -m weft.benchmarks.next_edit.fit_uses --clones DIR --max-commits 20
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import astuple, dataclass, fields, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from ...retrieval.fragments import normalise
from ...server.config import Config
from ...server.next_edit.substituted import Features, Following, followings
from ...server.workspace.workspace import Workspace
from ..command import WORK, say
from ..histories import files_at
from ..typed.commits import FOR_FITTING, TypedHistory, clone_of
from ..typed.replay import Tree
from .commits import HISTORIES, is_edited_by_hand, replayed_commits
from .logistic import Floats, logistic, probabilities
from .offers import Offer
from .replay import replay
from .suggesters import Moment, WeftSuggester

MOST_OF_COMMIT = 8.0
"""The weight of all examples of a commit, so that a few large commits do not decide."""

BOUNDS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)


@dataclass(frozen=True, slots=True)
class Example:
    """A replaced name after a hunk, and whether a later hunk is at one of its next places."""

    repo: str
    commit: str
    features: tuple[float, ...]
    is_right: bool


class FollowingSuggester(WeftSuggester):
    """The next places of replaced names, with their features for each request."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        super().__init__(workspace, folder)
        self.asked: list[list[Following]] = []

    def offers(self, moment: Moment) -> Sequence[Offer]:
        path = self._folder / moment.step.path
        situation = self._workspace.next_edits_of.situation(path, moment.line, moment.character)
        self.asked.append([] if situation is None else list(followings(situation)))
        return [
            Offer("repeated", place.path, (place.line, place.start), (place.line, place.end), each.replacement.new)
            for each in self.asked[-1]
            for place in each.places
        ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fit_uses", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--clones", type=Path, required=True, metavar="DIR", help="folder of the clones")
    parser.add_argument("--work", type=Path, default=WORK, metavar="DIR", help="folder for trees and indexes")
    parser.add_argument("--max-commits", type=int, default=20, metavar="N", help="of each repository (20)")
    options = parser.parse_args(arguments)
    examples: list[Example] = []
    for history in HISTORIES:
        if history.purpose == FOR_FITTING:
            examples += _examples(options, history)
            say(f"{history.name}: {len(examples)} examples so far")
    print(report(examples))
    return 0


def _examples(options: argparse.Namespace, history: TypedHistory) -> Iterator[Example]:
    repository = clone_of(history, options.clones)
    folder = options.work / "next-edit" / history.folder_name
    tree = Tree(folder, repository)
    config = replace(Config(), cache_dir=str(options.work / "next-edit-cache"))
    is_source = partial(is_edited_by_hand, text="", extensions=history.extensions)
    for commit in replayed_commits(repository, history, options.max_commits):
        parent = f"{commit.commit}^"
        files = {path: normalise(text) for path, text in files_at(repository, parent, is_source)}
        tree.go_to(parent)
        with closing(Workspace([folder], config)) as workspace:
            workspace.index()
            suggester = FollowingSuggester(workspace, folder)
            replayed = replay(commit, "forward", suggester, files.get)
        for asked, made in zip(replayed.asked, suggester.asked, strict=False):
            judged = iter(asked.offers)
            for each in made:
                right = [next(judged).hunk is not None for _ in each.places]
                yield Example(history.name, commit.commit, astuple(each.features), any(right))


def report(examples: Sequence[Example]) -> str:
    """The weights of all examples, and a table of probabilities of those that the weights were not fitted on."""
    x = np.array([(1.0, *each.features) for each in examples])
    right = np.array([each.is_right for each in examples], float)
    weights = _weights(examples)
    repos = np.array([each.repo for each in examples])
    estimated = np.zeros(len(examples))
    for repo in sorted(set(repos)):
        others = repos != repo
        estimated[~others] = probabilities(x[~others], logistic(x[others], right[others], weights[others]))
    names = ("BIAS", *(field.name for field in fields(Features)))
    lines = [f"{name:14}{value:7.2f}" for name, value in zip(names, logistic(x, right, weights), strict=True)]
    lines += ["", f"{len(examples)} examples, {right.mean():.2f} right", "estimated   n  mean  right"]
    for low, high in pairwise(BOUNDS):
        chosen = (estimated >= low) & (estimated < high)
        if chosen.any():
            mean, share = (np.average(each[chosen], weights=weights[chosen]) for each in (estimated, right))
            lines.append(f"{low:.1f}-{min(high, 1):.1f} {chosen.sum():6d}  {mean:.2f}   {share:.2f}")
    return "\n".join(lines)


def _weights(examples: Sequence[Example]) -> Floats:
    commits = [each.commit for each in examples]
    counts = {commit: commits.count(commit) for commit in set(commits)}
    return np.array([min(1.0, MOST_OF_COMMIT / counts[commit]) for commit in commits])


if __name__ == "__main__":
    raise SystemExit(main())
