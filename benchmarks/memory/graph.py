"""`weft bench memory graph`: the graph that QRMeM makes of texts for a question, and its way through it.

    weft bench memory graph docs/*.md --question "What restarts the indexer?" --svg graph.svg
    weft bench memory graph book.txt --question "Who built the mill?" --json graph.json --model openai=URL#NAME

Prints the segments that are found, with reasons. The picture opens in any browser; the JSON holds graph and steps.

Owns the command. The walk is in `memory/qrmem`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from ...memory import Budget, Item, MeteredModel, Question, StrategyContext
from ...memory.qrmem import QRMeM, QRMeMSettings
from ...memory.qrmem.drawing import draw_graph
from ...memory.qrmem.settings import Navigation
from ..command import command_parser, run_command, say
from ..models import open_chat_model
from .systems import open_remembering


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench memory graph", __doc__, "model", "context", "embeddings")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="texts")
    parser.add_argument("--question", required=True, metavar="WORDS")
    parser.add_argument("--n", type=int, default=5, help="number of segments (5)")
    parser.add_argument("--navigation", choices=get_args(Navigation), default="reflection")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write the picture")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the graph and the steps")
    return run_command(parser, _draw, arguments)


def _draw(options: argparse.Namespace) -> int:
    items = [Item(str(path), path.read_text(encoding="utf-8", errors="replace")) for path in options.files]
    embedder, _ = open_remembering(options.embeddings)
    model = open_chat_model(options.model, options.context)
    context = StrategyContext(embedder=embedder)
    if model is not None:
        context = StrategyContext(MeteredModel(model), embedder, count_tokens=model.count_tokens)
    memory = QRMeM(context, QRMeMSettings(navigation=options.navigation))
    memory.remember(items)
    question = Question(options.question)
    estimate = memory.estimate(question)
    if estimate.n_calls:
        say(f"At most {estimate.n_calls} calls and {estimate.tokens_in + estimate.tokens_out:,} tokens.")
    found = memory.recall(question, Budget(n=options.n))
    graph = memory.graph(question)
    if options.svg:
        options.svg.write_text(draw_graph(graph, found.trace), encoding="utf-8")
    if options.json:
        steps = [{"step": step.name, **step.detail} for step in found.trace]
        record = {"question": question.text, "steps": steps, "graph": graph.to_json()}
        options.json.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{len(graph.entities)} entities, {len(graph.relations)} relations.")
    for each in found.evidence:
        print(f"{each.segment.place}: {each.why}")
    return 0
