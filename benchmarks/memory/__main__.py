"""`python -m weft.benchmarks.memory`, which is `weft bench memory`.

Owns the list of commands. Each has a module in this folder with a `main` of its own arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {
    "questions": "do questions about a repository find the lines that answer them?",
    "tuning": "the same for the questions that the search was tuned on",
    "stories": "are the facts of BABILong-style stories found in up to 128k tokens?",
    "dialogues": "are the turns found that a last question is about?",
    "answers": "command does each strategy answer with a model of yours, and command does it cost?",
    "sweep": "command do FragRel's settings change?",
    "position": "does it matter where evidence stands, and how far apart?",
    "hops": "are both paragraphs found when one leads to the other?",
    "graph": "the graph of names and relations of your texts, and the way to an answer, as a picture",
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
