"""Planted facts: what they say, that evaluation shares nothing with training, and that a seed gives the same."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from random import Random

import pytest
from weft.benchmarks.beacon.planted import (
    EVALUATION,
    TRAINING,
    Density,
    Lexicon,
    host_texts,
    joined,
    plant,
    samples_of,
)
from weft.errors import InvalidArgument
from weft.llm.training.sources import Document

HOST = "\n".join(f"line {number} of the host" for number in range(200))
BOTH = pytest.mark.parametrize("lexicon", [TRAINING, EVALUATION], ids=["training", "evaluation"])


def planted(lexicon: Lexicon = EVALUATION, seed: int = 0, density: Density | None = None):
    return plant(Random(seed), HOST, lexicon, density or Density(6, 4))


def facts_of(text: str) -> list[str]:
    return [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]


@BOTH
@pytest.mark.parametrize("seed", range(5))
def test_every_fact_is_stated_once_and_every_other_line_is_the_host(lexicon: Lexicon, seed: int):
    text = planted(lexicon, seed)
    facts = facts_of(text.text)
    assert len(facts) == len(set(facts)) == 2 * 6 + 4
    assert [line for line in text.text.splitlines() if not line.startswith("# ")] == HOST.splitlines()
    assert {clue for asked in text.questions for clue in asked.clues} == set(facts)
    assert all(facts.count(clue) == 1 for asked in text.questions for clue in asked.clues)


@BOTH
def test_a_question_gives_its_value_away_nowhere_and_its_last_clue_states_it(lexicon: Lexicon):
    for asked in planted(lexicon).questions:
        assert asked.value in asked.clues[-1]
        assert asked.value not in asked.question and asked.value not in asked.lead
        assert "{" not in asked.question + asked.lead + "".join(asked.clues)


def test_a_bridged_question_names_no_person_and_needs_two_sentences():
    asked = planted().questions
    names = re.findall(r"# For years (\w+ \w+) has|# (\w+ \w+) serves", planted().text)
    people = {one or other for one, other in names}
    bridged = [question for question in asked if question.bridged]
    assert len(bridged) == len(people) == 4 and len(asked) == 12
    for question in bridged:
        bridge, stated = question.clues
        (name,) = [name for name in people if name in bridge]
        assert name in stated and name not in question.question + question.lead
    assert all(len(question.clues) == 1 for question in asked if not question.bridged)


def test_a_seed_gives_the_same_text_and_another_one_differs():
    assert planted(seed=3) == planted(seed=3) != planted(seed=4)


def test_training_and_evaluation_share_no_sentence_name_or_value():
    for name in ("bridges", "roles", "projects", "first_names", "last_names", "towns", "places", "pairs", "numbers"):
        one, other = (set(getattr(lexicon, name)) for lexicon in (TRAINING, EVALUATION))
        assert one and other and not one & other, name
    sentences = [
        {text for relation in lexicon.relations for text in (*relation.statements, *relation.questions, relation.lead)}
        for lexicon in (TRAINING, EVALUATION)
    ]
    assert not sentences[0] & sentences[1]


@BOTH
def test_no_sentence_is_another_one_with_other_words_for_its_fields(lexicon: Lexicon):
    """Statements of different relations stay apart, so that a question has one answer."""
    patterns = [
        re.sub(r"\\{\w+\\}", ".+", re.escape(statement)) for of in lexicon.relations for statement in of.statements
    ]
    for asked in planted(lexicon).questions:
        assert sum(bool(re.fullmatch(pattern, asked.clues[-1])) for pattern in patterns) == 1


def test_samples_are_those_of_stage_2_with_the_whole_answer_as_a_sentence():
    text = planted(TRAINING)
    samples = list(samples_of(text))
    assert {sample.context for sample in samples} == {text.text}
    for sample, asked in zip(samples, text.questions, strict=True):
        assert (sample.question, sample.clues) == (asked.question, asked.clues)
        assert sample.answer == f"{asked.lead} {asked.value}."


def test_more_roles_than_people_are_refused():
    with pytest.raises(InvalidArgument, match="Ask for fewer"):
        planted(density=Density(2, 3))


def test_hosts_are_neighbouring_files_up_to_a_whole_line():
    documents = [Document(package, path, f"{package} {path}\n" * 3) for package in "ba" for path in ("2", "1")]
    host = next(islice(host_texts(documents, Random(0)), 1))
    names = [(document.package, document.path) for document in host]
    start = names.index(("a", "1"))
    assert [*names[start:], *names[:start]] == [("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")]
    text = joined(host, 40)
    assert len(text) <= 41 and text.endswith("\n") and text.startswith(f"# {names[0][0]}/{names[0][1]}\n")
    assert joined(host, 10_000).count("# ") == 4


def test_a_host_of_one_line_can_hold_facts():
    text = plant(Random(0), "only", EVALUATION, replace(Density(), n_people=1, n_roles=1))
    assert len(facts_of(text.text)) == 3 and "only" in text.text.splitlines()
