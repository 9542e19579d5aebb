"""`weft bench memory questions`: the definition of recall, and complete questions."""

import json
from collections import Counter

import pytest
from weft.benchmarks.memory import questions
from weft.benchmarks.memory.questions import QuestionScore, RepositoryQuestion, Span, score, table
from weft.server.chat.values import Citation, EvidenceItem, EvidenceSet

PAY = Span("shop.py", 11, 13, "def pay")
TAX = Span("tax.py", 1, 2, "RATE")


def item(path, start_line, end_line):
    return EvidenceItem("code", path, start_line, end_line, "", 1.0)


def scored(gold, items, citations=()):
    question = RepositoryQuestion("shop/01", "decision", "where?", gold)
    return score(question, EvidenceSet("where?", tuple(items), 0.7), citations, {"shop.py": "a\nb\nc\n"}.__getitem__)


@pytest.mark.parametrize(
    ("start_line", "end_line", "is_found"),
    [(10, 13, True), (0, 11, True), (12, 20, True), (0, 10, False), (13, 20, False), (0, 61, False)],
)
def test_an_item_finds_a_span_when_they_share_a_line_and_it_is_short(start_line, end_line, is_found):
    assert PAY.is_found_by("shop.py", start_line, end_line) == is_found
    assert not PAY.is_found_by("other.py", start_line, end_line)


def test_recall_is_the_share_of_spans_found_so_far():
    row = scored(((PAY,), (TAX,)), [item("x.py", 0, 3), item("shop.py", 10, 12), item("tax.py", 0, 1)])
    assert row.rank == 2
    assert row.recall == {1: 0.0, 3: 1.0, 5: 1.0, 10: 1.0}


def test_one_of_the_alternatives_is_enough():
    assert scored(((PAY, TAX),), [item("tax.py", 0, 1)]).recall[1] == 1.0


def test_a_citation_is_valid_when_its_lines_say_what_is_quoted():
    right, invented, beyond = (
        Citation("shop.py", 0, 2, "a\nb"),
        Citation("shop.py", 0, 2, "a\nz"),
        Citation("shop.py", 2, 9, "c"),
    )
    row = scored(((Span("shop.py", 1, 1, "a"),),), [], [right, invented, beyond])
    assert (row.n_citations, row.n_valid, row.n_right) == (3, 1, 2)


def test_the_table_tells_questions_that_nothing_answers_apart():
    found = QuestionScore("a/01", "decision", 1, dict.fromkeys(questions.DEPTHS, 1.0), 0.9, False, 4, 4, 2, 5.0)
    refused = QuestionScore("a/02", "unanswerable", 0, dict.fromkeys(questions.DEPTHS, 0.0), 0.1, True, 0, 0, 0, 5.0)
    printed = table({"weft": [found, refused]})
    assert "| weft | 1 | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 % | 1.00 |" in printed
    assert "In 100.0 % the lines exist and contain what is cited; 50.0 % are in an expected span." in printed
    assert "“Not found” for unanswerable questions (1): 100.0 %; for answerable questions (1): 0.0 %." in printed


def test_there_are_enough_questions_of_every_kind():
    kinds = Counter(question.kind for name in questions.REPOSITORIES for question in questions.load(name))
    assert kinds.total() - kinds["unanswerable"] >= 60
    assert kinds["unanswerable"] >= 10
    assert min(kinds[kind] for kind in ("decision", "callers", "documentation")) >= 10


@pytest.mark.parametrize("name", questions.REPOSITORIES)
def test_spans_name_lines_and_say_what_stands_there(name):
    loaded = questions.load(name)
    assert len({question.id for question in loaded}) == len(loaded)
    for question in loaded:
        assert bool(question.gold) == (question.kind != "unanswerable")
        for span in (span for alternatives in question.gold for span in alternatives):
            assert 0 < span.first <= span.last and span.says


def test_a_span_that_stands_elsewhere_is_named(tmp_path):
    (tmp_path / "shop.py").write_text("\n" * 10 + "def pay():\n    ...\n    ...\n", encoding="utf-8")
    asked = RepositoryQuestion("shop/01", "decision", "where?", ((PAY,),))
    assert questions.misplaced([asked], tmp_path) == []
    (tmp_path / "shop.py").write_text("def pay():\n" * 3, encoding="utf-8")
    assert questions.misplaced([asked], tmp_path) == ["shop/01: shop.py:11"]


def test_questions_of_a_tree_are_asked_and_tabled(tmp_path, monkeypatch, capsys):
    tree = tmp_path / "questions" / "scrapy"
    tree.mkdir(parents=True)
    (tree / "shop.py").write_text(
        "def pay(basket):\n    return total_price(basket)\n\n\ndef total_price(basket):\n    return sum(basket)\n",
        encoding="utf-8",
    )
    (tmp_path / "scrapy.jsonl").write_text(
        json.dumps(
            {
                "id": "scrapy/01",
                "kind": "callers",
                "question": "What calls total_price?",
                "gold": [[{"path": "shop.py", "lines": [2, 2], "says": "return total_price"}]],
            }
        )
        + "\n"
        + json.dumps({"id": "scrapy/02", "kind": "unanswerable", "question": "Where is Kafka set up?", "gold": []}),
        encoding="utf-8",
    )
    monkeypatch.setattr(questions, "_HERE", tmp_path)
    rows = tmp_path / "rows.jsonl"
    assert questions.main(["--work", str(tmp_path), "--repository", "scrapy", "--rows", str(rows)]) == 0
    printed = capsys.readouterr().out
    assert "| weft, callers | 1 | 100.0 |" in printed
    assert "“Not found” for unanswerable questions (1): 100.0 %" in printed
    assert json.loads(printed.splitlines()[-1])["results"]["weft"]["recall@1"] == 100.0
    assert [json.loads(line)["id"] for line in rows.read_text(encoding="utf-8").splitlines()] == [
        "scrapy/01",
        "scrapy/02",
    ]
