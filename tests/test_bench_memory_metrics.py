"""The papers' metrics: golden values of the public packages, and values computed by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.benchmarks.memory import metrics
from weft.benchmarks.memory.metrics import METRICS, chosen, common_words, score
from weft.benchmarks.memory.values import Fact, Sample, holds, recall_of
from weft.benchmarks.similarity import common_length
from weft.memory import Evidence, Item, Question, Segment


def sample(metric, *answers, dataset="set", choices=(), question="Where?", **details):
    asked = Question(question, choices)
    return Sample("1", dataset, (Item("a", "text"),), asked, answers, metric=metric, details=details)


@pytest.mark.parametrize(
    ("prediction", "gold", "value"),
    [
        ("The cat, a dog!", "cat dog", 1.0),
        ("Paris, France", "Paris", 2 / 3),
        ("to be or not to be", "to be", 2 * 2 / 8),
        ("London", "Paris", 0.0),
        ("", "Paris", 0.0),
        ("the", "an", 0.0),
        ("it's", "its", 1.0),
    ],
)
def test_f1_counts_words_as_often_as_both_have_them(prediction, gold, value):
    assert metrics.f1(prediction, gold) == pytest.approx(value)


@pytest.mark.parametrize(
    ("prediction", "gold", "value"),
    [
        # Computed with rouge 1.0.1, whose F has 1e-8 below.
        ("the cat sat.", "a cat sat. On the mat.", 0.6666666622222223),
        ("Paris. It is in France.", "Paris is in France", 0.8888888839506174),
        ("x y y x", "x y x", 0.999999995),
        ("", "x", 0.0),
        ("x", "", 0.0),
        (".", "x", 0.0),
    ],
)
def test_rouge_l_is_that_of_the_package_that_longbench_uses(prediction, gold, value):
    assert metrics.rouge_l(prediction, gold) == pytest.approx(value, abs=1e-9)


def test_the_best_of_several_gold_answers_counts():
    assert score(sample("f1", "London", "Paris, France"), "Paris")["f1"] == pytest.approx(2 / 3)


def test_plain_rouge_l_keeps_order_and_repeats():
    assert metrics.rouge_l_plain("a b c d", "A C B D") == pytest.approx(2 * 3 / 8)
    assert metrics.rouge_l_plain("x y y x", "x y x") == pytest.approx(2 * 3 / 7)
    assert metrics.rouge_l_plain("", "") == 0.0


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_the_longest_common_subsequence_is_one_and_as_long_as_a_plain_search_says(first, second):
    def longest(i, j):
        if i == len(first) or j == len(second):
            return 0
        if first[i] == second[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    common = common_words(first, second)[::-1]
    if len(first) + len(second) < 14:
        assert len(common) == longest(0, 0)
    assert common_length(first, second) == len(common)
    for whole in (first, second):
        rest = iter(whole)
        assert all(element in rest for element in common), "a subsequence of both"


def test_chinese_is_compared_in_words_without_punctuation(monkeypatch):
    monkeypatch.setattr(metrics, "find_spec", lambda name: None)
    assert metrics.chinese_by() == "characters"
    assert metrics.f1_zh("在厨房。", "厨房") == pytest.approx(2 * 2 / 5)
    assert metrics.f1_zh("，。", "厨房") == 0.0
    assert metrics.rouge_l_zh("他在厨房", "他不在厨房") == pytest.approx(2 * 4 / 9, abs=1e-6)


def test_code_similarity_takes_the_first_line_that_is_code():
    assert metrics.code_similarity("```python\n# comment\nx = 1\ny = 2", "x = 1") == 1.0
    # fuzz.ratio("x = 12", "x = 1") of the package is 91.
    assert metrics.code_similarity("x = 12", "x = 1") == 0.91
    assert metrics.code_similarity("", "") == 0.0


def test_exact_match_strictly_and_contained():
    assert metrics.em_strict("The Kitchen.", "kitchen") == 1.0
    assert metrics.em_strict("in the kitchen", "kitchen") == 0.0
    assert metrics.em_contains("It is in the kitchen, I think", "the kitchen") == 1.0
    assert metrics.em_contains("hall", "kitchen") == 0.0


@pytest.mark.parametrize(
    ("prediction", "target", "question", "right"),
    [
        ("The kitchen.", "kitchen", "Where is Mary?", 1.0),
        ("She went from the garden to the kitchen", "kitchen", "Where is Mary?", 0.0),
        ("In the kitchen. Before, in the garden.", "kitchen", "Where is Mary?", 1.0),
        ("Before the garden it was in the kitchen", "kitchen", "Where was it before the garden?", 1.0),
        ("nowhere", "kitchen", "Where is Mary?", 0.0),
        ("KITCHEN<context> garden", "kitchen", "Where is Mary?", 1.0),
        ("kitchen and garden", "kitchen,garden", "Where?", 1.0),
        ("kitchen", "kitchen,garden", "Where?", 0.0),
    ],
)
def test_babilong_wants_the_target_as_the_only_label(prediction, target, question, right):
    assert metrics.babilong(prediction, target, question, metrics.ROOMS) == right


def test_the_older_rule_of_babilong_takes_any_mention():
    assert metrics.babilong_older("from the garden to the Kitchen", "kitchen") == 1.0


@pytest.mark.parametrize(
    ("prediction", "place"),
    [
        ("B", 1),
        (" (C) because", 2),
        ("The answer is D.", 3),
        ("Answer: A", 0),
        ("option b", None),
        ("I would say C, all in all.", 2),
        ("A good question.", None),
        ("It was the green house.", 2),
        ("B or C", None),
        ("(B) or (C)", None),
        ("D. A long day", 3),
        ("C because", 2),
        ("either (B) or (C)", None),
        ("", None),
        ("red and blue", None),
    ],
)
def test_a_choice_is_read_from_its_letter_or_its_words(prediction, place):
    assert chosen(prediction, ("red", "blue", "green house", "D day")) == place


def test_accuracy_is_told_by_difficulty():
    hard = sample("accuracy", "B", choices=("x", "y"), gold=1, difficult=True)
    assert score(hard, "B") == {"accuracy": 1.0, "accuracy_difficult": 1.0}
    easy = sample("accuracy", "B", choices=("x", "y"), gold=1, difficult=False)
    assert score(easy, "A") == {"accuracy": 0.0, "accuracy_easy": 0.0}
    assert score(sample("accuracy", "B", choices=("x", "y"), gold=1), "?") == {"accuracy": 0.0}


def test_the_best_gold_answer_counts():
    assert score(sample("f1", "a red house", "Paris"), "paris")["f1"] == 1.0
    assert score(sample("f1"), "paris") == {"f1": 0.0, "em_strict": 0.0, "em_contains": 0.0}


def test_some_tasks_of_longbench_end_with_their_line():
    assert score(sample("f1", "Paris", dataset="triviaqa"), "\nParis\nQuestion: who?")["em_strict"] == 1.0
    assert score(sample("f1", "Paris", dataset="narrativeqa"), "Paris\nQuestion: who?")["em_strict"] == 0.0


def test_completions_are_scored_as_repoeval_does():
    assert score(sample("completion", "x = 1\ny = 2"), "  x = 1\n\n  y = 2\nz") == {"em": 1.0, "es": 1.0}
    assert score(sample("completion", "abcd"), "abce") == {"em": 0.0, "es": 0.75}


@given(st.text(max_size=60), st.text(min_size=1, max_size=20))
def test_no_answer_breaks_a_metric_and_all_are_shares(prediction, gold):
    for name in METRICS:
        of = sample(name, gold, choices=("x", gold), gold=1, labels=("kitchen", gold))
        assert all(0.0 <= value <= 1.0 for value in score(of, prediction).values())


# Facts.


def evidence(text, start=0, quotes=(), source="a", number=0):
    return Evidence(Segment(source, number, text, start), 1.0, quotes=quotes)


def test_a_fact_is_found_whole_or_not_at_all():
    fact = Fact("a", 10, 15)
    assert holds(evidence("0123456789", 8), fact)
    assert not holds(evidence("01234", 8), fact)
    assert not holds(evidence("0123456789", 11), fact)
    assert not holds(evidence("0123456789", 8, source="b"), fact)
    assert recall_of([fact, Fact("a", 30, 31)], [evidence("0123456789", 8)]) == 0.5
    assert recall_of([], []) == 1.0


def test_where_sentences_are_quoted_one_of_them_has_to_hold_the_fact():
    text = "It rained.  Nora\nleft. Ivo stayed."
    assert holds(evidence(text, quotes=("Nora left.",)), Fact("a", 12, 22))
    assert not holds(evidence(text, quotes=("It rained.",)), Fact("a", 12, 22))


def test_a_turn_is_found_by_its_number():
    assert holds(evidence("x", number=4), Fact("a", turn=4))
    assert not holds(evidence("x", number=3), Fact("a", turn=4))
