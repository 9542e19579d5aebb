"""`python -m weft.memory.memorag.beacon.training stage1|sft-data|stage2`: the training stages as a command.

Owns the options and the exit status: 0 for success, 2 for an error with a next step.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

from .....errors import ModelError
from .....llm.backends import BACKENDS, ModelConfig, open_model
from .....llm.installation import install_command
from .....llm.protocol import Cancel
from .....llm.training.cpu_settings import restart_with_cpu_settings
from ....budgets import room_beside
from ....metered_model import MeteredModel
from ....splitters import by_tokens
from ....storage import MemoryStore
from ....values import Item
from ...prompts import PROMPTS, language_of
from ...sft_data import CLUE_TOKENS, PAIR_TOKENS, SampleCounts, build_samples, write_samples
from ..ratios import Placement
from .data import read_documents
from .dataset import UnusableData
from .recipe import STAGE_1, STAGE_2, Recipe

CANNOT_BE_DONE = 2


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    try:
        if options.step == "sft-data":
            _write_samples(options)
        else:
            _train(options)
    except ImportError as error:
        print(f"{error.name} is not installed. Run: {install_command('train')}", file=sys.stderr)
        return CANNOT_BE_DONE
    except (ModelError, OSError) as error:
        print(error, file=sys.stderr)
        return CANNOT_BE_DONE
    return 0


def _train(options: argparse.Namespace) -> None:
    import torch

    from .....llm.training.loop import Intervals
    from .stages import Stage, stage1_texts, stage2_texts

    if options.threads:
        torch.set_num_threads(options.threads)
    make = stage1_texts if options.step == "stage1" else stage2_texts
    stage = Stage(make, _recipe(options), options.model, options.out, options.start, options.device)
    stage.run(
        options.data, options.held_out, Intervals(options.log_every, options.evaluate_every, options.checkpoint_every)
    )


def _recipe(options: argparse.Namespace) -> Recipe:
    recipe: Recipe = STAGE_1 if options.step == "stage1" else STAGE_2
    names = ["window", "placement", "epochs", "steps", "seconds", "batch", "batch_tokens", "accumulate", "optimiser"]
    names += ["learning_rate", "warm_up_steps", "questions", "seed"]
    changes: dict[str, Any] = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    changes |= {name: tuple(getattr(options, name)) for name in ("lengths", "ratios") if getattr(options, name)}
    return replace(recipe, bf16=options.precision == "bf16", checkpointing=not options.keep_windows, **changes)


def _write_samples(options: argparse.Namespace) -> None:
    """Generate SFT samples. A restarted run uses cached responses and writes its file from the beginning."""
    settings = {name: getattr(options, name) for name in ("path", "url", "name", "api_key_variable")}
    config = ModelConfig(options.backend, context_tokens=options.context_tokens, **settings)
    if (model := open_model(config)) is None:
        raise UnusableData(f"The backend `{config.backend}` does not chat. Use another one.")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    store = MemoryStore(options.out.with_suffix(".asked.db"), keep_conversations=False)
    counts = SampleCounts()
    try:
        metered = MeteredModel(model, cache=store.cache)
        metered.prepare(Cancel())
        contexts = _contexts(options.data, metered, options.questions)
        n = write_samples(options.out, build_samples(metered, contexts, options.questions, counts))
    finally:
        store.close()
        model.close()
    print(asdict(counts), flush=True)
    if not n:
        raise UnusableData(
            f"`{config.backend}` generated no sample that passed the filters (see the counts). Use a stronger model, "
            "or more informative texts."
        )


def _contexts(paths: Sequence[Path], metered: MeteredModel, n_pairs: int) -> Iterator[str]:
    """The documents, split to fit the context window."""
    count, window = metered.count_tokens, metered.window_tokens
    pair_tokens = PAIR_TOKENS * n_pairs
    for text in read_documents(paths):
        prompts = PROMPTS[language_of(text)]
        room = min(
            room_beside(window, count(prompts.pairs), pair_tokens),
            room_beside(window, count(prompts.bridge) + pair_tokens, CLUE_TOKENS),
        )
        if not room:
            raise UnusableData(f"No text fits {window} tokens. Raise `--context-tokens`, or lower `--questions`.")
        for segment in by_tokens(room, count, hard=True)(Item("document", text)):
            yield segment.text


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m weft.memory.memorag.beacon.training", description="Train a beacon memory (MemoRAG)."
    )
    steps = parser.add_subparsers(dest="step", metavar="STEP", required=True)
    stage1 = steps.add_parser("stage1", help="next-token prediction on long documents")
    stage2 = steps.add_parser("stage2", help="clues and answers about long texts")
    for stage, recipe, data in (
        (stage1, STAGE_1, "a text file, a .jsonl file with `text` in each line, or a folder of such"),
        (stage2, STAGE_2, "a .jsonl file of samples, as sft-data writes it"),
    ):
        _add_training(stage, recipe, data)
    samples = steps.add_parser(
        "sft-data", help="generate questions, answers and clues with a model: the data of stage2"
    )
    samples.add_argument(
        "--data", type=Path, action="append", required=True, metavar="PATH", help="texts, as of stage1"
    )
    samples.add_argument("--out", type=Path, required=True, metavar="FILE", help="a .jsonl file")
    samples.add_argument("--backend", choices=BACKENDS[1:-1], required=True, help="of the model")
    samples.add_argument("--path", default="", metavar="DIR", help="of a model in this process")
    samples.add_argument("--url", default="", help="of a server")
    samples.add_argument("--name", default="", help="model name on the server")
    samples.add_argument("--api-key-variable", default="", metavar="NAME", help="environment variable with the key")
    samples.add_argument(
        "--context-tokens",
        type=int,
        default=4096,
        metavar="N",
        help="of a text and its prompt; up to 80,000 in the paper",
    )
    samples.add_argument("--questions", type=int, default=3, metavar="N", help="about each text")
    return parser.parse_args(arguments)


def _add_training(stage: argparse.ArgumentParser, recipe: Recipe, data: str) -> None:
    """Defaults are those of the recipe; the help shows them."""
    add = stage.add_argument
    add("--model", type=Path, required=True, metavar="DIR", help="the base model: a directory of transformers")
    add("--data", type=Path, action="append", required=True, metavar="PATH", help=data)
    add("--held-out", type=Path, action="append", default=[], metavar="PATH", help="evaluation data")
    add("--out", type=Path, required=True, metavar="DIR", help="for the weights; an interrupted run resumes from it")
    add("--start", type=Path, metavar="DIR", help="initial beacon weights; for stage2 those of stage1")
    add("--window", type=int, metavar="N", help=f"window in tokens; {recipe.window}")
    placements = get_args(Placement)
    add("--placement", choices=placements, help=f"of memory tokens; appended as the paper prints; {recipe.placement}")
    add("--lengths", type=int, nargs="+", metavar="N", help=f"of texts in tokens; {_listed(recipe.lengths)}")
    add("--ratios", type=int, nargs="+", metavar="N", help=f"each window draws one; {_listed(recipe.ratios)}")
    add("--learning-rate", type=float, metavar="R", help=f"initial rate, with linear decay; {recipe.learning_rate}")
    add("--epochs", type=int, metavar="N", help=f"{recipe.epochs}")
    add("--steps", type=int, metavar="N", help="number of steps; replaces epochs")
    add("--seconds", type=float, metavar="S", help="seconds of training; replaces epochs")
    add("--batch", type=int, metavar="N", help=f"texts in a batch; {recipe.batch}")
    add("--batch-tokens", type=int, metavar="N", help="tokens in a batch; replaces the number of texts")
    add("--accumulate", type=int, metavar="N", help=f"batches in a step; {recipe.accumulate}")
    add("--optimiser", choices=("adamw", "muon"), help=recipe.optimiser)
    add("--warm-up-steps", type=int, metavar="N", help=f"{recipe.warm_up_steps}")
    add("--questions", type=int, metavar="N", help=f"stage2: about a text in a conversation; {recipe.questions}")
    add("--seed", type=int, metavar="N", help=f"{recipe.seed}")
    add("--precision", choices=("bf16", "float32"), default="bf16")
    add("--keep-windows", action="store_true", help="no gradient checkpointing: faster, with more memory")
    add("--device", default="auto", help="cpu or cuda; auto detects it")
    add("--threads", type=int, default=0, help="0 uses the default of torch")
    add("--log-every", type=int, default=1, metavar="STEPS")
    add("--evaluate-every", type=int, default=0, metavar="STEPS", help="0: before and after only")
    add("--checkpoint-every", type=int, default=20, metavar="STEPS")


def _listed(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


if __name__ == "__main__":
    restart_with_cpu_settings()
    sys.exit(main())
