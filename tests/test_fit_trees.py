"""The pinned trees that weights are fitted on: in one list each, and in no report."""

import re
from itertools import combinations

import pytest
from weft.benchmarks.fit_trees import COMMITS, PACKAGES, SCORER, SCORER_HELD_OUT, TOKEN_MODEL, commits, requirements
from weft.benchmarks.memory.questions import REPOSITORIES
from weft.benchmarks.repoeval import archives
from weft.benchmarks.typed.commits import FOR_REPORTING, HISTORIES

USES = (TOKEN_MODEL, SCORER, SCORER_HELD_OUT)


def names_of(use):
    packages = {requirement.partition("==")[0].lower() for requirement in requirements(use)}
    return packages | {commit.repo.lower() for commit in commits(use)}


def test_each_use_has_its_lists():
    assert PACKAGES.keys() == COMMITS.keys() == set(USES)


@pytest.mark.parametrize("first, second", [*combinations(USES, 2)])
def test_no_tree_has_two_uses(first, second):
    assert not names_of(first) & names_of(second)


@pytest.mark.parametrize("use", USES)
def test_no_tree_is_in_a_report(use):
    reported = {commit.repo.lower() for commit in archives.COMMITS.values() if commit.use == "report"}
    reported |= {history.short_name.lower() for history in HISTORIES if history.purpose == FOR_REPORTING}
    reported |= {name.lower() for name in REPOSITORIES}
    packages = {archive.requirement.partition("==")[0].lower() for archive in archives.PINNED.values()}
    assert not names_of(use) & (reported | packages)


@pytest.mark.parametrize("use", USES)
def test_every_tree_is_pinned(use):
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", requirement) for requirement in requirements(use))
    assert all(re.fullmatch(r"[0-9a-f]{40}", commit.sha) for commit in commits(use))
