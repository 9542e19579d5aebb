"""`weft bench memory graph`: the graph that QRMeM makes of texts for a question, and its way through it.

    weft bench memory graph docs/*.md --question "What restarts the indexer?" --svg graph.svg
    weft bench memory graph book.txt --question "Who built the mill?" --json graph.json --model openai=URL#NAME

Prints the segments that were found and why. The picture opens in any browser; the JSON holds graph and steps.

Owns the command. The walk is in `memory/qrmem`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from ...llm import ModelError
from ...memory import Accountant, Budget, Item, Kit, Question
from ...memory.embedding import KINDS, EmbedderSettings, open_embedder
from ...memory.qrmem import QRMeM, QRMeMSettings, draw
from ...memory.qrmem.settings import Navigation
from ...server.model_spelling import SPELLINGS
from ..completion.work import ModelAsked, open_asked


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse_arguments(arguments)
    try:
        items = [Item(str(path), path.read_text(encoding="utf-8", errors="replace")) for path in options.files]
        memory = QRMeM(_kit(options), QRMeMSettings(navigation=options.navigation))
        memory.remember(items)
        question = Question(options.question)
        estimate = memory.estimate(question)
        if estimate.n_calls:
            tokens = estimate.tokens_in + estimate.tokens_out
            print(f"At most {estimate.n_calls} calls and {tokens:,} tokens.", file=sys.stderr)
        found = memory.recall(question, Budget(n=options.n))
        graph = memory.graph(question)
        if options.svg:
            options.svg.write_text(draw(graph, found.trace), encoding="utf-8")
        if options.json:
            steps = [{"step": step.name, **step.detail} for step in found.trace]
            record = {"question": question.text, "steps": steps, "graph": graph.to_json()}
            options.json.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except (ModelError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(graph.entities)} entities, {len(graph.relations)} relations.")
    for each in found.evidence:
        print(f"{each.segment.place}: {each.why}")
    return 0


def _kit(options: argparse.Namespace) -> Kit:
    embedder, _ = open_embedder(EmbedderSettings(options.embeddings))
    if options.model == "none":
        return Kit(embedder=embedder)
    model = open_asked(ModelAsked(options.model, options.context))
    if model is None:
        raise ModelError(f"{options.model} answers no questions. Give another of {SPELLINGS}.")
    return Kit(Accountant(model), embedder, count_tokens=model.count_tokens)


def _parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="weft bench memory graph", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="texts")
    parser.add_argument("--question", required=True, metavar="WORDS")
    parser.add_argument("--n", type=int, default=5, help="segments that are found (5)")
    parser.add_argument("--navigation", choices=get_args(Navigation), default="reflection")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the picture")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the graph and the steps")
    parser.add_argument("--model", default="none", metavar="BACKEND[=WHERE]", help=f"none, {SPELLINGS}")
    parser.add_argument("--context", type=int, default=4096, metavar="TOKENS", help="of prompt and answer (4096)")
    parser.add_argument("--embeddings", choices=KINDS[:-2], default="auto")
    return parser.parse_args(arguments)
