"""The tuning questions: loading, answering and counting."""

from weft.benchmarks.memory.questions import DEPTHS, QuestionScore, RepositoryQuestion, Span
from weft.benchmarks.memory.tuning import load, run, summary


def question(text, *gold):
    return RepositoryQuestion("0", "definition", text, (tuple(Span(*span) for span in gold),))


def result(kind, rank, confidence, milliseconds):
    return QuestionScore("0", kind, rank, dict.fromkeys(DEPTHS, 0.0), confidence, False, 0, 0, 0, milliseconds)


def test_the_committed_questions_are_whole():
    questions = [(repository, each) for repository, some in load().items() for each in some]
    assert (len(questions), sum(not each.gold for _, each in questions)) == (142, 50)
    assert all((each.kind == "none") == (not each.gold) for _, each in questions)
    assert len({(repository, each.text) for repository, each in questions}) == 142
    assert all(0 < span.first <= span.last for _, each in questions for spans in each.gold for span in spans)


def test_the_rank_is_that_of_the_first_exhibit_with_a_line_of_the_gold(project):
    folder = project("#- zoo.py\ndef feed_kangaroo():\n    return 1\n#- rose.py\ndef water_rose():\n    return 1\n")
    asked = [
        question("Where is the kangaroo fed?", ("zoo.py", 2, 2)),
        question("Where is the kangaroo fed?", ("rose.py", 1, 1)),
        question("Where is the walrus?"),
    ]
    assert [result.rank for result in run(folder, asked)] == [1, 0, 0]


def test_shares_are_of_questions_with_and_without_an_answer():
    results = [
        result("definition", 1, 0.9, 1.0),
        result("definition", 3, 0.6, 3.0),
        result("definition", 0, 0.1, 2.0),
        result("none", 0, 0.6, 2.0),
        result("none", 0, 0.2, 2.0),
    ]
    figures = summary(results)
    assert (figures["recall@1"], figures["recall@3"], figures["recall@10"]) == (33.3, 66.7, 66.7)
    assert figures["mean reciprocal rank"] == 0.444
    assert figures["at a confidence of"]["0.5"] == {"answered": 66.7, "refused": 50.0, "precision": 66.7}
    assert figures["ms median"] == 2.0
