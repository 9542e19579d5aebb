"""The tuning questions: loading, answering and counting."""

from weft.benchmarks.memory.tuning import Result, TuningQuestion, load, run, summary


def question(text, *gold):
    return TuningQuestion("toy", "definition", text, gold)


def test_the_committed_questions_are_whole():
    questions = load()
    assert (len(questions), sum(not q.gold for q in questions)) == (142, 50)
    assert len({(q.repository, q.text) for q in questions}) == 142
    assert all(0 < first <= last for q in questions for _, first, last in q.gold)


def test_the_rank_is_that_of_the_first_exhibit_with_a_line_of_the_gold(project):
    folder = project("#- zoo.py\ndef feed_kangaroo():\n    return 1\n#- rose.py\ndef water_rose():\n    return 1\n")
    asked = [
        question("Where is the kangaroo fed?", ("zoo.py", 2, 2)),
        question("Where is the kangaroo fed?", ("rose.py", 1, 1)),
        question("Where is the walrus?"),
    ]
    assert [result.rank for result in run(folder, asked)] == [1, 0, 0]


def test_shares_are_of_questions_with_and_without_an_answer():
    answerable, other = question("a", ("a.py", 1, 1)), question("b")
    results = [
        Result(answerable, 1, 0.9, 1.0),
        Result(answerable, 3, 0.6, 3.0),
        Result(answerable, 0, 0.1, 2.0),
        Result(other, 0, 0.6, 2.0),
        Result(other, 0, 0.2, 2.0),
    ]
    figures = summary(results)
    assert (figures["recall@1"], figures["recall@3"], figures["recall@10"]) == (33.3, 66.7, 66.7)
    assert figures["mean reciprocal rank"] == 0.444
    assert figures["at a confidence of"]["0.5"] == {"answered": 66.7, "refused": 50.0, "precision": 66.7}
    assert figures["ms median"] == 2.0
