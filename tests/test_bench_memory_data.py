"""Data sets in their published forms, errors of invalid files, and the generators."""

import json
from itertools import islice

import pytest
from weft.benchmarks.memory.adapters import ADAPTERS, read_samples
from weft.benchmarks.memory.generate import main as generate
from weft.benchmarks.memory.generators.book import book
from weft.benchmarks.memory.generators.dialogues import KINDS, OWN_TOPICS, dialogues, read_topics
from weft.benchmarks.memory.generators.prose import sentences
from weft.benchmarks.memory.generators.stories import LENGTHS, stories
from weft.benchmarks.memory.generators.story_tasks import TASKS
from weft.benchmarks.memory.metrics import score
from weft.benchmarks.memory.records import BadData
from weft.memory.strategy import estimate_tokens
from weft.server.cli.exit_status import CANNOT_BE_DONE


@pytest.fixture
def reading(tmp_path):
    """`reading(form, *records)`: the samples of a file with these records, one a line."""

    def read(form, *records, name="data.jsonl"):
        path = tmp_path / name
        path.write_text("\n".join(json.dumps(record, ensure_ascii=False) for record in records), encoding="utf-8")
        return read_samples(form, path)

    return read


def texts(sample):
    """The supporting facts in the items."""
    items = {item.source: item.text for item in sample.items}
    return [items[fact.source][fact.start : fact.end] for fact in sample.facts]


LONGBENCH = {
    "input": "谁?",
    "context": "A text.",
    "answers": ["one", "two"],
    "length": 2,
    "dataset": "multifieldqa_zh",
    "language": "zh",
    "all_classes": None,
    "_id": "7",
}


def test_longbench_has_the_metric_of_its_task(reading):
    chinese, summary = reading("longbench", LONGBENCH, {**LONGBENCH, "dataset": "gov_report", "input": ""})
    assert (chinese.id, chinese.metric, chinese.answers) == ("multifieldqa_zh/7", "f1_zh", ("one", "two"))
    assert chinese.items[0].text == "A text." and chinese.question.text == "谁?"
    assert (summary.metric, summary.question.task) == ("rouge_l", "summary") and summary.question.text


def test_quality_in_todays_form(reading):
    question = {"question": "Why?", "options": ["a", "b", "c", "d"], "gold_label": 3, "difficult": 1}
    (sample,) = reading("quality", {"article_id": "5", "article": "Text.", "questions": [question]})
    assert sample.question.choices == ("a", "b", "c", "d") and sample.answers == ("C",)
    assert score(sample, "C") == {"accuracy": 1.0, "accuracy_difficult": 1.0}


def test_quality_in_the_flat_form_with_lines_of_html(reading):
    lines = [
        "<html><head><title>T</title></head>\n",
        "<body><p>He said <i>no</i>\n",
        "twice.</p><p>End &amp; all.</p>\n",
    ]
    flat = {"article_id": 1, "article": str(lines), "question1": "Why?", "question1_gold_label": 2}
    flat |= {f"question1option{number}": str(number) for number in range(1, 5)}
    (sample,) = reading("quality", flat)
    assert sample.items[0].text == "He said no twice.\n\nEnd & all."
    assert sample.answers == ("B",) and score(sample, "B") == {"accuracy": 1.0}


def test_hotpotqa_in_its_published_form(reading):
    (sample,) = reading(
        "hotpotqa",
        {
            "_id": "x",
            "question": "Who?",
            "answer": "Ivo",
            "context": [["Mill", ["It stands.", " Ivo owns it."]], ["Ivo", ["Ivo bakes."]]],
            "supporting_facts": [["Mill", 1], ["Ivo", 0]],
        },
    )
    assert [item.source for item in sample.items] == ["Ivo", "Mill"]
    assert texts(sample) == ["Ivo owns it.", "Ivo bakes."]


def test_hotpotqa_in_the_form_of_the_sample(reading):
    (sample,) = reading(
        "hotpotqa",
        {
            "question": "Who?",
            "answer": "Ivo",
            "title_a": "Mill",
            "para_a": ["It stands.", " Ivo owns it."],
            "title_b": "Ivo",
            "para_b": ["Ivo bakes."],
            "supporting_facts": [[1], [0]],
            "distractors": [["Rain", ["It rains."], 3.5]],
        },
    )
    assert [item.source for item in sample.items] == ["Ivo", "Mill", "Rain"]
    assert texts(sample) == ["Ivo owns it.", "Ivo bakes."]


def turn(user, info):
    return [{"from": "human", "value": user, "turn-info": info}, {"from": "chatbot", "value": ""}]


def test_mtbench_plus_asks_about_the_turns_of_the_named_topics(reading):
    conversation = [*turn("a", "stem-1-0"), *turn("b", "stem-1-1"), *turn("c", "math-2-0"), *turn("d", "stem-11-0")]
    conversation += turn("Which?", "stem-1-math-2-Q")
    (sample,) = reading("mtbench+", {"id": "m", "type": "conjunction", "conversations": conversation})
    assert [item.number for item in sample.items] == [0, 1, 2, 3] and sample.question.text == "Which?"
    assert [fact.turn for fact in sample.facts] == [0, 1, 2]
    assert sample.details == {"type": "conjunction", "topics": ("stem-1", "math-2")}


def test_babilong_takes_its_task_from_the_record_or_the_file(reading):
    record = {"input": "Mary went to the kitchen.", "question": "Where is Mary? ", "target": "kitchen"}
    (sample,) = reading("babilong", record, name="qa1_4k.jsonl")
    assert score(sample, "In the kitchen.") == {"babilong": 1.0, "babilong_older": 1.0}
    (sample,) = reading("babilong", {**record, "task": "qa5"}, name="x.jsonl")
    assert "fred" in sample.details["labels"]


def test_repoeval_has_the_other_files_of_its_repository(reading, tmp_path):
    folder = tmp_path / "repositories" / "shop"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "a.py").write_text("A = 1\n", encoding="utf-8")
    (folder / "b.py").write_text("B = A\n", encoding="utf-8")
    metadata = {"task_id": "shop/0", "ground_truth": "B = A", "fpath_tuple": ["shop", "b.py"]}
    (sample,) = reading("repoeval", {"prompt": "from lib.a import A\n", "metadata": metadata})
    assert [item.source for item in sample.items] == ["lib/a.py"]
    assert score(sample, "B = A") == {"em": 1.0, "es": 1.0}


def test_anyones_data(reading):
    one, two, three = reading(
        "generic",
        {"question": "Who?", "answer": "Ivo", "context": "Ivo bakes.", "facts": [{"text": "Ivo bakes"}]},
        {"question": "Which?", "choices": ["x", "y"], "answer": "y", "documents": [{"source": "a.md", "text": "t"}]},
        {"question": "What?", "answers": ["z"], "turns": [{"user": "u", "bot": "b"}], "facts": [{"text": "u"}]},
    )
    assert texts(one) == ["Ivo bakes"] and score(one, "Ivo")["f1"] == 1.0
    assert score(two, "B") == {"accuracy": 1.0} and two.items[0].source == "a.md"
    assert three.facts[0].turn == 0 and three.items[0].text == "user: u\nbot: b"


GENERIC = {"question": "Who?", "answer": "Ivo", "context": "Ivo bakes."}


@pytest.mark.parametrize(
    ("form", "content", "said"),
    [
        ("longbench", {**LONGBENCH, "answers": []}, "data.jsonl:1: field 'answers': expected a list of texts"),
        ("longbench", {**LONGBENCH, "context": None}, "field 'context': expected a text, found None"),
        ("quality", {"article": "x"}, "field 'questions': expected a list of questions, or question1"),
        (
            "quality",
            {"article": "x", "questions": [{"question": "?", "options": ["a"], "gold_label": 2}]},
            "data.jsonl:1, questions[0]: field 'gold_label': expected a number from 1 to 1, found 2",
        ),
        ("quality", {"article": "['a", "question1": "?"}, "a list of lines as Python writes one"),
        ("hotpotqa", {"context": [["t"]], "supporting_facts": []}, "a title and its sentences"),
        (
            "hotpotqa",
            {"context": [["t", ["s"]]], "supporting_facts": [["t", 4]], "question": "?", "answer": "a"},
            "sentences that are there; 't' has no sentence 4",
        ),
        ("mtbench+", {"conversations": turn("a", "x-1-0")}, "at least two rounds"),
        ("mtbench+", {"conversations": [*turn("a", "x-1-0"), *turn("b", "x-1-1")]}, 'turn-info like "stem-143-Q"'),
        ("mtbench+", {"conversations": [{"from": "chatbot", "value": ""}]}, "conversations[0]: field 'from'"),
        ("babilong", {"input": "x", "question": "?", "target": "y"}, "field 'task': expected one of qa1, qa2"),
        (
            "babilong",
            {"input": "x", "question": "?", "target": "y", "task": "qa1", "facts": [[0, 9]]},
            "expected pairs of places in the input",
        ),
        ("repoeval", {"prompt": "x"}, "field 'metadata': expected an object, found nothing"),
        ("generic", {"question": "Who?", "context": "x"}, "field 'answer': expected a text, found nothing"),
        ("generic", {**GENERIC, "facts": [{"text": "Nora"}]}, "expected a text of 'text 0'"),
        ("generic", {**GENERIC, "metric": "bleu"}, "expected one of f1, "),
        ("generic", {**GENERIC, "choices": ["a", "b"]}, "a letter of AB or one of the choices"),
        ("generic", [3], "data.jsonl, item 0: expected a JSON object, found 3"),
        ("generic", "not JSON {", "data.jsonl:1: expected"),
        ("generic", "", "holds no sample"),
        ("generic", b"\xff\xfe", "expected UTF-8"),
        ("generic", None, "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place_and_what_was_expected(tmp_path, form, content, said):
    path = tmp_path / "data.jsonl"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_text(content if content == "" else json.dumps(content)[: -1 if content == "not JSON {" else None])
    with pytest.raises(BadData) as error:
        read_samples(form, path)
    assert said in str(error.value)


@pytest.mark.parametrize("form", ADAPTERS)
@pytest.mark.parametrize("content", ["{}", "[]", "[[]]", '{"questions": 3}', '{"context": {}}', "nonsense", "\ufeff{}"])
def test_nothing_else_than_bad_data_is_raised(tmp_path, form, content):
    path = tmp_path / "data.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadData):
        read_samples(form, path)


def test_a_line_that_is_there_twice_counts_once(reading):
    assert [sample.id for sample in reading("generic", *({"id": name, **GENERIC} for name in "abab"))] == ["a", "b"]


def test_two_samples_of_one_name_are_refused(reading):
    with pytest.raises(BadData, match="samples 0 and 2 are both called 'a'"):
        reading("generic", *({"id": name, **GENERIC, "answer": str(at)} for at, name in enumerate("aba")))


# Generators.


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("length", ["0k", "4k", "16k"])
def test_stories_have_their_length_and_their_facts_in_order(task, length):
    for sample in stories(task, length, 5):
        tokens = estimate_tokens(sample.items[0].text)
        assert length == "0k" or abs(tokens + 300 - LENGTHS[length]) < 0.005 * LENGTHS[length]
        assert sample.facts and [fact.start for fact in sample.facts] == sorted(fact.start for fact in sample.facts)
        assert all(text.endswith(".") and len(text.split()) < 9 for text in texts(sample))
        assert sample.answers[0].lower() in [label.lower() for label in sample.details["labels"]]
        assert score(sample, f"{sample.answers[0]}.")["babilong_older"] == 1.0


def room_of(fact):
    return fact.rstrip(".").split()[-1]


def test_a_person_is_in_the_room_of_the_last_move():
    for sample in stories("qa1", "0k", 40):
        name = sample.question.text.split()[-1].rstrip("?")
        told = [text for text in sample.items[0].text.split(". ") if text.startswith(name)]
        assert room_of(told[-1]) == sample.answers[0] == room_of(texts(sample)[0])


def test_something_is_where_its_holder_is_or_where_it_was_left():
    """Told again by a reader of its own, who knows nothing of the generator's bookkeeping."""
    for sample in stories("qa2", "0k", 60):
        rooms, holders, places = {}, {}, {}
        for fact in sample.items[0].text.rstrip(".").split(". "):
            who, words = fact.split()[0], fact.split()
            thing = next((word for word in words if word in ("apple", "football", "milk")), None)
            if thing is None:
                rooms[who] = words[-1]
            elif words[-1] == "there":
                holders[thing] = who
            else:
                assert holders.pop(thing) == who, "only its holder leaves a thing"
                places[thing] = rooms[who]
            places |= {held: rooms[by] for held, by in holders.items()}
        assert places[sample.question.text.split()[-1].rstrip("?")] == sample.answers[0]


def test_something_was_in_the_room_before():
    for sample in stories("qa3", "0k", 40):
        thing, room = sample.question.text.rstrip("?").split()[3], sample.question.text.rstrip("?").split()[-1]
        rooms, holder, seen = {}, None, []
        for fact in sample.items[0].text.rstrip(".").split(". "):
            who, words = fact.split()[0], fact.split()
            if thing in words:
                holder = who if words[-1] == "there" else None
            elif words[-1] in sample.details["labels"]:
                rooms[who] = words[-1]
            if holder and (not seen or seen[-1] != rooms[holder]):
                seen.append(rooms[holder])
        assert seen[seen.index(room) - 1] == sample.answers[0]


def test_facts_are_anywhere_in_a_story():
    samples = list(stories("qa1", "4k", 20))
    facts = [sample.items[0].text[sample.facts[0].start : sample.facts[0].end] for sample in samples]
    assert all(fact.split()[0] in ("John", "Mary", "Sandra", "Daniel") and fact[-1] == "." for fact in facts)
    places = [sample.facts[0].start / len(sample.items[0].text) for sample in samples]
    assert min(places) < 0.4 and max(places) > 0.8


def test_stories_are_the_same_for_the_same_seed_and_others_for_another():
    assert list(stories("qa3", "4k", 3)) == list(stories("qa3", "4k", 3))
    assert list(stories("qa3", "4k", 3)) != list(stories("qa3", "4k", 3, seed=1))


def test_prose_repeats_itself_rarely():
    found = list(islice(sentences(0), 1000))
    assert len(set(found)) > 990 and all(each[0].isupper() or each[0] == "“" for each in found)


def test_dialogues_have_the_form_of_mtbench_plus(tmp_path):
    path = tmp_path / "d.json"
    records = list(dialogues(OWN_TOPICS, 12))
    path.write_text(json.dumps(records), encoding="utf-8")
    samples = read_samples("mtbench+", path)
    assert [sample.details["type"] for sample in samples] == list(KINDS) * 4
    assert all(11 <= len(sample.items) <= 16 and sample.facts for sample in samples)
    assert {len(sample.details["topics"]) for sample in samples if sample.details["type"] == "conjunction"} == {2}
    assert records == list(dialogues(OWN_TOPICS, 12)) != list(dialogues(OWN_TOPICS, 12, seed=1))


def test_seed_questions_of_memochat_are_topics(tmp_path):
    path = tmp_path / "q.json"
    seed = {"question_id": 81, "category": "writing", "mandatory_turns": ["a", "b"], "optional_turns": ["c"]}
    path.write_text(json.dumps([{**seed, "retro_q": ["r"], "conti_q": ["k"]}]), encoding="utf-8")
    (topic,) = read_topics(path)
    assert topic.name == "writing-81" and topic.turns == (("a", ""), ("b", ""), ("c", "")) and topic.n_needed == 2
    path.write_text(json.dumps([seed]), encoding="utf-8")
    with pytest.raises(BadData, match="retro_q"):
        read_topics(path)


def test_a_book_asks_for_one_fact_or_for_two_far_apart():
    samples = list(book(4, seed=2))
    assert len(samples) == 12 and {len(sample.facts) for sample in samples} == {1, 2}
    for sample in samples:
        assert any(sample.answers[0] in text for text in texts(sample))
    with pytest.raises(ValueError, match="at most 8"):
        list(book(9))


@pytest.mark.parametrize(("what", "form"), [("stories", "babilong"), ("dialogues", "mtbench+"), ("book", "generic")])
def test_what_is_generated_can_be_read_again(tmp_path, what, form, capsys):
    path = tmp_path / f"{what}.jsonl"
    assert generate([what, "--out", str(path), "--n", "3", "--people", "2", "--length", "0k"]) == 0
    samples = read_samples(form, path)
    assert f"{len(samples)} records" in capsys.readouterr().out and len(samples) >= 3
    assert all(sample.facts for sample in samples)


def test_completion_tasks_are_drawn_from_a_checkout(tmp_path):
    tree = tmp_path / "repositories" / "shop"
    tree.mkdir(parents=True)
    lines = [f"total_{n} = price_{n}(item_{n}, count={n}) + tax_{n}" for n in range(20)]
    (tree / "shop.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "tasks.jsonl"
    assert generate(["completions", "--tree", str(tree), "--n", "4", "--out", str(path)]) == 0
    samples = read_samples("repoeval", path)
    assert len(samples) == 4
    for sample in samples:
        assert sample.answers[0] in lines and sample.answers[0] not in sample.question.text
        assert "\n".join(lines).startswith(sample.question.text)


def test_what_cannot_be_written_is_said(tmp_path, capsys):
    assert generate(["book", "--out", str(tmp_path / "no" / "x.jsonl")]) == CANNOT_BE_DONE
    assert "no/x.jsonl" in capsys.readouterr().err.replace("\\", "/")
