"""Both training stages of a beacon memory on a real chat model, and its evaluation, within a limit of time.

Stage 1 reads code of whole packages, stage 2 facts planted in it (`planted`). `prepare` writes the training data, `run`
trains and evaluates. A part of the evaluation that the time does not suffice for is left out and named. Results are
values for each question, for a report elsewhere. Owns the plan, the order and the files.
"""

# torch is not there when types are checked without the extra `train`.
# mypy: allow-untyped-decorators, allow-untyped-calls

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
import transformers

from ...llm.local.transformers_model import load_pretrained
from ...llm.protocol import ModelMissing
from ...llm.training.loop import Intervals, autocast
from ...llm.training.sources import Document, read_documents
from ...memory.memorag.beacon.model import BeaconModel
from ...memory.memorag.beacon.ratios import RatioSequence
from ...memory.memorag.beacon.training.data import ModelTokenizer, TextCounts, rows_of_documents, texts_of_samples
from ...memory.memorag.beacon.training.dataset import TrainingText, UnusableData, open_texts, write_texts
from ...memory.memorag.beacon.training.recipe import Recipe
from ...memory.memorag.beacon.training.train import ratios_for, train
from ...memory.memorag.sft_data import Sample
from .asked import (
    AskedText,
    ReadingPrompts,
    answer_rows,
    asked_texts,
    clue_rows,
    read_asked,
    retrieved_rows,
    write_asked,
)
from .batched import AskedRow, CheckedAnswer, check_answers, read_texts, write_answers
from .planted import TRAINING, Density, host_texts, joined, plant, samples_of
from .weight_deltas import Deltas, apply_deltas, deltas_of, describe, write_deltas

Say = Callable[[Mapping[str, object]], None]

HELD_OUT = "held-out"
UNTRAINED, STAGE_1, STAGE_2 = STAGES = ("untrained", "stage-1", "stage-2")


@dataclass(frozen=True, slots=True)
class SampleTexts:
    """Training texts with planted facts."""

    n_texts: int
    n_characters: tuple[int, ...]  # of the host, in turn
    density: Density = field(default_factory=Density)


@dataclass(frozen=True, slots=True)
class Evaluation:
    lengths: tuple[int, ...]  # tokens of a text with a question
    n_texts: int  # of each length
    density: Density
    ratios: tuple[int, ...]
    clue_lengths: tuple[int, ...]
    clue_ratios: tuple[int, ...]
    clue_tokens: int
    held_out_rows: int
    held_out_tokens: int  # of a row
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RealPlan:
    stage_1: Recipe
    stage_1_characters: int  # of all packages
    stage_2: Recipe
    samples: SampleTexts
    evaluation: Evaluation
    shares: tuple[float, float]  # of the time, for each stage; the rest is for loading and evaluation


# A window of half the recipe's, so that short texts have a memory. Muon at 4e-3 learnt faster than at 1e-3 in 16 steps
# of 1,000 tokens on a CPU (2.58 and 3.27 nats of answers and clues); hundreds of steps take a rate between them.
_STAGE_1 = Recipe(
    ratios=(2, 4, 8, 16, 32),
    learning_rate=2e-3,
    lengths=(4096, 8192),
    window=1024,
    batch_tokens=32768,
    accumulate=1,
    optimiser="muon",
    warm_up_steps=10,
    checkpointing=False,
)

FULL = RealPlan(
    stage_1=_STAGE_1,
    stage_1_characters=40_000_000,
    stage_2=replace(_STAGE_1, ratios=(4, 8, 16, 32), lengths=(4096, 16384), questions=16),
    # Some long ones, so that a memory of thousands of tokens is learnt to be read.
    samples=SampleTexts(3000, (6_000, 9_000, 9_000, 18_000, 6_000, 9_000, 9_000, 36_000)),
    evaluation=Evaluation(
        lengths=(2048, 4096, 8192, 16384, 32768),
        n_texts=12,
        density=Density(6, 4),
        ratios=(4, 8, 16, 32),
        clue_lengths=(4096, 8192, 16384),
        clue_ratios=(4, 8, 16),
        clue_tokens=48,
        held_out_rows=8,
        held_out_tokens=8192,
    ),
    shares=(0.24, 0.40),
)

_TINY_STAGE = replace(_STAGE_1, lengths=(384, 512), window=128, batch_tokens=1024, steps=2)

TINY = RealPlan(
    stage_1=_TINY_STAGE,
    stage_1_characters=20_000,
    stage_2=replace(_TINY_STAGE, ratios=(4, 8, 16, 32), questions=4, lengths=(2048,)),
    samples=SampleTexts(3, (1_500,), Density(2, 1)),
    evaluation=Evaluation(
        lengths=(432, 688),
        n_texts=1,
        density=Density(2, 1),
        ratios=(4, 32),
        clue_lengths=(432,),
        clue_ratios=(4,),
        clue_tokens=4,
        held_out_rows=1,
        held_out_tokens=384,
    ),
    shares=(0.3, 0.3),
)
"""Too small to learn anything, to see that all runs."""


def prepare(plan: RealPlan, base: Path, corpus: Path, out: Path, say: Say) -> None:
    """Write the training data of both stages and the texts of the evaluation to `out`. Needs no GPU. Raises ModelError.

    `corpus` has `training.jsonl` and `held_out.jsonl`, as `weft.llm.training sources` writes it.
    """
    started = time.perf_counter()
    words, documents = ModelTokenizer(base), _documents(corpus / "training.jsonl")
    held_out, prompts, evaluation = _documents(corpus / "held_out.jsonl"), ReadingPrompts(words), plan.evaluation
    say({"read": len(documents), "held_out": len(held_out), "seconds": _since(started)})
    for name, make in ((STAGE_1, _stage_1_texts), (STAGE_2, _stage_2_texts)):
        counts = TextCounts()
        write_texts(out / name, make(plan, documents, words, counts))
        say({"prepared": name, **asdict(counts), "seconds": _since(started)})
    write_texts(out / HELD_OUT, _held_out_rows(evaluation, held_out, prompts))
    for length in evaluation.lengths:
        texts = asked_texts(held_out, prompts, length, evaluation.n_texts, evaluation.density, evaluation.seed)
        write_asked(out / f"asked-{length}.jsonl", texts)
    say({"prepared": "evaluation", "seconds": _since(started)})


def run(plan: RealPlan, base: Path, data: Path, out: Path, seconds: float, device: str, say: Say) -> None:
    """Train on what `prepare` wrote to `data`, evaluate, and write `results.json` and the weights to `out`.

    Ends after about `seconds`. Raises ModelError.
    """
    run_ = _Run(plan, base, data, out, seconds, device, say)
    run_.train()
    run_.evaluate()


class _Run:
    """The state of one run. `results.json` is written again after each part."""

    def __init__(
        self, plan: RealPlan, base: Path, data: Path, out: Path, seconds: float, device: str, say: Say
    ) -> None:
        self._started, self._seconds = time.perf_counter(), seconds
        self._plan, self._data, self._out, self._say = plan, data, out, say
        self._prompts = ReadingPrompts(ModelTokenizer(base))
        loaded = load_pretrained(base, base.name, device=device)
        self._model = BeaconModel.wrap(loaded, plan.stage_1.window).eval()
        self._device = next(self._model.parameters()).device
        # It makes a plan for each shape, and with random ratios windows have many.
        torch.backends.cuda.enable_cudnn_sdp(False)
        self._weights: dict[str, Deltas | None] = {UNTRAINED: None}
        self._texts: dict[int, list[AskedText]] = {}
        self._results: dict[str, Any] = {
            "plan": asdict(plan),
            "machine": _machine(self._device),
            "parts": [],
            "left_out": [],
            "logs": {},
            "questions": {},
            "answers": [],
            "clues": [],
            "losses": [],
        }
        out.mkdir(parents=True, exist_ok=True)
        self._say({"loaded": base.name, "device": str(self._device), "seconds": _since(self._started)})

    def train(self) -> None:
        plan = self._plan
        for name, recipe, share in zip(STAGES[1:], (plan.stage_1, plan.stage_2), plan.shares, strict=True):
            last = self._train(name, recipe, share * self._seconds)
            self._weights[name] = deltas = deltas_of(self._model)
            self._done(name, {**last, "mean_change": describe(deltas)})
        write_deltas(self._weights[STAGE_2] or {}, self._out, STAGE_2)

    def evaluate(self) -> None:
        """The most important parts first."""
        evaluation = self._plan.evaluation
        lengths, ratios = evaluation.lengths, evaluation.ratios
        for length in lengths:
            self._part(f"answers {STAGE_2} {length}", partial(self._answers, STAGE_2, ratios, length))
        for length in lengths:
            self._part(f"answers base {length}", partial(self._base_answers, length))
        self._part("losses", self._losses)
        for length in evaluation.clue_lengths:
            for ratio in evaluation.clue_ratios:
                self._part(f"clues {STAGE_2} {ratio} {length}", partial(self._write_clues, STAGE_2, ratio, length))
        for stage in (STAGE_1, UNTRAINED):
            for length in lengths:
                self._part(f"answers {stage} {length}", partial(self._answers, stage, ratios, length))
        for length in evaluation.clue_lengths:
            self._part(f"clues base {length}", partial(self._write_clues, UNTRAINED, None, length))
        self._part("repeatability", self._repeat)

    def _train(self, name: str, recipe: Recipe, seconds: float) -> dict[str, Any]:
        """Without memory for it, or with infinite gradients, once more with smaller steps in the rest of the time."""
        texts, started = open_texts(self._data / name), time.perf_counter()
        try:
            return train(self._model, texts, replace(recipe, seconds=seconds), self._out / name, every=_EVERY)
        except (torch.cuda.OutOfMemoryError, UnusableData) as error:
            self._done(f"{name} failed", {"error": str(error)[:300]})
        # Outside of the handler, which keeps the tensors of the failed step.
        self._model.zero_grad(set_to_none=True)
        torch.cuda.empty_cache()
        apply_deltas(self._model, self._weights[STAGES[STAGES.index(name) - 1]])
        left = max(10.0, seconds - (time.perf_counter() - started))
        rate, batch_tokens = recipe.learning_rate / 2, recipe.batch_tokens // 2
        smaller = replace(recipe, seconds=left, checkpointing=True, batch_tokens=batch_tokens, learning_rate=rate)
        return train(self._model, texts, smaller, self._out / f"{name}-smaller", every=_EVERY)

    def _part(self, name: str, compute: Callable[[], Mapping[str, object]]) -> None:
        left = self._seconds - (time.perf_counter() - self._started)
        if left < 0:
            self._results["left_out"].append(name)
            self._write()
            return
        try:
            found = compute()
        except RuntimeError as error:  # of torch; the other parts may still have room
            torch.cuda.empty_cache()
            found = {"error": str(error)[:300]}
        self._done(name, found)

    def _done(self, name: str, about: Mapping[str, object]) -> None:
        line = {"part": name, "at": _since(self._started), **about}
        self._results["parts"].append(line)
        for log in sorted(self._out.glob("*/log.jsonl")):
            self._results["logs"][log.parent.name] = [json.loads(text) for text in log.read_text("utf-8").splitlines()]
        self._say(line)
        self._write()

    def _write(self) -> None:
        (self._out / "results.json").write_text(json.dumps(self._results) + "\n", encoding="utf-8")

    def _use(self, stage: str) -> None:
        apply_deltas(self._model, self._weights[stage])

    def _asked(self, length: int) -> list[AskedText]:
        if length not in self._texts:
            self._texts[length] = read_asked(self._data / f"asked-{length}.jsonl")
            self._results["questions"][str(length)] = questions_of(self._texts[length], self._model.window)
        return self._texts[length]

    def _memory_rows(self, length: int, rows_of: Callable[..., list[AskedRow]]) -> tuple[torch.Tensor, list[AskedRow]]:
        texts = self._asked(length)
        return torch.tensor([text.tokens for text in texts], device=self._device), rows_of(texts, self._prompts)

    def _answers(self, stage: str, ratios: Sequence[int], length: int) -> Mapping[str, object]:
        self._use(stage)
        tokens, rows = self._memory_rows(length, answer_rows)
        recall = {}
        for ratio in ratios_for(self._model, length, ratios):
            with autocast(self._device, True):
                found = check_answers(self._model, read_texts(self._model, tokens, ratio), rows)
            recall[str(ratio)] = self._record("beacon", stage, ratio, length, found)
        return {"recall": recall}

    def _base_answers(self, length: int) -> Mapping[str, object]:
        """Full attention where the text fits, and pieces that BM25 finds by the question."""
        recall = {}
        if length <= self._model.max_positions:
            tokens, rows = self._memory_rows(length, answer_rows)
            with autocast(self._device, True):
                found = check_answers(self._model, read_texts(self._model, tokens, None), rows)
            recall["kv"] = self._record("kv", "base", None, length, found)
        recall["bm25"] = self._retrieved("bm25", length, None)
        return {"recall": recall}

    def _retrieved(self, method: str, length: int, clues: Sequence[Sequence[str]] | None) -> float:
        rows = retrieved_rows(self._asked(length), self._prompts, clues)
        with autocast(self._device, True):
            found = check_answers(self._model, self._model.empty(len(rows)), rows, rows_at_once=24)
        return self._record(method, "base", None, length, found)

    def _record(self, method: str, stage: str, ratio: int | None, length: int, found: Sequence[CheckedAnswer]) -> float:
        """Returns the share of right answers."""
        right = [int(answer.is_right) for answer in found]
        nats = [round(answer.nats, 3) for answer in found]
        cell = {"method": method, "stage": stage, "ratio": ratio, "length": length, "right": right, "nats": nats}
        self._results["answers"].append(cell)
        return round(sum(right) / len(right), 4)

    def _write_clues(self, stage: str, ratio: int | None, length: int) -> Mapping[str, object]:
        """Clues of every question, and the base model's answers from the pieces that they find."""
        if ratio is not None and ratio not in ratios_for(self._model, length, (ratio,)):
            return {"skipped": "too few positions"}
        if ratio is None and length > self._model.max_positions:
            return {"skipped": "too few positions"}
        self._use(stage)
        tokens, rows = self._memory_rows(length, clue_rows)
        with autocast(self._device, True):
            memory = read_texts(self._model, tokens, ratio)
            n_new = self._plan.evaluation.clue_tokens
            written = write_answers(self._model, memory, rows, n_new, self._prompts.end, rows_at_once=72)
        del memory
        texts = [self._prompts.decode(of) for of in written]
        self._results["clues"].append({"stage": stage, "ratio": ratio, "length": length, "texts": texts})
        method = f"bm25 by clues, {'kv' if ratio is None else f'ratio {ratio}'}"
        return {"recall": self._retrieved(method, length, [[text] for text in texts])}

    def _losses(self) -> Mapping[str, object]:
        """Held-out next-token loss by stage and ratio, of full attention, and of windows without memory."""
        texts = open_texts(self._data / HELD_OUT)
        tokens, n_tokens = torch.from_numpy(texts.batch(range(len(texts)))[0]).to(self._device), texts.lengths[0]
        self._loss("full attention", tokens, None)
        self._loss("no memory", tokens.reshape(-1, self._model.window), None)
        for stage in STAGES:
            self._use(stage)
            for ratio in ratios_for(self._model, n_tokens, self._plan.evaluation.ratios):
                self._loss(stage, tokens, ratio)
        return {"losses": {f"{of['method']} {of['ratio'] or ''}".strip(): of["loss"] for of in self._results["losses"]}}

    @torch.no_grad()
    def _loss(self, method: str, tokens: torch.Tensor, ratio: int | None) -> None:
        window = self._model.window
        self._model.window = window if ratio else tokens.shape[1]
        ratio_of = RatioSequence((ratio or 1,)).for_text(tokens.shape[1], Random())
        sums, counts = list[float](), list[int]()
        for row in tokens.split(max(1, 8192 // tokens.shape[1])):
            with autocast(self._device, True):
                found = self._model.score(row, ratio_of)
            sums += [float(nats) for nats in found.window_sums]
            counts += found.window_labels
        self._model.window = window
        n_windows = len(sums) if ratio is None else tokens.shape[1] // window
        self._results["losses"].append(
            {
                "method": method,
                "ratio": ratio,
                "loss": round(sum(sums) / sum(counts), 4),
                "nats": [round(sum(sums[number::n_windows]), 2) for number in range(n_windows)],
                "labels": [sum(counts[number::n_windows]) for number in range(n_windows)],
            }
        )

    def _repeat(self) -> Mapping[str, object]:
        """Whether two short runs end with the same weights, with and without deterministic algorithms."""
        texts, found = open_texts(self._data / STAGE_1), dict[str, object]()
        recipe = replace(self._plan.stage_1, steps=3, batch_tokens=self._plan.stage_1.batch_tokens // 4)
        for is_deterministic in (False, True):
            torch.use_deterministic_algorithms(is_deterministic, warn_only=True)
            ends = []
            for number in range(2):
                self._use(UNTRAINED)
                folder = self._out / "repeat" / f"{is_deterministic}-{number}"
                started = time.perf_counter()
                train(self._model, texts, recipe, folder, every=Intervals(log=0, checkpoint=0))
                seconds = _since(started)
                ends.append({name: weight.detach().clone() for name, weight in self._model.beacon_parameters()})
            most = max(float((ends[0][name] - ends[1][name]).abs().max()) for name in ends[0])
            name = "deterministic" if is_deterministic else "default"
            found[name] = {"equal": most == 0.0, "largest_difference": most, "seconds": seconds}
        torch.use_deterministic_algorithms(False)
        return found


_EVERY = Intervals(log=10, checkpoint=0)


def questions_of(texts: Sequence[AskedText], window: int) -> list[dict[str, object]]:
    """What a report needs of each question, in the order of the values."""
    return [
        {
            "text": row,
            "bridged": asked.bridged,
            "position": position,
            "compressed": position < len(text.tokens) // window * window,
        }
        for row, text in enumerate(texts)
        for asked, position in zip(text.questions, text.positions, strict=True)
    ]


def _stage_1_texts(
    plan: RealPlan, documents: Sequence[Document], words: ModelTokenizer, counts: TextCounts
) -> Iterator[Any]:
    texts = _excerpt(documents, plan.stage_1_characters, Random(f"beacon stage 1 {plan.stage_1.seed}"))
    return rows_of_documents(texts, words, plan.stage_1.lengths, counts)


def _stage_2_texts(
    plan: RealPlan, documents: Sequence[Document], words: ModelTokenizer, counts: TextCounts
) -> Iterator[Any]:
    recipe = plan.stage_2
    draw = Random(f"beacon stage 2 {recipe.seed}")
    samples = _samples(plan.samples, documents, draw)
    return texts_of_samples(samples, words, recipe.window, max(recipe.lengths), counts, recipe.questions)


def _samples(texts: SampleTexts, documents: Sequence[Document], draw: Random) -> Iterator[Sample]:
    for number, host in enumerate(islice(host_texts(documents, draw), texts.n_texts)):
        n_characters = texts.n_characters[number % len(texts.n_characters)]
        yield from samples_of(plant(draw, joined(host, n_characters), TRAINING, texts.density))


def _held_out_rows(
    evaluation: Evaluation, documents: Sequence[Document], prompts: ReadingPrompts
) -> Iterator[TrainingText]:
    """Neighbouring files as one text, without a conversation around it."""
    n_tokens = evaluation.held_out_tokens
    hosts = host_texts(documents, Random(f"beacon held out {evaluation.seed}"))
    for host in islice(hosts, evaluation.held_out_rows):
        tokens = prompts.encode(joined(host, 6 * n_tokens))[:n_tokens]
        yield TrainingText(np.array(tokens, np.int32), np.arange(n_tokens) > 0)


def _excerpt(documents: Sequence[Document], n_characters: int, draw: Random) -> Iterator[str]:
    """Of each package about equally much: files that follow each other by path, from a random one on."""
    packages: dict[str, list[Document]] = {}
    for document in sorted(documents, key=lambda document: (document.package, document.path)):
        packages.setdefault(document.package, []).append(document)
    for of_package in packages.values():
        n_left, start = n_characters // len(packages), draw.randrange(len(of_package))
        for document in [*of_package[start:], *of_package[:start]]:
            if n_left <= 0:
                break
            n_left -= len(document.text)
            yield f"# {document.package}/{document.path}\n{document.text}"


def _documents(path: Path) -> Sequence[Document]:
    if not path.is_file():
        raise ModelMissing(f"{path} is missing. Write it with `python -m weft.llm.training sources`.")
    return read_documents(path)


def _machine(device: torch.device) -> dict[str, object]:
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor()
    return {"device": name, "torch": torch.__version__, "transformers": transformers.__version__}


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 1)
