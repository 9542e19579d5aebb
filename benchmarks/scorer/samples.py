"""Samples of a tree: the rows of features at every token of random lines, as the server makes them.

Owns reading a tree, the requests, and the file of a sample. Equal rows of a token are stored once, with their number.
Knows no weight.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...codegraph.modules import manifest_style
from ...languages import language_of
from ...llm import Cancel
from ...llm.workspace_model.features import FEATURES
from ...server.completion import Cursor
from ...server.completion.model_request import request_for
from ...server.config import Config, IndexOptions
from ...server.config.options import index_settings
from ...server.workspace.analysis import analyse
from ...server.workspace.files import FoundFile, Membership, SourceText, read_source
from ...server.workspace.snapshot import FolderSnapshot
from ...server.workspace.text import TextLines
from ..command import say
from ..rows import code_digest
from .lines import KINDS, SampledLine, draw_lines

MAX_FILE_BYTES = 300_000
MAX_NEW_TOKENS = 64
DEPENDS_ON = (
    *("codegraph", "languages", "llm/workspace_model", "server/completion/graph_candidates.py"),
    *("benchmarks/scorer/lines.py", "benchmarks/scorer/samples.py"),
)
NO_FEATURES = ("scorer.json", "scorer.py", "origins.py")
"""Files that samples do not depend on."""

VENDORED = frozenset({"vendor", "third_party", "third-party", "node_modules", "testdata", "_vendor", "_vendored"})


@dataclass(frozen=True, slots=True, eq=False)
class TreeSample:
    """Lines of one tree. The rows of a step, which is one token, follow each other; so do the steps of a line."""

    rows: NDArray[np.float16]  # (n_rows, n_features)
    n_equal: NDArray[np.uint16] | NDArray[np.float32]  # (n_rows,): candidates with this row
    is_right: NDArray[np.bool_]  # (n_rows,)
    rows_of_step: NDArray[np.int32]  # (n_steps,): how many
    is_indentation: NDArray[np.bool_]  # (n_steps,): the line break before the line, not counted in whole lines
    steps_of_line: NDArray[np.int32]  # (n_lines,): how many
    is_unique: NDArray[np.bool_]  # (n_lines,)
    kind: NDArray[np.int8]  # (n_lines,): index in KINDS
    family: NDArray[np.str_]  # (n_lines,): of the line's language

    @property
    def n_lines(self) -> int:
        return len(self.steps_of_line)


def sample_trees(
    trees: Sequence[Path], n_lines: int, folder: Path, n_jobs: int, *, any_code: bool = False
) -> dict[Path, TreeSample]:
    """The samples of the trees, from files in `folder` where they are there already. A tree without lines is left out.

    `any_code`: a file counts although other code made it, if tree, features and number of lines are the same.
    """
    files = {tree: sample_file(tree, n_lines, folder, any_code=any_code) for tree in trees}
    missing = {tree: file for tree, file in files.items() if not file.is_file()}
    for tree in files.keys() - missing.keys():
        say(f"{tree.name}: reused {files[tree].name}")
    if n_jobs > 1 and len(missing) > 1:
        with ProcessPoolExecutor(n_jobs) as pool:
            for text in pool.map(_write_sample, missing.keys(), missing.values(), [n_lines] * len(missing)):
                say(text)
    else:
        for tree, file in missing.items():
            say(_write_sample(tree, file, n_lines))
    samples = {tree: read_sample(file) for tree, file in files.items()}
    return {tree: sample for tree, sample in samples.items() if sample.n_lines}


def sample_file(tree: Path, n_lines: int, folder: Path, *, any_code: bool = False) -> Path:
    """The file of a tree's sample: its name has the number of lines and hashes of the features and of the code."""
    key = sha256(repr((FEATURES, str(tree.resolve()))).encode()).hexdigest()[:12]
    start = f"{tree.name}-{n_lines}-{key}"
    made = sorted(folder.glob(f"{start}-*.npz"), key=lambda file: file.stat().st_mtime) if any_code else []
    return made[-1] if made else folder / f"{start}-{code_digest(DEPENDS_ON, frozenset(NO_FEATURES))}.npz"


def read_sample(file: Path) -> TreeSample:
    with np.load(file) as arrays:
        return TreeSample(**{each.name: arrays[each.name] for each in fields(TreeSample)})


def write_sample(sample: TreeSample, file: Path) -> None:
    """Write a sample; a killed run leaves no file of this name."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for each in fields(TreeSample):
            with archive.open(f"{each.name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, getattr(sample, each.name), allow_pickle=False)
    part.replace(file)


def sample_tree(tree: Path, n_lines: int) -> TreeSample:
    """Features along `n_lines` random lines of a tree, each predicted from the text before the cursor alone."""
    texts = read_tree(tree)
    empty = FolderSnapshot.empty(index_settings(Config(), tree.name))
    snapshot = empty.with_changes(analyse(path, text) for path, text in texts.items())
    lines = draw_lines(texts, snapshot.index.graph.files, n_lines, tree.name)
    return _joined([_sample_line(snapshot, texts[each.path], each) for each in lines])


def read_tree(tree: Path) -> dict[str, str]:
    """The code and the manifests that the server would index, by path, without vendored folders and large files."""
    options = IndexOptions(max_file_bytes=MAX_FILE_BYTES)
    texts = {}
    for found in Membership(tree, options).walk():
        if _is_read(found):
            source = read_source(tree, found, options)
            if isinstance(source, SourceText):
                texts[found.path] = source.text.replace("\r\n", "\n").replace("\r", "\n")
    return texts


def _is_read(found: FoundFile) -> bool:
    *folders, name = found.path.split("/")
    is_read = language_of(name).grammar is not None or bool(manifest_style(found.path))
    return is_read and found.size <= MAX_FILE_BYTES and VENDORED.isdisjoint(folders)


def _write_sample(tree: Path, file: Path, n_lines: int) -> str:
    sample = sample_tree(tree, n_lines)
    write_sample(sample, file)
    n_rows, n_candidates = len(sample.rows), int(sample.n_equal.sum(dtype=np.int64))
    return (
        f"{tree.name}: {sample.n_lines} lines, {len(sample.rows_of_step)} tokens, {n_candidates} candidates in "
        f"{n_rows} different rows"
    )


def _sample_line(snapshot: FolderSnapshot, text: str, line: SampledLine) -> TreeSample:
    lines = TextLines(text)
    start = lines.offset(line.line, 0)
    cursor = Cursor(line.path, TextLines(text[: start + line.column]), line.line, line.column)
    request = request_for(
        snapshot,
        cursor,
        Config(),
        (),
        snapshot.model,
        single_line=True,
        max_new_tokens=MAX_NEW_TOKENS,
        cancel=Cancel(),
    )
    rest = lines.line(line.line)[line.column :].rstrip()
    steps = [distinct_rows(rows, right) for rows, right in snapshot.model.features_along(request, rest)]
    family = language_of(line.path)
    return TreeSample(
        rows=np.concatenate([step[0] for step in steps]),
        n_equal=np.concatenate([step[1] for step in steps]),
        is_right=np.concatenate([step[2] for step in steps]),
        rows_of_step=np.array([len(step[0]) for step in steps], np.int32),
        is_indentation=np.array([at == 0 and line.column == 0 for at in range(len(steps))]),
        steps_of_line=np.array([len(steps)], np.int32),
        is_unique=np.array([line.is_unique]),
        kind=np.array([KINDS.index(line.kind)], np.int8),
        family=np.array([family.family or family.name]),
    )


def distinct_rows(
    rows: NDArray[np.float64], right: Sequence[int]
) -> tuple[NDArray[np.float16], NDArray[np.uint16], NDArray[np.bool_]]:
    """The rows of a step with equal wrong ones joined, how many each stands for, and which are right.

    The right ones and the last row, for any other token, stay as they are, at the end.
    """
    rounded = np.ascontiguousarray(rows, np.float16) + np.float16(0.0)
    single = sorted({*right, len(rows) - 1})
    others = np.delete(rounded, single, axis=0)
    as_bytes = others.view(np.dtype((np.void, others.dtype.itemsize * others.shape[1]))).ravel()
    _, first, n_equal = np.unique(as_bytes, return_index=True, return_counts=True)
    is_right = np.zeros(len(first) + len(single), np.bool_)
    is_right[len(first) :] = [at in right for at in single]
    return (
        np.concatenate([others[first], rounded[single]]),
        np.concatenate([n_equal, np.ones(len(single))]).astype(np.uint16),
        is_right,
    )


def _joined(samples: Sequence[TreeSample]) -> TreeSample:
    if not samples:
        return _EMPTY
    return TreeSample(
        *(np.concatenate([getattr(sample, each.name) for sample in samples]) for each in fields(TreeSample))
    )


_EMPTY = TreeSample(
    rows=np.zeros((0, len(FEATURES)), np.float16),
    n_equal=np.zeros(0, np.uint16),
    is_right=np.zeros(0, np.bool_),
    rows_of_step=np.zeros(0, np.int32),
    is_indentation=np.zeros(0, np.bool_),
    steps_of_line=np.zeros(0, np.int32),
    is_unique=np.zeros(0, np.bool_),
    kind=np.zeros(0, np.int8),
    family=np.zeros(0, "<U1"),
)
