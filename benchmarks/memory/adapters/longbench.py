"""LongBench: one JSON object a line with `input`, `context`, `answers`, `dataset`, `language`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ....memory import Item, Question
from ..values import Sample
from .checked import Record, read_records

_METRICS = {
    **dict.fromkeys(("narrativeqa", "qasper", "multifieldqa_en", "hotpotqa", "2wikimqa", "musique", "triviaqa"), "f1"),
    "multifieldqa_zh": "f1_zh",
    **dict.fromkeys(("gov_report", "qmsum", "multi_news", "samsum"), "rouge_l"),
    **dict.fromkeys(("dureader", "vcsum"), "rouge_l_zh"),
    **dict.fromkeys(("lcc", "repobench-p"), "code_similarity"),
}
_SUMMARIES = ("gov_report", "qmsum", "multi_news", "vcsum")


def longbench(path: Path) -> Iterator[Sample]:
    """Tasks whose metric is not implemented here (classes, counting, retrieval) are scored by F1 and EM."""
    for number, record in enumerate(read_records(path)):
        yield _sample(record, number)


def _sample(record: Record, number: int) -> Sample:
    dataset = record.text("dataset")
    question = record.text("input").strip()
    task = "summary" if dataset in _SUMMARIES else "short"
    name = record.text("_id", str(number))
    return Sample(
        f"{dataset}/{name}",
        dataset,
        (Item(f"{dataset} {name}", record.text("context")),),
        Question(question or "What are the main points?", task=task),
        record.texts("answers"),
        metric=_METRICS.get(dataset, "f1"),
        details={"language": record.text("language", "en")},
    )
