"""`weft bench token-model`: fits the token model of the workspace model, and measures it on trees that are held out.

Owns the command. Files are read in `corpus`, the network and its loss are in `fit`.

    weft bench token-model --pinned                        fits on the pinned trees, which are fetched
    weft bench token-model --fit TREE... --held-out TREE...
    weft bench token-model --held-out TREE...                 measures the shipped weights

Each tree is a repository of its own, in any languages; none may be one that a benchmark reports on, or that the
candidate scorer is fitted on, since it would then trust the token model too much.
The likelihood is that of the next token among all tokens of a batch of eight files, so it compares networks only.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...errors import UserError
from ...llm.workspace_model.token_model import WEIGHTS_FILE, TokenEncoder, fitted_token_model, packed
from ..command import Report, command_parser, run_command, say
from ..fit_trees import TOKEN_MODEL, chosen_trees
from ..tables import markdown

N_WORDS = 4_086
MOST_TOKENS = 430_000


NOTES = """\
"Shipped" learned from the trees "token model" of `benchmarks/fit_trees.py`, in one pass over 18 million tokens.
The held-out trees are those of the candidate scorer. The loss is that of the next token among all tokens of a batch
of eight files, so it compares networks only; what the token model adds to completions is in [scorer.md](scorer.md)."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench token-model", __doc__, "work", "machine", "write-results")
    parser.add_argument("--pinned", action="store_true", help="the pinned trees instead of named ones")
    parser.add_argument("--fit", type=Path, nargs="+", default=[], metavar="TREE", help="folders to fit on")
    parser.add_argument("--held-out", type=Path, nargs="+", default=[], metavar="TREE", help="folders to measure on")
    parser.add_argument("--tokens", type=float, default=18e6, metavar="N", help="tokens to learn from (18e6)")
    parser.add_argument("--rate", type=float, default=4e-3, metavar="RATE", help="of learning (0.004)")
    parser.add_argument("--words", type=int, default=N_WORDS, metavar="N", help=f"known words ({N_WORDS})")
    parser.add_argument("--hidden", type=int, default=192, metavar="N", help="size of the hidden layers (192)")
    parser.add_argument("--size", type=int, default=64, metavar="N", help="size of an embedding (64)")
    parser.add_argument("--output", type=Path, default=WEIGHTS_FILE, metavar="FILE", help="the weights")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    options.fit, options.held_out = chosen_trees(options, TOKEN_MODEL)
    if not options.held_out:
        raise UserError("There are no trees to measure on. Name folders of code with --held-out, or use --pinned.")
    from .corpus import encode_files, known_words, read_files
    from .fit import Network, figures, fit

    held_out = [each for tree in options.held_out for each in read_files(tree, MOST_TOKENS // 5)]
    rows, results = [], dict[str, object]()
    shipped = fitted_token_model()
    if shipped is not None:
        found = figures(Network.of(shipped), encode_files(held_out, shipped.encoder))
        rows.append(["shipped", f"{found['loss']:.3f}", f"{100 * found['right']:.1f}"])
        results["shipped"] = found
    if options.fit:
        files = [list(read_files(tree, MOST_TOKENS)) for tree in options.fit]
        words = known_words(files, options.words)
        network = Network(len(words), options.size, options.hidden)
        encoder = TokenEncoder(words)
        corpus = encode_files([each for of_tree in files for each in of_tree], encoder)
        say(f"{len(files)} trees, {len(corpus)} tokens")
        started = time.perf_counter()
        fit(network, corpus, n_tokens=int(options.tokens), rate=options.rate)
        found = figures(network, encode_files(held_out, encoder))
        rows.append(["fitted", f"{found['loss']:.3f}", f"{100 * found['right']:.1f}"])
        np.savez(options.output, **packed(words, network.weights()))  # type: ignore[arg-type]
        results |= {"fitted": found, "tokens": len(corpus), "seconds": round(time.perf_counter() - started)}
        say(f"written to {options.output}")
    results |= {name: [tree.name for tree in getattr(options, name)] for name in ("fit", "held_out")}
    text = markdown(["weights", "NLL a token", "% right"], rows)
    fitted = "--fit TREE... " if options.fit else ""
    command = "weft bench token-model " + ("--pinned" if options.pinned else f"{fitted}--held-out TREE...")
    return Report("token-model", text, results, "Token model, on held-out trees", notes=NOTES, command=command)


if __name__ == "__main__":
    raise SystemExit(main())
