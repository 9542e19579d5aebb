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
from .recipe import RECIPES, Recipe, Work
from .release import keep_checks, make_release
from .same_text import fixed_prompts, keep_texts, repeat_texts

STEPS = ("sources", "tokenizer", "rows", "train", "export", "check", "all", "release", "repeat")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    if options.step in ("release", "repeat"):
        try:
            return _release(options) if options.step == "release" else _repeat(options.out)
        except ModelError as error:
            print(error, file=sys.stderr)
            return 1
    work = Work(options.out, _recipe(options))
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
        work.train(**_machine(options))
    if options.step == "export" or whole:
        work.export()
    return _check(work, options) if options.step == "check" or whole else 0


def _check(work: Work, options: argparse.Namespace) -> int:
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
    trained_by = work.command.read_text(encoding="utf-8") if work.command.is_file() else "(not kept)"
    work.write_card(trained_by, date.today().isoformat(), table)
    keep_texts(work.out, checked.texts)
    keep_checks(work.out, agrees, checked.missing)
    if not all(agrees.values()):
        print("The exports do not agree with the trained model: see the table.", file=sys.stderr)
    return 0 if all(agrees.values()) else 1


def _command() -> str:
    """What was typed, for the card: paths by their last name, since where they lie is nobody's business."""
    arguments = [re.sub(r"(^|=)/(?:[^/]+/)*(?=[^/])", r"\1", argument) for argument in sys.argv[1:]]
    return shlex.join(["python", "-m", "weft.llm.training", *arguments])


def _release(options: argparse.Namespace) -> int:
    name = options.name or f"weft-code-{_recipe(options).preset}-{date.today():%Y.%m}"
    path = make_release(options.out, name)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, SHA-256 {file_hash(path)}")
    return 0


def _repeat(folder: Path) -> int:
    pairs = repeat_texts(folder)
    for then, now in pairs:
        if then != now:
            print(f"It wrote {then!r}; here it writes {now!r}.")
    same = sum(then == now for then, now in pairs)
    print(f"{same} of {len(pairs)} texts are the same.")
    return 0 if same == len(pairs) else 1


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m weft.llm.training", description="Train a small code model.")
    parser.add_argument(
        "step",
        choices=STEPS,
        help="`all` does what is missing, then trains, exports and checks; `release` packs one file for users; "
        "`repeat` writes a release's texts again",
    )
    parser.add_argument(
        "--out", type=Path, required=True, help="the model's folder; what is made on the way is in work/"
    )
    parser.add_argument("--name", help="of the release; weft-code-PRESET-YEAR.MONTH if not set")
    parser.add_argument("--recipe", choices=sorted(RECIPES), default="tiny")
    parser.add_argument("--preset", help="another size than the recipe's, a name in model.py")
    parser.add_argument("--tokens", type=int, help="to train on, if not as many as the recipe says")
    parser.add_argument("--unique-tokens", type=int, help="to make rows of")
    parser.add_argument("--sources", type=Path, action="append", default=[], metavar="DIR", help="a folder of wheels")
    parser.add_argument("--held-out", action="append", default=[], metavar="PACKAGE", help="not trained on")
    parser.add_argument(
        "--unlike", type=Path, action="append", default=[], metavar="DIR", help="code that is evaluated on: no copies"
    )
    parser.add_argument("--retrieval", metavar="MODULE:NAME", help="what finds fragments; shared rare words if not set")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that make rows")
    parser.add_argument("--seconds", type=float, default=0.0, help="train by the clock instead of by tokens")
    parser.add_argument("--batch-tokens", type=int, help="for each process")
    parser.add_argument("--learning-rate", type=float)
    parser.add_argument("--optimiser", choices=("muon", "adamw"), default="muon")
    parser.add_argument("--device", default="cpu", help="cpu or cuda; torchrun starts several")
    parser.add_argument("--precision", choices=("bf16", "float32"), default="bf16")
    parser.add_argument(
        "--compile", action="store_true", help="pays from some minutes on; needs a C++ compiler or Triton"
    )
    parser.add_argument("--threads", type=int, default=0, help="0 leaves it to torch")
    parser.add_argument("--llama-server", type=Path, metavar="FILE", help="check with this server, too")
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
    names = ("preset", "tokens", "unique_tokens", "batch_tokens", "retrieval")
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
