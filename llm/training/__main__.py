"""`python -m weft.llm.training STEP --out FOLDER`: the steps of `recipe.py` as a command.

Owns the options.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from ...errors import ModelError
from ..library.release_file import file_hash
from .cpu_settings import restart_with_cpu_settings
from .recipe import RECIPES, Recipe, WorkFolder
from .release import make_release, save_checks
from .same_text import fixed_prompts, reproduce_texts, save_texts

STEPS = ("sources", "tokenizer", "rows", "train", "export", "check", "all", "release", "repeat")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    if options.step in ("release", "repeat"):
        try:
            return _release(options) if options.step == "release" else _repeat(options.out)
        except ModelError as error:
            print(error, file=sys.stderr)
            return 1
    work = WorkFolder(options.out, _recipe(options))
    work.folder.mkdir(parents=True, exist_ok=True)
    whole = options.step == "all"
    if options.step == "sources" or (whole and not work.held_out.is_file()):
        work.gather()
    if options.step == "tokenizer" or (whole and not work.tokenizer_file.is_file()):
        work.make_tokenizer()
    if options.step == "rows" or (whole and not work.has_rows):
        work.make_rows(options.jobs)
    if options.step == "train" or whole:
        work.command.write_text(_command(), encoding="utf-8")
        work.train(options.wait_for_rows, **_machine(options))
    if options.step == "export" or whole:
        work.export()
    return _check(work, options) if options.step == "check" or whole else 0


def _check(work: WorkFolder, options: argparse.Namespace) -> int:
    from .check import agreement_table, check_exports, check_server
    from .train import load_model

    model = load_model(work.checkpoint).eval()
    prompts = fixed_prompts(work.tokenizer)
    checked = check_exports(model, work.tokenizer, work.out, work.recipe.preset, prompts)
    table, agrees = agreement_table(checked), {agreement.name: agreement.agrees for agreement in checked.found}
    if options.llama_server:
        gguf = work.out / f"{work.recipe.preset}-f32.gguf"
        share, alike = check_server(options.llama_server, model, work.tokenizer, gguf, prompts)
        table += (
            f"\nllama-server on the f32 file: same greedy text {share:.0%}, same tokens {'yes' if alike else 'NO'}.\n"
        )
        agrees["llama-server"] = alike and share == 1.0
    print(table)
    trained_by = work.command.read_text(encoding="utf-8") if work.command.is_file() else "(not recorded)"
    work.write_card(trained_by, date.today().isoformat(), table)
    save_texts(work.out, checked.texts)
    save_checks(work.out, agrees, checked.missing)
    if not all(agrees.values()):
        print("The exports do not agree with the trained model: see the table.", file=sys.stderr)
    return 0 if all(agrees.values()) else 1


def _command() -> str:
    """The command line for the model card, with paths reduced to their last component."""
    arguments = [re.sub(r"(^|=)/(?:[^/]+/)*(?=[^/])", r"\1", argument) for argument in sys.argv[1:]]
    return shlex.join(["python", "-m", "weft.llm.training", *arguments])


def _release(options: argparse.Namespace) -> int:
    name = options.name or f"weft-code-{_recipe(options).preset}-{date.today():%Y.%m}"
    path = make_release(options.out, name)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, SHA-256 {file_hash(path)}")
    return 0


def _repeat(folder: Path) -> int:
    pairs = reproduce_texts(folder)
    for then, now in pairs:
        if then != now:
            print(f"Released text: {then!r}; text on this machine: {now!r}.")
    same = sum(then == now for then, now in pairs)
    print(f"{same} of {len(pairs)} texts are the same.")
    return 0 if same == len(pairs) else 1


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m weft.llm.training", description="Train a small code model.")
    parser.add_argument(
        "step",
        choices=STEPS,
        help="`all` runs the missing steps, then trains, exports and checks; `release` packs one file for users; "
        "`repeat` reproduces the texts of a release",
    )
    parser.add_argument("--out", type=Path, required=True, help="the model's folder; intermediate files are in work/")
    parser.add_argument("--name", help="of the release; default: weft-code-PRESET-YEAR.MONTH")
    parser.add_argument("--recipe", choices=sorted(RECIPES), default="tiny")
    parser.add_argument("--preset", help="the size, a name in model.py; default: the recipe's")
    parser.add_argument("--tokens", type=int, help="to train on; default: the recipe's")
    parser.add_argument("--unique-tokens", type=int, help="in the training rows")
    parser.add_argument("--tasks", type=int, dest="n_tasks", help="infillings in an evaluation; default: the recipe's")
    parser.add_argument("--sources", type=Path, action="append", default=[], metavar="DIR", help="a folder of wheels")
    parser.add_argument("--held-out", action="append", default=[], metavar="PACKAGE", help="excluded from training")
    parser.add_argument(
        "--unlike",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="evaluation code: files that copy it are dropped",
    )
    parser.add_argument(
        "--retrieval", metavar="MODULE:NAME", help="the retrieval of fragments; default: shared rare words"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes for the rows")
    parser.add_argument(
        "--wait-for-rows", action="store_true", help="`train` begins while another process writes the rows"
    )
    parser.add_argument("--seconds", type=float, default=0.0, help="training time, instead of a number of tokens")
    parser.add_argument("--batch-tokens", type=int, help="per process")
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--optimiser", choices=("muon", "adamw"), default="muon")
    parser.add_argument("--device", default="cpu", help="cpu or cuda; torchrun starts several")
    parser.add_argument("--precision", choices=("bf16", "float32"), default="bf16")
    parser.add_argument(
        "--compile", action="store_true", help="worth it for runs of several minutes; needs a C++ compiler or Triton"
    )
    parser.add_argument("--threads", type=int, default=0, help="0: the default of torch")
    parser.add_argument("--llama-server", type=Path, metavar="FILE", help="also check this server")
    return parser.parse_args(arguments)


def _recipe(options: argparse.Namespace) -> Recipe:
    recipe = RECIPES[options.recipe]
    sources = recipe.sources
    if options.sources:
        sources = replace(sources, folders=tuple(options.sources))
    if options.held_out:
        sources = replace(sources, held_out=frozenset(options.held_out))
    if options.unlike:
        sources = replace(sources, unlike=tuple(options.unlike))
    names = ("preset", "tokens", "unique_tokens", "n_tasks", "batch_tokens", "retrieval")
    changes = {name: getattr(options, name) for name in names if getattr(options, name)}
    return replace(recipe, sources=sources, **changes)


def _machine(options: argparse.Namespace) -> dict[str, Any]:
    import torch

    if options.threads:
        torch.set_num_threads(options.threads)
    chosen = {"learning_rate": options.learning_rate} if options.learning_rate else {}
    return {
        "seconds": options.seconds,
        "device": options.device,
        "optimiser": options.optimiser,
        "bf16": options.precision == "bf16",
        "compile": options.compile,
        **chosen,
    }


if __name__ == "__main__":
    restart_with_cpu_settings()
    sys.exit(main())
