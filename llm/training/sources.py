"""Training corpus: Python files of the standard library and of permissively licensed wheels on this machine.

Owns the walk, the filters and the list of licences that goes beside a model. The same files give the same corpus.
Nothing is downloaded: wheels come from the environment, or from folders that a person filled.
"""

from __future__ import annotations

import json
import re
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from hashlib import blake2b
from importlib.metadata import Distribution, distributions
from pathlib import Path, PurePath, PurePosixPath
from platform import python_version

from .licences import Licence, has_restrictive_header, judge_licence

STANDARD_LIBRARY = "python"
BENCHMARK_PACKAGES = frozenset(
    {"diffusers", "nerfstudio", "aws-fortuna", "evaluate", "google-vizier", "torchrl", "di-engine", "nvflare"}
)
"""Of the completion benchmark, which no model may have read."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file: what the prompt calls its repository, its path there, and its text with plain line breaks."""

    package: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Package:
    """A line of the licence list."""

    name: str
    version: str
    licence: str
    known_by: str
    n_files: int
    n_characters: int
    held_out: bool


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A package that was not used, and why."""

    name: str
    version: str
    reason: str


@dataclass(frozen=True, slots=True)
class Corpus:
    training: tuple[Document, ...]
    held_out: tuple[Document, ...]
    packages: tuple[Package, ...]
    left_out: tuple[LeftOut, ...]
    dropped_files: dict[str, int]  # by reason


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """`folders` hold installed or unpacked wheels, or `.whl` files; empty means this environment."""

    folders: tuple[Path, ...] = ()
    held_out: frozenset[str] = frozenset({"networkx", "rich"})  # whole packages, by their normalised names
    excluded: frozenset[str] = frozenset({"weft", *BENCHMARK_PACKAGES})
    # Trees of an evaluation: no file that is a copy or near copy of one of theirs is learnt from.
    unlike: tuple[Path, ...] = ()
    most_package_characters: int = 6_000_000  # so that no package is most of what a model knows


def gather_sources(options: SourceOptions) -> Corpus:
    """The corpus, packages by name and their files in an order that depends on nothing but their paths."""
    used: dict[str, tuple[str, Licence]] = {}
    files: dict[str, Iterable[Document]] = {}
    left_out: list[LeftOut] = []
    dropped: Counter[str] = Counter()
    for name, version, licence, found in _candidates(options):
        if not licence.permissive:
            left_out.append(LeftOut(name, version, f"licence {licence.name or 'unknown'} ({licence.known_by})"))
        elif name in options.excluded:
            left_out.append(LeftOut(name, version, "excluded"))
        elif name not in files:  # the first folder wins
            used[name] = (version, licence)
            files[name] = _usable(found, dropped)
    # Held-out packages go first, so that what is trained on is free of their copies and not the other way round.
    names = sorted(files, key=lambda name: (name not in options.held_out, name))
    evaluated = (_usable(_tree(folder), Counter()) for folder in options.unlike)
    in_turn = [*((_EVALUATED, found) for found in evaluated), *((name, files[name]) for name in names)]
    kept = _without_duplicates(in_turn, options.most_package_characters, dropped)
    packages = []
    for name in sorted(name for name in names if kept[name]):
        version, licence = used[name]
        n_characters = sum(len(document.text) for document in kept[name])
        is_held = name in options.held_out
        packages.append(Package(name, version, licence.name, licence.known_by, len(kept[name]), n_characters, is_held))
    return Corpus(
        training=tuple(
            doc for name in sorted(kept) if name not in {*options.held_out, _EVALUATED} for doc in kept[name]
        ),
        held_out=tuple(doc for name in sorted(kept) if name in options.held_out for doc in kept[name]),
        packages=tuple(packages),
        left_out=tuple(sorted(left_out, key=lambda package: package.name)),
        dropped_files=dict(sorted(dropped.items())),
    )


def write_corpus(corpus: Corpus, folder: Path) -> None:
    """`training.jsonl` and `held_out.jsonl`, with `licences.json` and `licences.md` beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("training", "held_out"):
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for document in getattr(corpus, name):
                file.write(json.dumps(asdict(document)) + "\n")
    lists = {
        "packages": [asdict(package) for package in corpus.packages],
        "left_out": [asdict(package) for package in corpus.left_out],
        "dropped_files": corpus.dropped_files,
    }
    (folder / "licences.json").write_text(json.dumps(lists, indent=1) + "\n", encoding="utf-8")
    (folder / "licences.md").write_text(licence_table(corpus), encoding="utf-8")


def read_documents(path: Path) -> tuple[Document, ...]:
    with path.open(encoding="utf-8") as file:
        return tuple(Document(**json.loads(line)) for line in file)


def licence_table(corpus: Corpus) -> str:
    """The list that goes beside a model: every package it learnt from, and those left out with the reason."""
    lines = ["| package | version | licence | known by | files | characters | use |", "|---|---|---|---|---|---|---|"]
    for p in corpus.packages:
        use = "held out" if p.held_out else "training"
        lines.append(
            f"| {p.name} | {p.version} | {p.licence} | {p.known_by} | {p.n_files} | {p.n_characters} | {use} |"
        )
    lines += ["", "Left out:", ""]
    lines += [f"- {p.name} {p.version}: {p.reason}" for p in corpus.left_out] or ["- nothing"]
    lines += ["", "Files dropped: " + ", ".join(f"{n} {reason}" for reason, n in corpus.dropped_files.items()) + "."]
    return "\n".join(lines) + "\n"


# Keys and tokens as their issuers write them; such a file is dropped whole.
_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}|\bhf_[A-Za-z0-9]{30}"
    r"|\bsk-[A-Za-z0-9_-]{32}|\bxox[abprs]-[A-Za-z0-9-]{20}|\bAIza[A-Za-z0-9_-]{35}"
)
_GENERATED = re.compile(r"generated by|do not edit|auto-?generated|automatically generated", re.IGNORECASE)
# Code of others inside a package has a licence of its own; data of tests is no code that anyone would write.
_FOREIGN_FOLDERS = frozenset({"_vendor", "_vendored", "vendor", "vendored", "third_party", "_extern", "extern"})
_DATA_FOLDERS = frozenset({"data", "testdata", "test_data", "tests_data", "fixtures", "lib2to3", "pydoc_data"})
_EVALUATED = "(evaluated)"  # no package has such a name
_LEAST_CHARACTERS, _MOST_CHARACTERS = 200, 200_000
_LONGEST_LINE, _LONGEST_MEAN_LINE = 400, 80
_LINE_THAT_COUNTS = 25  # characters; shorter ones stand in every file
_NEAR_DUPLICATE = 0.6  # share of a file's lines that an earlier file has


def _candidates(options: SourceOptions) -> Iterator[tuple[str, str, Licence, Iterable[Document]]]:
    if not options.folders:
        licence = Licence(True, "PSF-2.0", "CPython's LICENSE")
        yield STANDARD_LIBRARY, python_version(), licence, _standard_library()
    folders = [str(folder) for folder in options.folders] or [sysconfig.get_path("purelib")]
    wheels = [str(wheel) for folder in options.folders for wheel in sorted(folder.glob("*.whl"))]
    for found in sorted(distributions(path=[*folders, *wheels]), key=lambda found: _normalised(found.name)):
        fields = found.metadata
        expression, field = ("".join(fields.get_all(key) or []) for key in ("License-Expression", "License"))
        licence = judge_licence(expression, field, fields.get_all("Classifier") or [])
        name = _normalised(found.name)
        yield name, found.version, licence, _files_of(name, found)


def _standard_library() -> Iterator[Document]:
    root = Path(sysconfig.get_path("stdlib"))
    paths = (path.relative_to(root) for path in root.rglob("*.py"))
    own = (path for path in paths if not {"site-packages", "dist-packages"} & set(path.parts))
    for path in sorted(own, key=_shuffled):
        yield from _read(STANDARD_LIBRARY, path.as_posix(), root / path)


def _files_of(name: str, found: Distribution) -> Iterator[Document]:
    for path in sorted(found.files or (), key=_shuffled):
        if path.suffix == ".py" and ".." not in path.parts:
            yield from _read(name, path.as_posix(), found.locate_file(path))


def _tree(folder: Path) -> Iterator[Document]:
    for path in sorted(folder.rglob("*.py")):
        yield from _read(_EVALUATED, path.relative_to(folder).as_posix(), path)


def _read(package: str, inside: str, path: object) -> Iterator[Document]:
    """The file as a document; nothing when it is not there or is no UTF-8. `path` may lie in a wheel."""
    try:
        data: bytes = path.read_bytes()  # type: ignore[attr-defined]
        text = data.decode("utf-8")
    except (OSError, KeyError, UnicodeDecodeError):
        return
    yield Document(package, inside, text.replace("\r\n", "\n").replace("\r", "\n"))


def _usable(documents: Iterable[Document], dropped: Counter[str]) -> Iterator[Document]:
    for document in documents:
        if reason := why_not(document):
            dropped[reason] += 1
        else:
            yield document


def why_not(document: Document) -> str:
    """Why a file is not learnt from; empty when it may be."""
    text, parts = document.text, PurePosixPath(document.path).parts
    n_lines = text.count("\n") + 1
    if not _FOREIGN_FOLDERS.isdisjoint(parts):
        return "code of others"
    if not _DATA_FOLDERS.isdisjoint(parts[:-1]):
        return "data"
    if len(text) < _LEAST_CHARACTERS:
        return "too short"
    if len(text) > _MOST_CHARACTERS:
        return "too long"
    if "\0" in text or len(text) / n_lines > _LONGEST_MEAN_LINE or max(map(len, text.split("\n"))) > _LONGEST_LINE:
        return "minified or data"
    if _GENERATED.search(text[:1000]):
        return "generated"
    if has_restrictive_header(text):
        return "another licence"
    return "may hold a secret" if _SECRET.search(text) else ""


def _without_duplicates(
    packages: Iterable[tuple[str, Iterable[Document]]], most_characters: int, dropped: Counter[str]
) -> dict[str, list[Document]]:
    """Files that say something new, package by package, each package up to its bound; the rest is not even read."""
    # Python's own hash of a line differs from run to run, but which lines are equal does not.
    seen_texts: set[bytes] = set()
    seen_lines: set[int] = set()
    kept: dict[str, list[Document]] = {}
    for name, documents in packages:
        kept.setdefault(name, [])
        n_characters = 0
        for document in documents:
            digest = blake2b("".join(document.text.split()).encode(), digest_size=16).digest()
            lines = {hash(line) for line in map(str.strip, document.text.split("\n")) if len(line) > _LINE_THAT_COUNTS}
            if digest in seen_texts:
                dropped["copy"] += 1
            elif lines and len(lines & seen_lines) > _NEAR_DUPLICATE * len(lines):
                dropped["near copy"] += 1
            else:
                seen_texts.add(digest)
                seen_lines |= lines
                n_characters += len(document.text)
                kept[name].append(document)
                if n_characters > most_characters and name != _EVALUATED:
                    break
    return kept


def _shuffled(path: PurePath) -> bytes:
    """A key that mixes folders, the same way each time: a package that is cut at its bound is cut everywhere."""
    return blake2b(path.as_posix().encode(), digest_size=8).digest()


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
