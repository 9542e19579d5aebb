"""`python -m weft.benchmarks.memory`, which is `weft bench memory`.

Owns the list of commands. Each has a module in this folder with a `main` of its own arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {
    "questions": "recall of the lines that answer questions about repositories",
    "tuning": "the same for the questions that the search was tuned on",
    "ranking": "fit of the weights of the search, and of its confidence",
    "stories": "recall of facts in BABILong-style stories of up to 128k tokens",
    "dialogues": "recall of the turns that a last question is about",
    "answers": "answer quality and cost of strategies with a model of yours",
    "ablations": "what the parts of QRMeM and SEGMENT+ are worth, with a model of yours",
    "clues": "what the clues of MemoRAG's memory find, against the question alone",
    "sweep": "a parameter sweep of FragRel",
    "position": "recall by position of the evidence, and by the gap in it",
    "hops": "multi-hop recall: both paragraphs, where one leads to the other",
    "graph": "the graph of names and relations of your texts, and the path to an answer, as a picture",
    "remembered": "cost of later questions about a document, in one process and across processes",
    "generate": "write stories, dialogues, a book or completion tasks to a file",
}


def main(arguments: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in COMMANDS:
        return int(import_module(f".{arguments[0]}", __package__).main(arguments[1:]))
    is_help = arguments[:1] in (["-h"], ["--help"])
    lines = [f"usage: weft bench memory {{{','.join(COMMANDS)}}} ...", ""]
    lines += [f"  {command:<10} {of}" for command, of in COMMANDS.items()]
    if arguments and not is_help:
        lines += ["", f"{arguments[0]!r} is none of these."]
    print("\n".join(lines), file=sys.stdout if is_help else sys.stderr)
    return 0 if is_help else 2


if __name__ == "__main__":
    raise SystemExit(main())
