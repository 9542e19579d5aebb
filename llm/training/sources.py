"""Training corpus: Python files of the standard library and of permissively licensed wheels on this machine.

Owns the walk, the filters and the licence list of a model. The same files give the same corpus. Downloads
nothing: wheels are those of the environment or of given folders.
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

from .licences import Licence, find_licence, has_restrictive_header

STANDARD_LIBRARY = "python"
# Of the completion benchmark, excluded from all training.
BENCHMARK_PACKAGES = frozenset(
    {"diffusers", "nerfstudio", "aws-fortuna", "evaluate", "google-vizier", "torchrl", "di-engine", "nvflare"}
)


@dataclass(frozen=True, slots=True)
class Document:
    """One file: its repository name in prompts, its path there, and its text with "\\n" line breaks."""

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
class ExcludedPackage:
    """A package outside the corpus, and the reason."""

    name: str
    version: str
    reason: str


@dataclass(frozen=True, slots=True)
class Corpus:
    training: tuple[Document, ...]
    held_out: tuple[Document, ...]
    packages: tuple[Package, ...]
    left_out: tuple[ExcludedPackage, ...]
    dropped_files: dict[str, int]  # by reason


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """`folders` hold installed or unpacked wheels, or `.whl` files; empty means this environment."""

    folders: tuple[Path, ...] = ()
    held_out: frozenset[str] = frozenset({"networkx", "rich"})  # packages, by their normalised names
    excluded: frozenset[str] = frozenset({"weft", *BENCHMARK_PACKAGES})
    # Folders with evaluation code: copies and near copies of their files are dropped.
    unlike: tuple[Path, ...] = ()
    most_package_characters: int = 6_000_000  # so that no package dominates the corpus


def gather_sources(options: SourceOptions) -> Corpus:
    """The corpus, packages by name and their files in an order that depends on their paths only."""
    used: dict[str, tuple[str, Licence]] = {}
    files: dict[str, Iterable[Document]] = {}
    left_out: list[ExcludedPackage] = []
    dropped: Counter[str] = Counter()
    for name, version, licence, found in _candidates(options):
        if not licence.permissive:
            left_out.append(ExcludedPackage(name, version, f"licence {licence.name or 'unknown'} ({licence.known_by})"))
        elif name in options.excluded:
            left_out.append(ExcludedPackage(name, version, "excluded"))
        elif name not in files:  # the first folder wins
            used[name] = (version, licence)
            files[name] = _usable(found, dropped)
    # Held-out packages come first, so that the training data has no copies of them.
    names = sorted(files, key=lambda name: (name not in options.held_out, name))
    evaluated = (_usable(_tree(folder), Counter()) for folder in options.unlike)
    in_turn = [*((_EVALUATED, found) for found in evaluated), *((name, files[name]) for name in names)]
    unique = _without_duplicates(in_turn, options.most_package_characters, dropped)
    packages = []
    for name in sorted(name for name in names if unique[name]):
        version, licence = used[name]
        n_characters = sum(len(document.text) for document in unique[name])
        is_held_out = name in options.held_out
        packages.append(
            Package(name, version, licence.name, licence.known_by, len(unique[name]), n_characters, is_held_out)
        )
    return Corpus(
        training=tuple(
            doc for name in sorted(unique) if name not in {*options.held_out, _EVALUATED} for doc in unique[name]
        ),
        held_out=tuple(doc for name in sorted(unique) if name in options.held_out for doc in unique[name]),
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
    """The licence list of a model: all packages of the corpus, and those left out with the reason."""
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


# Known formats of keys and tokens; a file with one is dropped.
_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}|\bhf_[A-Za-z0-9]{30}"
    r"|\bsk-[A-Za-z0-9_-]{32}|\bxox[abprs]-[A-Za-z0-9-]{20}|\bAIza[A-Za-z0-9_-]{35}"
)
_GENERATED = re.compile(r"generated by|do not edit|auto-?generated|automatically generated", re.IGNORECASE)
# Vendored code has a licence of its own; test data is not representative code.
_FOREIGN_FOLDERS = frozenset({"_vendor", "_vendored", "vendor", "vendored", "third_party", "_extern", "extern"})
_DATA_FOLDERS = frozenset({"data", "testdata", "test_data", "tests_data", "fixtures", "lib2to3", "pydoc_data"})
_EVALUATED = "(evaluated)"  # not a valid package name
_MIN_CHARACTERS, _MAX_CHARACTERS = 200, 200_000
_MAX_LINE, _MAX_MEAN_LINE = 400, 80
_MIN_LINE = 25  # characters; shorter lines occur in every file
_NEAR_DUPLICATE = 0.6  # share of lines in common with earlier files


def _candidates(options: SourceOptions) -> Iterator[tuple[str, str, Licence, Iterable[Document]]]:
    if not options.folders:
        licence = Licence(True, "PSF-2.0", "CPython's LICENSE")
        yield STANDARD_LIBRARY, python_version(), licence, _standard_library()
    folders = [str(folder) for folder in options.folders] or [sysconfig.get_path("purelib")]
    wheels = [str(wheel) for folder in options.folders for wheel in sorted(folder.glob("*.whl"))]
    for found in sorted(distributions(path=[*folders, *wheels]), key=lambda found: _normalised(found.name)):
        fields = found.metadata
        expression, field = ("".join(fields.get_all(key) or []) for key in ("License-Expression", "License"))
        licence = find_licence(expression, field, fields.get_all("Classifier") or [])
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
    """The document of a file; empty when it does not exist or is not UTF-8. `path` may be inside a wheel."""
    try:
        data: bytes = path.read_bytes()  # type: ignore[attr-defined]
        text = data.decode("utf-8")
    except (OSError, KeyError, UnicodeDecodeError):
        return
    yield Document(package, inside, text.replace("\r\n", "\n").replace("\r", "\n"))


def _usable(documents: Iterable[Document], dropped: Counter[str]) -> Iterator[Document]:
    for document in documents:
        if reason := drop_reason(document):
            dropped[reason] += 1
        else:
            yield document


def drop_reason(document: Document) -> str:
    """The reason to drop a file; empty when it is used."""
    text, parts = document.text, PurePosixPath(document.path).parts
    n_lines = text.count("\n") + 1
    if not _FOREIGN_FOLDERS.isdisjoint(parts):
        return "vendored code"
    if not _DATA_FOLDERS.isdisjoint(parts[:-1]):
        return "data"
    if len(text) < _MIN_CHARACTERS:
        return "too short"
    if len(text) > _MAX_CHARACTERS:
        return "too long"
    if "\0" in text or len(text) / n_lines > _MAX_MEAN_LINE or max(map(len, text.split("\n"))) > _MAX_LINE:
        return "minified or data"
    if _GENERATED.search(text[:1000]):
        return "generated"
    if has_restrictive_header(text):
        return "another licence"
    return "may hold a secret" if _SECRET.search(text) else ""


def _without_duplicates(
    packages: Iterable[tuple[str, Iterable[Document]]], most_characters: int, dropped: Counter[str]
) -> dict[str, list[Document]]:
    """The files that are no copies of earlier ones, package by package, up to the limit of a package."""
    # Python's string hash differs between runs, but only equality within a run matters.
    seen_texts: set[bytes] = set()
    seen_lines: set[int] = set()
    unique: dict[str, list[Document]] = {}
    for name, documents in packages:
        unique.setdefault(name, [])
        n_characters = 0
        for document in documents:
            digest = blake2b("".join(document.text.split()).encode(), digest_size=16).digest()
            lines = {hash(line) for line in map(str.strip, document.text.split("\n")) if len(line) > _MIN_LINE}
            if digest in seen_texts:
                dropped["copy"] += 1
            elif lines and len(lines & seen_lines) > _NEAR_DUPLICATE * len(lines):
                dropped["near copy"] += 1
            else:
                seen_texts.add(digest)
                seen_lines |= lines
                n_characters += len(document.text)
                unique[name].append(document)
                if n_characters > most_characters and name != _EVALUATED:
                    break
    return unique


def _shuffled(path: PurePath) -> bytes:
    """A deterministic pseudo-random sort key, so that a package at its limit is sampled from all folders."""
    return blake2b(path.as_posix().encode(), digest_size=8).digest()


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
