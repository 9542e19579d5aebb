"""Readers of published data sets, which validate the published form, and the option `--data`."""

from __future__ import annotations

import ast
import json
import re
from argparse import Action, ArgumentError, ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from html.parser import HTMLParser
from itertools import count, takewhile
from pathlib import Path

from ...memory import Item, Question
from ...memory.fragrel.chat import round_text
from .metrics import LETTERS, METRICS, TASK_LABELS
from .records import BadData, Record, read_records
from .values import Fact, Sample


def read_samples(form: str, path: Path) -> list[Sample]:
    """The different samples of a file: a copy of one, as of a line that is there twice, is left out.

    Raises BadData, which names the file, the line, the field and what was expected.
    """
    first: dict[str, tuple[int, Sample]] = {}
    for number, sample in enumerate(ADAPTERS[form](path)):
        at, other = first.setdefault(sample.id, (number, sample))
        if sample != other:
            raise BadData(f"{path}: samples {at} and {number} are both called {sample.id!r}. Rename one.")
    if not first:
        raise BadData(f"{path} holds no sample. Give one JSON object a line, or a JSON list of objects.")
    return [sample for _, sample in first.values()]


class DataOption(Action):
    """`--data FORM FILE` as a pair of the form and a path."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: object, option_string: str | None = None
    ) -> None:
        assert isinstance(values, Sequence)
        form, path = values
        if form not in ADAPTERS:
            raise ArgumentError(self, f"give one of {', '.join(ADAPTERS)}, not {form}")
        setattr(namespace, self.dest, (form, Path(path)))


# LongBench.

_LONGBENCH_METRICS = {
    **dict.fromkeys(("narrativeqa", "qasper", "multifieldqa_en", "hotpotqa", "2wikimqa", "musique", "triviaqa"), "f1"),
    "multifieldqa_zh": "f1_zh",
    **dict.fromkeys(("gov_report", "qmsum", "multi_news", "samsum"), "rouge_l"),
    **dict.fromkeys(("dureader", "vcsum"), "rouge_l_zh"),
    **dict.fromkeys(("lcc", "repobench-p"), "code_similarity"),
}
_SUMMARIES = ("gov_report", "qmsum", "multi_news", "vcsum")


def longbench(path: Path) -> Iterator[Sample]:
    """LongBench: one JSON object a line with `input`, `context`, `answers`, `dataset`, `language`.

    Tasks whose metric is not implemented here (classes, counting, retrieval) are scored by F1 and EM.
    """
    for number, record in enumerate(read_records(path)):
        dataset, name = record.text("dataset"), record.text("_id", str(number))
        question = record.text("input").strip() or "What are the main points?"
        yield Sample(
            f"{dataset}/{name}",
            dataset,
            (Item(f"{dataset} {name}", record.text("context")),),
            Question(question, task="summary" if dataset in _SUMMARIES else "short"),
            record.texts("answers"),
            metric=_LONGBENCH_METRICS.get(dataset, "f1"),
        )


def read_templates(path: Path) -> dict[str, str]:
    """LongBench's `dataset2prompt.json`: final prompts by data set, with {context} and {input}. Raises BadData."""
    try:
        found = json.loads(path.read_text("utf-8"))
        templates = {str(name): str(text).replace("{input}", "{question}") for name, text in found.items()}
    except (OSError, ValueError, AttributeError) as error:
        raise BadData(f"{path} has no templates ({error}). Give an object of prompts by data set.") from error
    if lacking := [name for name, text in templates.items() if "{context}" not in text]:
        raise BadData(f"{path}: the prompt of {lacking[0]!r} has no {{context}}. Write where the context goes.")
    return templates


def with_templates(samples: Sequence[Sample], templates: Mapping[str, str]) -> list[Sample]:
    """The samples, each asked with the final prompt of its data set. Raises BadData if none has one."""
    if not any(sample.dataset in templates for sample in samples):
        names = ", ".join(dict.fromkeys(sample.dataset for sample in samples))
        raise BadData(f"There is no template for {names}. Use a data set of {', '.join(templates)}.")
    return [
        replace(sample, question=replace(sample.question, template=templates.get(sample.dataset, "")))
        for sample in samples
    ]


# QuALITY.

QualityQuestion = tuple[str, tuple[str, ...], int, "bool | None"]  # text, options, gold, difficult


def quality(path: Path) -> Iterator[Sample]:
    """QuALITY: an article and its questions a line, in today's form and in the flat one of the first release.

    Gold labels count from 1 in the file, and from 0 in the samples' details.
    """
    for number, record in enumerate(read_records(path)):
        article = record.text("article_id", str(number))
        item = Item(f"article {article}", _article(record))
        questions = _nested(record) if "questions" in record.fields else _flat(record)
        for place, (text, options, gold, difficult) in enumerate(questions):
            details = {"gold": gold, "difficult": difficult}
            name = f"{article}/{record.text('set_unique_id', record.text('unique_id', str(number)))}/{place}"
            yield Sample(
                name, "quality", (item,), Question(text, options), (LETTERS[gold],), metric="accuracy", details=details
            )


def _nested(record: Record) -> Iterator[QualityQuestion]:
    for each in record.records("questions"):
        options = each.texts("options")
        difficult = bool(each.number("difficult", 0, 1)) if "difficult" in each.fields else None
        yield each.text("question"), options, each.number("gold_label", 1, len(options)) - 1, difficult


def _flat(record: Record) -> Iterator[QualityQuestion]:
    if "question1" not in record.fields:
        record.fail("questions", "a list of questions, or question1, question1option1, …, question1_gold_label")
    for name in takewhile(record.fields.__contains__, (f"question{number}" for number in count(1))):
        options = tuple(record.text(f"{name}option{place}") for place in range(1, 5))
        yield record.text(name), options, record.number(f"{name}_gold_label", 1, 4) - 1, None


def _article(record: Record) -> str:
    """The article without HTML. Old files have a list of lines, as Python writes one."""
    value = record.fields.get("article")
    if isinstance(value, str) and value.lstrip().startswith(("['", '["')):
        try:
            value = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            record.fail("article", "a text, or a list of lines as Python writes one")
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        value = "".join(line if line.endswith("\n") else f"{line}\n" for line in value)
    if not isinstance(value, str):
        record.fail("article", "a text or a list of lines")
    if "<p" not in value and "<html" not in value:
        return value
    reader = _TextParser()
    reader.feed(value)
    reader.close()
    paragraphs = (" ".join(each.split()) for each in "".join(reader.parts).split("\0"))
    return "\n\n".join(filter(None, paragraphs))


class _TextParser(HTMLParser):
    """The text of a page, with a zero character at each boundary of a block."""

    _SKIPPED = ("head", "script", "style")
    _INSIDE = ("a", "b", "i", "em", "strong", "span", "small", "sup", "sub", "font")

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._skipping = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if not self._skipping and tag in self._SKIPPED:
            self._skipping = tag
        elif tag not in self._INSIDE:
            self.parts.append("\0")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._skipping:
            self._skipping = ""
        elif tag not in self._INSIDE:
            self.parts.append("\0")

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self.parts.append(data)


# HotpotQA.

Paragraph = tuple[str, "list[str]"]  # title and sentences


def hotpotqa(path: Path) -> Iterator[Sample]:
    """HotpotQA: the published form (`context`, `supporting_facts`), and that of the sample of 100 questions.

    Each paragraph is a document, in the order of the titles; the facts are the supporting sentences.
    """
    for number, record in enumerate(read_records(path)):
        read = _published if "context" in record.fields else _sampled
        paragraphs, supporting = read(record)
        if len(dict(paragraphs)) < len(paragraphs):
            record.fail("context", "paragraphs with a title of their own each")
        items = tuple(Item(title, "".join(sentences)) for title, sentences in sorted(paragraphs))
        facts = tuple(_sentence(record, dict(paragraphs), title, place) for title, place in supporting)
        question = Question(record.text("question"), task="short")
        yield Sample(record.text("_id", str(number)), "hotpotqa", items, question, (record.text("answer"),), facts)


def _published(record: Record) -> tuple[list[Paragraph], list[tuple[str, object]]]:
    supporting = _list(record, "supporting_facts")
    if not all(len(each) == 2 and isinstance(each[0], str) for each in supporting):
        record.fail("supporting_facts", "a title and the number of a sentence in each")
    paragraphs = [_paragraph(record, "context", each) for each in _list(record, "context")]
    return paragraphs, [(str(title), place) for title, place in supporting]


def _sampled(record: Record) -> tuple[list[Paragraph], list[tuple[str, object]]]:
    gold = [(record.text(f"title_{which}"), list(record.texts(f"para_{which}"))) for which in ("a", "b")]
    others = [_paragraph(record, "distractors", each[:2]) for each in _list(record, "distractors")]
    places = _list(record, "supporting_facts")
    if len(places) != 2:
        record.fail("supporting_facts", "two lists of numbers, for para_a and para_b")
    supporting = [(title, place) for (title, _), of in zip(gold, places, strict=True) for place in of]
    return [*gold, *others], supporting


def _list(record: Record, name: str) -> list[list[object]]:
    value = record.fields.get(name)
    if not isinstance(value, list) or not all(isinstance(each, list) for each in value):
        record.fail(name, "a list of lists")
    return value


def _paragraph(record: Record, name: str, value: Sequence[object]) -> Paragraph:
    match value:
        case [str() as title, [*sentences]] if all(isinstance(each, str) for each in sentences):
            return title, [str(each) for each in sentences]
    record.fail(name, "a title and its sentences in each")


def _sentence(record: Record, paragraphs: Mapping[str, Sequence[str]], title: str, place: object) -> Fact:
    sentences = paragraphs.get(title, ())
    if not isinstance(place, int) or not 0 <= place < len(sentences):
        record.fail("supporting_facts", f"sentences that are there; {title!r} has no sentence {place}")
    start, sentence = sum(map(len, sentences[:place])), sentences[place]
    # The space before a sentence belongs to none.
    return Fact(title, start + len(sentence) - len(sentence.lstrip()), start + len(sentence.rstrip()))


# MTBench+.

_TOPIC = re.compile(r"([A-Za-z_ ]+-\d+)-")


def mtbench_plus(path: Path) -> Iterator[Sample]:
    for number, record in enumerate(read_records(path)):
        yield dialogue_sample(record, number)


def dialogue_sample(record: Record, number: int) -> Sample:
    """MTBench+: a dialogue over several topics, whose last turn is a question about one or two of them.

    A turn is the user's text and the bot's answer, which is empty where the system under test answers.

    The facts are the turns of the topics that the last turn names. There is no gold answer: a judge scores the answer.
    """
    rounds = list(_rounds(record))
    if len(rounds) < 2:
        record.fail("conversations", "turns of a user and a chatbot, at least two rounds")
    name = record.text("id", str(number))
    source = f"conversation {name}"
    *before, (question, _, last) = rounds
    topics = _TOPIC.findall(last)
    if not topics or not last.endswith("-Q"):
        record.fail("conversations", 'a last turn of the user with turn-info like "stem-143-Q"')
    items = tuple(Item(source, round_text(user, bot), "turn", place) for place, (user, bot, _) in enumerate(before))
    facts = tuple(
        Fact(source, turn=place) for place, (_, _, info) in enumerate(before) if info.rpartition("-")[0] in topics
    )
    details = {"type": record.text("type", ""), "topics": tuple(topics)}
    return Sample(name, "mtbench+", items, Question(question), facts=facts, metric="none", details=details)


def _rounds(record: Record) -> Iterator[tuple[str, str, str]]:
    """What the user said, what the bot said, and the turn-info."""
    waiting: Record | None = None
    for turn in record.records("conversations"):
        match turn.text("from"):
            case "human" if waiting is None:
                waiting = turn
            case "chatbot" if waiting is not None:
                yield waiting.text("value"), turn.text("value"), waiting.text("turn-info", "")
                waiting = None
            case _:
                turn.fail("from", "human and chatbot in turns, the human first")
    if waiting is not None:
        yield waiting.text("value"), "", waiting.text("turn-info", "")


# BABILong.


def babilong(path: Path) -> Iterator[Sample]:
    """BABILong: `input`, `question` and `target` on each line. The task is in `task`, or in the name of the file.

    Generated stories also have `facts`: pairs of character offsets in the input, the end exclusive.
    """
    in_name = re.search(r"qa\d+", path.as_posix())
    for number, record in enumerate(read_records(path)):
        task = record.text("task", in_name.group() if in_name else "")
        if task not in TASK_LABELS:
            record.fail("task", f"one of {', '.join(TASK_LABELS)}, here or in the file's name")
        name = f"{task}/{number}"
        item = Item(f"story {name}", record.text("input"))
        yield Sample(
            name,
            f"babilong {task}",
            (item,),
            Question(record.text("question").strip(), task="short"),
            (record.text("target").strip(),),
            tuple(_spans(record, item)),
            metric="babilong",
            details={"labels": TASK_LABELS[task]},
        )


def _spans(record: Record, item: Item) -> Iterator[Fact]:
    given = record.fields.get("facts", [])
    for each in given if isinstance(given, list) else [given]:
        match each:
            case [int() as start, int() as end] if 0 <= start < end <= len(item.text):
                yield Fact(item.source, start, end)
            case _:
                record.fail("facts", "pairs of places in the input")


# RepoEval.


def repoeval(path: Path) -> Iterator[Sample]:
    """RepoEval: `prompt` and `metadata` a line, and the repositories beside the file, where there are any.

    The question is the code before the target, the items are the other files of `repositories/NAME`.
    """
    for number, record in enumerate(read_records(path)):
        metadata = record.record("metadata")
        place = metadata.texts("fpath_tuple")
        repo, target = place[0], "/".join(place[1:])
        files = _files(path.parent / "repositories" / repo)
        yield Sample(
            metadata.text("task_id", f"{repo}/{number}"),
            "repoeval",
            tuple(item for item in files if item.source != target),
            Question(record.text("prompt"), task="completion"),
            (metadata.text("ground_truth"),),
            metric="completion",
        )


@lru_cache(maxsize=2)  # samples of a repository follow each other
def _files(folder: Path) -> tuple[Item, ...]:
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else []
    return tuple(Item(path.relative_to(folder).as_posix(), path.read_text("utf-8", "replace")) for path in paths)


# Any other data.


def generic(path: Path) -> Iterator[Sample]:
    """Data of any origin: `question`, and `answers` or `answer`, on a `context`, on `documents` or on `turns`.

    {"question": "Who?", "answers": ["Ivo"], "context": "A long text."}
    {"question": "Who?", "answer": "Ivo", "documents": [{"source": "a.md", "text": "..."}],
     "facts": [{"source": "a.md", "text": "Ivo built a bakery."}]}
    {"question": "Which?", "choices": ["one", "two"], "answer": "B", "turns": [{"user": "...", "bot": "..."}]}

    `metric` is f1 unless it is said otherwise, or accuracy with choices. Facts are found by their text.
    """
    for number, record in enumerate(read_records(path)):
        name = record.text("id", str(number))
        items = _items(record, name)
        answers = record.texts("answers") if "answers" in record.fields else (record.text("answer"),)
        choices = record.texts("choices", ())
        metric = record.text("metric", "accuracy" if choices else "f1")
        if metric not in METRICS:
            record.fail("metric", f"one of {', '.join(METRICS)}")
        details: dict[str, object] = {}
        if metric == "accuracy":
            details["gold"] = _gold(record, choices, answers[0])
        if metric == "babilong":
            details["labels"] = record.texts("labels")
        facts = tuple(_quoted(each, items) for each in record.records("facts")) if "facts" in record.fields else ()
        question = Question(record.text("question"), choices, task=record.text("task", ""))
        yield Sample(name, path.stem, items, question, answers, facts, metric, details)


def generic_record(sample: Sample) -> dict[str, object]:
    """A sample with documents in the form that `generic` reads."""
    texts = {item.source: item.text for item in sample.items}
    return {
        "id": sample.id,
        "question": sample.question.text,
        "answers": list(sample.answers),
        "documents": [{"source": source, "text": text} for source, text in texts.items()],
        "facts": [{"source": fact.source, "text": texts[fact.source][fact.start : fact.end]} for fact in sample.facts],
        "task": sample.question.task,
    }


def _items(record: Record, name: str) -> tuple[Item, ...]:
    if "documents" in record.fields:
        return tuple(Item(each.text("source"), each.text("text")) for each in record.records("documents"))
    if "turns" in record.fields:
        turns = enumerate(record.records("turns"))
        return tuple(
            Item(f"conversation {name}", round_text(turn.text("user"), turn.text("bot", "")), "turn", place)
            for place, turn in turns
        )
    return (Item(f"text {name}", record.text("context")),)


def _gold(record: Record, choices: Sequence[str], answer: str) -> int:
    letters = LETTERS[: len(choices)]
    if answer not in (*letters, *choices):
        record.fail("answer", f"a letter of {letters} or one of the choices")
    return choices.index(answer) if answer in choices else letters.index(answer)


def _quoted(record: Record, items: Sequence[Item]) -> Fact:
    text, source = record.text("text"), record.text("source", items[0].source)
    for item in items:
        start = item.text.find(text)
        if item.source == source and start >= 0:
            return Fact(source, turn=item.number) if item.kind == "turn" else Fact(source, start, start + len(text))
    record.fail("text", f"a text of {source!r}")


ADAPTERS: dict[str, Callable[[Path], Iterator[Sample]]] = {
    "longbench": longbench,
    "quality": quality,
    "hotpotqa": hotpotqa,
    "mtbench+": mtbench_plus,
    "babilong": babilong,
    "repoeval": repoeval,
    "generic": generic,
}
