"""Training recipes and steps: which files each step reads and writes, and with which settings.

Owns the layout of the working folder and the settings of the known recipes. `python -m weft.llm.training STEP` runs one
step; `all` skips the data steps whose results exist.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from .lexical_retrieval import LEXICAL
from .samples import InfillTask, Rows, SampleGenerator, SampleMix, read_rows, write_rows
from .sources import SourceOptions, gather_sources, read_documents, write_corpus
from .tokenizer import TrainingTokenizer, train_tokenizer

if TYPE_CHECKING:
    from .model import SmallLlama


@dataclass(frozen=True, slots=True)
class StagePlan:
    """Rows of one length, and their share of the run."""

    context_tokens: int
    share: float


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of a model, without those of the machine that trains it."""

    preset: str
    tokens: int  # of the run, over all stages
    batch_tokens: int
    stages: tuple[StagePlan, ...]
    unique_tokens: int  # in the rows; less than `tokens` means several epochs
    sources: SourceOptions = field(default_factory=SourceOptions)
    mix: SampleMix = field(default_factory=SampleMix)
    n_tokenizer_characters: int = 40_000_000
    n_tasks: int = 200
    seed: int = 0
    retrieval: str = LEXICAL  # a name for `retrieval_named`


# The confidence weights are fitted on these, so a model trained on them would get too much confidence.
FITTED_PACKAGES = frozenset(
    {
        "accelerate", "cattrs", "click", "fastapi", "gguf", "httpx", "huggingface-hub", "hypothesis", "jinja2", "mypy",
        "pydantic", "pygls", "pytest", "requests", "rich", "starlette",
    }
)  # fmt: skip
# Of the benchmarks for edits and for questions, and of the first measurements of small models.
EVALUATION_PACKAGES = frozenset(
    {"networkx", "scrapy", "flask", "poetry", "attrs", "sqlite-utils", "optuna", "falcon", "geopandas"}
)

# The test model. Rows of 256 tokens have the most ends of middles, which a model learns first, but almost no room for
# fragments: 2 % have one. The last rows are long, since benchmarks use prompts of 1,500 tokens.
TINY = Recipe(
    preset="tiny",
    tokens=1_200_000,
    batch_tokens=2048,
    stages=(StagePlan(256, 0.5), StagePlan(512, 0.35), StagePlan(2048, 0.15)),
    unique_tokens=2_000_000,
    sources=SourceOptions(most_package_characters=300_000),
    mix=SampleMix(fill=0.85, retrieved=0.2, oracle=0.5, middle_weight=5),
    n_tasks=50,
)
# The test of the pipeline itself.
SMOKE = Recipe(
    preset="micro",
    tokens=40_000,
    batch_tokens=1024,
    stages=(StagePlan(128, 0.8), StagePlan(256, 0.2)),
    unique_tokens=40_000,
    sources=SourceOptions(most_package_characters=20_000),
    n_tasks=5,
)
# For a GPU, from a folder of wheels. The first stage is short, so that the training begins while rows are written.
FULL = Recipe(
    preset="30m",
    tokens=600_000_000,
    batch_tokens=98_304,
    stages=(StagePlan(512, 0.2), StagePlan(1024, 0.65), StagePlan(2048, 0.15)),
    unique_tokens=150_000_000,
    sources=SourceOptions(held_out=FITTED_PACKAGES | EVALUATION_PACKAGES, most_package_characters=10_000_000),
    mix=SampleMix(fill=0.9, retrieved=0.45, oracle=0.15, at_end=0.4),
)
# One to two hours on two cores. Packages that completions are fitted or evaluated on are held out.
CPU = Recipe(
    preset="5m",
    tokens=25_000_000,
    batch_tokens=4096,
    stages=(StagePlan(512, 0.6), StagePlan(1024, 0.4)),
    unique_tokens=14_000_000,
    sources=SourceOptions(held_out=FITTED_PACKAGES | EVALUATION_PACKAGES, most_package_characters=1_200_000),
    mix=SampleMix(fill=0.9, retrieved=0.4, oracle=0.3, at_end=0.5, middle_weight=5),
)
RECIPES: dict[str, Recipe] = {"tiny": TINY, "smoke": SMOKE, "full": FULL, "cpu": CPU}


class WorkFolder:
    """The working folder of one model, `OUT/work`, and the steps on it."""

    def __init__(self, out: Path, recipe: Recipe) -> None:
        self.out = out
        self.recipe = recipe
        self.folder = out / "work"
        self.training = self.folder / "training.jsonl"
        self.held_out = self.folder / "held_out.jsonl"
        self.tokenizer_file = self.folder / "tokenizer.json"
        self.checkpoint = self.folder / "checkpoint.pt"
        self.log = self.folder / "log.jsonl"
        self.command = self.folder / "command.txt"  # of the training

    @cached_property
    def tokenizer(self) -> TrainingTokenizer:
        return TrainingTokenizer.load(self.tokenizer_file)

    def rows_folder(self, context_tokens: int) -> Path:
        return self.folder / f"rows-{context_tokens}"

    @property
    def has_rows(self) -> bool:
        """Whether the rows of all lengths in the recipe and those for evaluation exist."""
        wanted = [self.rows_folder(stage.context_tokens) for stage in self.recipe.stages]
        return all(folder.is_dir() for folder in (*wanted, self.folder / "held-out"))

    def gather(self) -> None:
        corpus = gather_sources(self.recipe.sources)
        write_corpus(corpus, self.folder)
        n_characters = sum(len(document.text) for document in corpus.training)
        print(
            f"Training data: {len(corpus.training)} files of {len(corpus.packages)} packages, {n_characters} characters"
        )

    def make_tokenizer(self) -> None:
        from .model import PRESETS

        texts, left = [], self.recipe.n_tokenizer_characters
        for document in Random(self.recipe.seed).sample(documents := read_documents(self.training), len(documents)):
            texts.append(document.text)
            left -= len(document.text)
            if left < 0:
                break
        train_tokenizer(texts, PRESETS[self.recipe.preset].n_vocabulary).save(self.tokenizer_file)

    def make_rows(self, jobs: int) -> None:
        recipe = self.recipe
        total = sum(stage.share for stage in recipe.stages)
        shortest = min(stage.context_tokens for stage in recipe.stages)

        def write(documents: Path, name: str, context_tokens: int, n_rows: int, seed: int) -> None:
            out = self.folder / name
            write_rows(
                documents, self.tokenizer_file, out, context_tokens, n_rows, recipe.mix, seed, pool, recipe.retrieval
            )

        with ProcessPoolExecutor(jobs) if jobs > 1 else nullcontext() as pool:
            # In the order of their use, since a training can begin before all are written.
            write(self.held_out, "held-out", shortest, 64, recipe.seed + 1)
            for stage in recipe.stages:
                n_rows = max(1, round(recipe.unique_tokens * stage.share / total / stage.context_tokens))
                name = self.rows_folder(stage.context_tokens).name
                write(self.training, name, stage.context_tokens, n_rows, recipe.seed)

    def held_out_tasks(self, *, oracle: bool) -> list[InfillTask]:
        context_tokens = min(512, max(stage.context_tokens for stage in self.recipe.stages))
        generator = SampleGenerator(read_documents(self.held_out), self.tokenizer, context_tokens, self.recipe.mix)
        random = Random(f"tasks {self.recipe.seed}")
        return [generator.task(random, oracle=oracle) for _ in range(self.recipe.n_tasks)]

    def evaluation(self, bf16: bool) -> Callable[[SmallLlama], Mapping[str, float]]:
        """Held-out loss, and infilling on held-out packages without fragments and with an oracle fragment."""
        from .train import held_out_loss, infill_accuracy

        plain, with_oracle = self.held_out_tasks(oracle=False), self.held_out_tasks(oracle=True)

        def evaluate(model: SmallLlama) -> Mapping[str, float]:
            rows = read_rows(self.folder / "held-out")
            rows = Rows(rows.tokens[:64], rows.weights[:64])
            return {
                **held_out_loss(model, rows, bf16),
                **infill_accuracy(model, self.tokenizer, plain, "infill"),
                **infill_accuracy(model, self.tokenizer, with_oracle, "oracle"),
            }

        return evaluate

    def train(self, wait_for_rows: bool = False, **how: Any) -> dict[str, Any]:
        """Train or resume; `how` are the TrainOptions of the machine, or of a shorter run.

        With `wait_for_rows` a stage waits for its rows, which another process writes meanwhile.
        """
        import torch

        from .export import padded_shape
        from .model import PRESETS, SmallLlama
        from .train import Stage, TrainOptions, train

        recipe = self.recipe
        batch_tokens = recipe.batch_tokens * int(os.environ.get("WORLD_SIZE", "1"))
        steps = 0 if how.get("seconds") else max(1, recipe.tokens // batch_tokens)
        options = TrainOptions(**{"steps": steps, "batch_tokens": recipe.batch_tokens, "seed": recipe.seed, **how})
        torch.manual_seed(recipe.seed)
        model = SmallLlama(padded_shape(PRESETS[recipe.preset], self.tokenizer))

        def reader(stage: StagePlan) -> Callable[[], Rows]:
            folder = self.rows_folder(stage.context_tokens)
            return lambda: _when_written(folder) if wait_for_rows else read_rows(folder)

        stages = [Stage(reader(stage), stage.share) for stage in recipe.stages]
        return train(model, stages, options, self.folder, self.evaluation(options.bf16))

    def export(self) -> None:
        from .export import export_all
        from .train import load_model

        export_all(load_model(self.checkpoint), self.tokenizer_file, self.out, self.recipe.preset)
        for name in ("licences.md", "licences.json"):
            (self.out / name).write_bytes((self.folder / name).read_bytes())

    def write_card(self, command: str, date: str, checks: str) -> None:
        """Write `card.md` beside the model, from the template and the log of the run."""
        from .model import count_parameters
        from .train import load_model

        lines = [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]
        packages = json.loads((self.folder / "licences.json").read_text(encoding="utf-8"))["packages"]
        trained = [package for package in packages if not package["held_out"]]
        model, last = load_model(self.checkpoint), lines[-1]
        stages = ", ".join(f"{stage.share:.0%} at {stage.context_tokens}" for stage in self.recipe.stages)
        values = {
            "name": self.recipe.preset,
            "date": date,
            "command": command,
            "n_parameters": f"{count_parameters(model):,}",
            "shape": str(model.shape),
            "n_packages": len(trained),
            "n_files": sum(package["n_files"] for package in trained),
            "n_characters": f"{sum(package['n_characters'] for package in trained):,}",
            "licences": ", ".join(sorted({package["licence"] for package in trained})),
            "held_out": ", ".join(package["name"] for package in packages if package["held_out"]),
            "excluded": ", ".join(sorted(self.recipe.sources.excluded)),
            "tokens": f"{last['tokens']:,}",
            "stages": stages,
            "mix": str(self.recipe.mix),
            "seconds": last["train_seconds"],
            "processes": last["processes"],
            "torch": version("torch"),
            "figures": "\n".join(f"| {name} | {last[name]} |" for name in _METRICS if name in last),
            "checks": checks or "Not run.",
            "sizes": "\n".join(f"| {path} | {size / 1e6:.1f} |" for path, size in self._sizes()),
        }
        template = (Path(__file__).parent / "card.md").read_text(encoding="utf-8")
        (self.out / "card.md").write_text(template.format(**values), encoding="utf-8")

    def _sizes(self) -> list[tuple[str, int]]:
        kinds = ("transformers/*.safetensors", "onnx/*.onnx", "*.gguf")
        paths = sorted(path for kind in kinds for path in self.out.glob(kind))
        return [(path.relative_to(self.out).as_posix(), path.stat().st_size) for path in paths]


_METRICS = ("held_out_loss", "middle_loss", "infill_exact", "infill_ended", "oracle_exact", "oracle_ended")


def _when_written(folder: Path) -> Rows:
    """The rows of a folder, as soon as it is there."""
    if not folder.is_dir():
        print(f"Waiting for {folder.name}, which the step `rows` writes.", flush=True)
    while not folder.is_dir():
        time.sleep(_WAIT_SECONDS)
    return read_rows(folder)


_WAIT_SECONDS = 0.5
