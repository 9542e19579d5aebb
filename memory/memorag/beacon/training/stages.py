"""Training stages: data, training and output of each.

Owns the files of a stage: the weights in `OUT`, intermediate files in `OUT/work`. Datasets are rebuilt at each start;
an interrupted run resumes if they are the same.
"""

# mypy: allow-untyped-calls

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .....llm.local.transformers_model import load_pretrained
from ...sft_data import read_samples
from .data import ModelTokenizer, TextCounts, read_documents, rows_of_documents, texts_of_samples
from .dataset import TextDataset, TrainingText, UnusableData, write_texts
from .recipe import Recipe

if TYPE_CHECKING:
    from .....llm.training.loop import Intervals
    from ..model import BeaconModel
    from .train import Evaluate

MakeTexts = Callable[[Sequence[Path], ModelTokenizer, Recipe, TextCounts], Iterator[TrainingText]]


def stage1_texts(
    paths: Sequence[Path], words: ModelTokenizer, recipe: Recipe, counts: TextCounts
) -> Iterator[TrainingText]:
    """Rows of documents."""
    return rows_of_documents(read_documents(paths), words, recipe.lengths, counts)


def stage2_texts(
    paths: Sequence[Path], words: ModelTokenizer, recipe: Recipe, counts: TextCounts
) -> Iterator[TrainingText]:
    """Conversations about the texts of samples."""
    samples = (sample for path in paths for sample in read_samples(path))
    return texts_of_samples(samples, words, recipe.window, max(recipe.lengths), counts, recipe.questions)


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage on one machine."""

    make: MakeTexts
    recipe: Recipe
    base: Path  # a model directory of transformers
    out: Path
    start: Path | None = None  # initial beacon weights; by default copies of the base's projections
    device: str = "auto"

    def run(self, data: Sequence[Path], held_out: Sequence[Path], every: Intervals) -> Mapping[str, Any]:
        """Train and save; returns the last line of the log. `held_out` is for evaluation.

        Raises ModelError with the next step.
        """
        from ..checkpoint import save_beacon
        from .train import held_out_loss, train

        words, recipe = ModelTokenizer(self.base), self.recipe
        texts = self._texts("texts", data, words)
        evaluate: Evaluate | None = None
        if held_out:
            unseen = self._texts("held-out", held_out, words)
            evaluate = partial(held_out_loss, texts=unseen, ratios=recipe.ratios, bf16=recipe.bf16)
        model = self._model()
        last = train(model, texts, recipe, self.out / "work", evaluate, every)
        save_beacon(model, self.out, recipe.ratios)
        return last

    def _texts(self, name: str, paths: Sequence[Path], words: ModelTokenizer) -> TextDataset:
        """Raises UnusableData if the dataset is empty."""
        counts, recipe = TextCounts(), self.recipe
        texts = write_texts(self.out / "work" / name, self.make(paths, words, recipe, counts))
        print(json.dumps({"made": name, **asdict(counts)}), flush=True)
        if not texts:
            named = ", ".join(map(str, paths))
            raise UnusableData(
                f"No training data in {named}: {counts.read} documents or conversations, {counts.too_short} of "
                f"them in one window of {recipe.window} tokens, {counts.too_long} longer than {max(recipe.lengths)}, "
                f"{counts.dropped_tokens} tokens short of a row of {min(recipe.lengths)}. Use longer texts, other "
                "lengths, or a shorter window."
            )
        return texts

    def _model(self) -> BeaconModel:
        """The base with its beacon parameters; converted to float32 without bf16, and from float16."""
        import torch

        from ..checkpoint import load_beacon
        from ..model import BeaconModel

        base = load_pretrained(self.base, self.base.name, device=self.device)
        if not self.recipe.bf16 or base.dtype == torch.float16:
            base = base.float()
        if self.start is not None:
            return load_beacon(base, self.start)
        return BeaconModel.wrap(base, self.recipe.window, self.recipe.placement)
