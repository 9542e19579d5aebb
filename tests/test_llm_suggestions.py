"""Suggestions of the code graph in the workspace model: progress along a line, ranges, roles, and the text written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np
import pytest
from weft.codegraph import suggestions
from weft.llm import protocol
from weft.llm.protocol import (
    SUGGESTION_SOURCES,
    Cancel,
    CandidateSource,
    CompletionRequest,
    MatchSupport,
    NameRole,
    ScopeKind,
    SuggestedRange,
    Suggestion,
)
from weft.llm.workspace_model import features, model
from weft.llm.workspace_model.features import FEATURES
from weft.llm.workspace_model.model import WorkspaceModel, tokenise_document
from weft.llm.workspace_model.ngram_index import Vocabulary
from weft.llm.workspace_model.scorer import CandidateScorer
from weft.llm.workspace_model.suggestions import (
    N_SUGGESTIONS,
    SOURCE_NUMBERS,
    ActiveSuggestion,
    continued,
    suggested_ranges,
    suggestions_after,
)
from weft.server.completion.values import Written


@dataclass
class Source(CandidateSource):
    """A source with suggestions by the text written so far, roles by name, and a record of what it is asked."""

    by_text: dict[str, list[Suggestion]]
    roles: dict[str, NameRole] = field(default_factory=dict)
    in_scope: tuple[str, ...] = ()
    asked: list[str] = field(default_factory=list)
    lines: set[str | None] = field(default_factory=set)  # whose names it is asked for
    open_brackets = ""

    def suggestions(self, written: str) -> Sequence[Suggestion]:
        self.asked.append(written)
        return self.by_text.get(written, [])

    def role_of(self, name: str, line: str | None) -> NameRole:
        self.lines.add(line)
        return self.roles.get(name, "")

    def scope_kind(self, line: str | None) -> ScopeKind:
        return ""

    def names(self) -> Sequence[str]:
        return self.in_scope


def suggest(written: str, *texts: str, source: str = "member") -> Source:
    return Source({written: [Suggestion(source, text, 1.0 / len(texts)) for text in texts]})


# Progress along a line.


def after(source: Source, written: str, vocabulary: Vocabulary) -> list[ActiveSuggestion]:
    return suggestions_after(source, written, vocabulary)


def token(vocabulary: Vocabulary, text: str) -> int:
    (number,) = vocabulary.learn_text(text).tolist()
    return number


def test_a_suggestion_goes_on_while_the_line_agrees():
    vocabulary = Vocabulary()
    (found,) = after(suggest("shop.", "pay(amount"), "shop.", vocabulary)
    assert (found.source, found.n_agreed, len(found.tokens)) == (SOURCE_NUMBERS["member"], 0, 3)
    (found,) = continued([found], token(vocabulary, "pay"))
    assert (found.n_agreed, found.tokens) == (1, (token(vocabulary, "("), token(vocabulary, "amount")))
    assert continued([found], token(vocabulary, ")")) == ()
    (found,) = continued([found], token(vocabulary, "("))
    assert continued([found], token(vocabulary, "amount")) == ()  # it says nothing about what follows


def test_a_suggestion_that_ends_the_line_stays_up_to_the_end():
    vocabulary = Vocabulary()
    (found,) = after(suggest("", "pay()\n", source="definition"), "", vocabulary)
    for text in ("pay", "("):
        (found,) = continued([found], token(vocabulary, text))
    (found,) = continued([found], token(vocabulary, ")"))
    assert (found.tokens, found.ends_line, found.n_agreed) == ((), True, 3)
    assert continued([found], token(vocabulary, "x")) == ()


def test_a_line_break_alone_suggests_the_end():
    (found,) = after(suggest("x", "\n"), "x", Vocabulary())
    assert (found.tokens, found.ends_line) == ((), True)


def test_the_number_of_suggestions_is_limited():
    many = suggest("x", *(f"name_{number}" for number in range(2 * N_SUGGESTIONS)))
    assert len(after(many, "x", Vocabulary())) == N_SUGGESTIONS


# Ranges.


def ranges(source: Source, before: str, text: str) -> list[tuple[str, str]]:
    """The suggested parts of a text behind `before`, and their sources."""
    vocabulary = Vocabulary()
    tokens = vocabulary.learn_text(text).tolist()
    found = suggested_ranges(lambda written: after(source, written, vocabulary), f"\n{before}", tokens, vocabulary)
    return [(text[each.start : each.end], each.source) for each in found]


def test_ranges_are_the_tokens_that_are_suggested():
    source = Source(
        {
            "x = shop.": [Suggestion("member", "pay(", 1.0)],
            "x = shop.pay(": [Suggestion("argument", "amount", 0.4), Suggestion("arguments", "amount, rate)", 0.6)],
        }
    )
    assert ranges(source, "x = shop.", "pay(amount, tax)") == [
        ("pay", "member"),
        ("(", "member"),
        ("amount", "arguments"),  # of suggestions of equal length the one with the larger weight
        (",", "arguments"),
    ]


def test_a_longer_agreement_wins():
    source = Source(
        {
            "": [Suggestion("definition", "pay(a", 0.1)],
            "pay(": [Suggestion("argument", "a", 1.0)],
        }
    )
    assert ranges(source, "", "pay(a")[-1] == ("a", "definition")


def test_a_text_without_suggestions_has_no_ranges():
    assert ranges(Source({}), "x = ", "shop.pay()") == []


def test_support_behind_a_typed_part():
    parts = (SuggestedRange(0, 4, "member"), SuggestedRange(4, 10, "argument"), SuggestedRange(12, 14, "argument"))
    support = MatchSupport(True, 1.0, 2, 0, 3.0, 1.0, parts)
    assert support.after(0) == support
    assert support.after(6).suggested == (SuggestedRange(0, 4, "argument"), SuggestedRange(6, 8, "argument"))
    assert support.after(10).suggested == (SuggestedRange(2, 4, "argument"),)
    assert support.after(99) == support._replace(suggested=())
    assert support.after(2).after(4) == support.after(6)


def test_a_text_that_is_typed_into_keeps_its_suggested_parts():
    parts = (SuggestedRange(0, 4, "member"), SuggestedRange(4, 10, "argument"))
    written = Written((("pay(", 0.5), ("amount", 0.5), (")", 0.9)), support=MatchSupport(False, 0, 0, -1, 0, 0, parts))
    left = written.after(6)
    assert left.support is not None
    assert [left.text[each.start : each.end] for each in left.support.suggested] == ["ount"]
    assert written.after(0).support == written.support


def test_a_replaced_name_moves_the_suggested_parts_behind_it():
    parts = (SuggestedRange(0, 4, "member"), SuggestedRange(4, 6, "argument"), SuggestedRange(8, 9, "argument"))
    written = Written((("pay(", 0.5), ("ab", 0.5), (", c)", 0.9)), support=MatchSupport(False, 0, 0, -1, 0, 0, parts))
    fixed = written.replaced(4, 6, "amount")
    assert (fixed.text, fixed.support is not None) == ("pay(amount, c)", True)
    assert [fixed.text[start:end] for start, end, _ in fixed.support.suggested] == ["pay(", "c"]
    inside = written.replaced(1, 2, "")
    assert [inside.text[start:end] for start, end, _ in inside.support.suggested] == ["p", "y(", "ab", "c"]


# The text written.


@pytest.fixture
def trust(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Use a scorer with these weights of features; "any other token" has 1."""

    def use(**weights: float) -> None:
        scorer = _linear({"any other token": 1.0} | {name.replace("_", " "): each for name, each in weights.items()})
        monkeypatch.setattr(model, "fitted_scorer", lambda: scorer)

    return use


def _linear(weights: dict[str, float]) -> CandidateScorer:
    assert weights.keys() <= set(FEATURES)
    none = np.zeros(0)
    linear = np.array([weights.get(name, 0.0) for name in FEATURES])
    return CandidateScorer(linear, np.zeros((len(FEATURES), 0)), none, none)


OTHER = "def use(thing):\n    thing.run(1)\n    value = thing\n    return value\n"


def request(prefix: str, source: Source | None, **options: object) -> CompletionRequest:
    return CompletionRequest("here.py", "python", prefix, "", candidate_source=source, **options)  # type: ignore[arg-type]


def pieces(asked: CompletionRequest) -> list:
    workspace_model = WorkspaceModel.build([tokenise_document("lib.py", OTHER)], threshold=0.0)
    return list(workspace_model.stream(asked, Cancel()))


def text(asked: CompletionRequest) -> str:
    return "".join(piece.text for piece in pieces(asked))


def test_a_suggestion_is_written_when_the_weights_trust_it(trust):
    trust(suggested_member=2.0, suggested_further=2.0, suggested_end=2.0)
    source = suggest("    shop.", "quite_new_name(zebra)\n")
    assert text(request("def f(shop):\n    shop.", source)) == "quite_new_name(zebra)"
    assert text(request("def f(shop):\n    shop.", None)) != "quite_new_name(zebra)"


def test_a_suggestion_is_not_written_when_the_weights_do_not_trust_it(trust):
    trust(suggested_member=-2.0)
    assert "quite" not in text(request("def f(shop):\n    shop.", suggest("    shop.", "quite_new_name\n")))


def test_the_support_names_the_suggested_parts(trust):
    trust(suggested_member=2.0, suggested_further=2.0, suggested_end=2.0)
    first, *_ = pieces(request("def f(shop):\n    shop.", suggest("    shop.", "quite_new(zebra)\n")))
    assert first.support is not None
    whole = "quite_new(zebra)"
    assert [whole[part.start : part.end] for part in first.support.suggested] == ["quite_new", "(", "zebra", ")"]
    assert {part.source for part in first.support.suggested} == {"member"}


def test_the_typed_beginning_of_a_word_filters_suggestions(trust):
    trust(suggested_member=2.0, suggested_further=2.0, suggested_end=2.0)
    source = suggest("    shop.", "quite_new_name\n", "zebra_of_shop\n")
    assert text(request("def f(shop):\n    shop.ze", source)) == "bra_of_shop"
    assert text(request("def f(shop):\n    shop.qu", source)) == "ite_new_name"
    first, *_ = pieces(request("def f(shop):\n    shop.ze", source))
    assert first.support is not None
    assert first.support.suggested == (SuggestedRange(0, len("bra_of_shop"), "member"),)
    assert source.asked.count("    shop.ze") == 0  # the source is asked where the word begins


def test_further_lines_ask_with_the_lines_above(trust):
    trust(suggested_definition=2.0, suggested_further=2.0, suggested_end=2.0, any_other_token=-4.0)
    source = Source(
        {
            "    ": [Suggestion("definition", "alpha = 1\n", 1.0)],
            "    alpha = 1\n    ": [Suggestion("definition", "beta = 2\n", 1.0)],
        }
    )
    found = text(request("def f(shop):\n    ", source, single_line=False, max_new_tokens=40))
    assert found.startswith("alpha = 1\n    beta = 2")


def test_names_in_scope_are_candidates(trust):
    trust(**{"name:_unused_local": 9.0}, ends_the_line=4.0)
    source = Source({}, {"wombat": "unused local"}, ("wombat",))
    assert text(request("def f(shop):\n    thing = ", source)).startswith("wombat")


def test_names_are_asked_for_with_the_indentation_that_the_model_writes(trust):
    """A cursor at the start of an empty line: the line that is written is in the function above."""
    trust(**{"name:_unused_local": 9.0}, any_other_token=-4.0)
    source = Source({}, {"wombat": "unused local"}, ("wombat",))
    text(request("def f(shop):\n", source))
    assert source.lines and not any(line == "" for line in source.lines)
    assert any(line is not None and line.startswith("    ") for line in source.lines)


def test_a_source_is_asked_once_for_each_text():
    source = suggest("    shop.", "pay")
    pieces(request("def f(shop):\n    shop.", source))
    assert source.asked and len(source.asked) == len(set(source.asked))


def test_all_sources_have_a_feature():
    for name in SUGGESTION_SOURCES:
        assert f"suggested {name}" in features.FEATURES


def test_a_request_is_the_same_with_another_source():
    asked = request("x", None)
    assert asked == replace(asked, candidate_source=Source({}))


def test_the_graph_and_the_models_name_the_same_sources_and_roles():
    assert suggestions.SOURCES == protocol.SUGGESTION_SOURCES
    assert get_args(suggestions.Role) == get_args(protocol.NameRole)
    assert get_args(suggestions.values.ScopeKind) == get_args(protocol.ScopeKind)
