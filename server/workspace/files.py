"""File discovery and decoding: which files of a workspace folder are indexed, and their text.

`Membership` finds files by name and rule: a whole folder in one walk, or one path after a change. `read_source` opens
a found file and may still exclude it by content. Links are never followed: a file is indexed at its real path only, so
there are no duplicates, no cycles, and nothing outside the folder.

Owns names, sizes, encodings and the detection of binary, minified and generated files. The ignore rules are in
`ignore`, the names of secrets in `secrets`. Knows no language and no index.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple

from ...languages import language_of
from ...llm.protocol import Cancel
from ..config import IndexOptions
from ..secrets import is_secret_path, is_secret_text
from .ignore import MAX_RULES_BYTES, RULE_NAMES, FolderRules, Verdict, open_root, rule_names

NOT_UTF_8: Literal["its name is not UTF-8"] = "its name is not UTF-8"

Reason = Literal[
    "missing",
    "link",
    "ignored",
    "secret",
    "binary",
    "data",
    "generated",
    "minified",
    "too large",
    "its name is not UTF-8",
]
"""Why a file is not indexed. "missing" includes everything that is not a readable regular file."""


RULES_TOO_LARGE = (
    f"an ignore file of more than {MAX_RULES_BYTES:,} bytes is not read, so nothing in its folder is indexed"
)


class FoundFile(NamedTuple):
    """A file that belongs to the workspace, with its directory entry's metadata."""

    path: str  # relative to the workspace folder, with forward slashes
    size: int
    mtime_ns: int
    named: bool  # re-included by a rule for exactly this file: it may be data, generated or minified
    identity: int = 0  # see `identity_of`


class SourceText(NamedTuple):
    """The text of one file at the time of reading. Line ends are unchanged; a byte order mark is removed."""

    path: str
    text: str
    hash: bytes  # of the file's bytes, 16 bytes
    size: int
    mtime_ns: int
    encoding: str
    identity: int = 0


class FileContent(NamedTuple):
    """What identifies the content of one file at the time of reading, as in `SourceText`."""

    path: str
    hash: bytes
    size: int
    mtime_ns: int
    identity: int = 0


class ExcludedFile(NamedTuple):
    """A file that a rule or its content excludes from the index, and the reason."""

    path: str
    reason: Reason


class Membership:
    """The files that belong to one workspace folder, by names and rules.

    Rules are read once and cached. If `changes_rules` is true for a changed path, create a new `Membership` and walk
    again.
    """

    def __init__(self, folder: Path, options: IndexOptions, also: frozenset[str] = frozenset()) -> None:
        """`also` are suffixes of files to include although they are binary or data."""
        self.folder = folder.resolve()
        self.options = options
        self._also = also
        self._root = open_root(self.folder, options.exclude, options.include)
        self._folders: dict[str, FolderRules] = {"": self._root}
        self.unusable_rules: dict[str, str] = {}
        """Ignore files that are too large to use, found by the walk: nothing in their folders is included."""

    def walk(
        self, cancel: Cancel | None = None, left_out: Callable[[ExcludedFile], None] = lambda file: None
    ) -> Iterator[FoundFile]:
        """Every file that belongs, in an order that depends on names alone. Ends early if cancelled.

        A folder that cannot be listed counts as empty. `left_out` is called with files and folders whose names are not
        UTF-8, and with source files that are too large.
        """
        pending: list[tuple[FolderRules | None, str, str, Verdict | None]] = [(None, "", "", None)]
        while pending and not (cancel and cancel.cancelled):
            above, name, path, verdict = pending.pop()
            disk_path = os.path.join(self.folder, path)
            entries = _entries(disk_path)
            rules = self._root
            if above is not None and verdict is not None:
                rules = above.enter(disk_path, name, verdict, {entry.name for entry in entries} & RULE_NAMES)
                self._folders[path] = rules
            if rules.unusable:
                self.unusable_rules[f"{path}{rules.unusable}"] = RULES_TOO_LARGE
            if not rules.worth_walking:
                continue
            inner: list[tuple[FolderRules | None, str, str, Verdict | None]] = []
            for entry in entries:
                try:
                    is_link, is_dir = _is_link(entry), entry.is_dir(follow_symlinks=False)
                except OSError:  # it was removed, on a file system whose listings have no file types
                    continue
                if is_link:
                    continue
                if is_dir:
                    verdict = rules.evaluate(entry.name, True)
                    if verdict.must_enter:
                        if _is_utf8(entry.name):
                            inner.append((rules, entry.name, f"{path}{entry.name}/", verdict))
                        else:
                            left_out(ExcludedFile(f"{path}{entry.name}/", NOT_UTF_8))
                elif (verdict := rules.evaluate(entry.name, False)).included:
                    found = self._found(f"{path}{entry.name}", verdict, entry)
                    if isinstance(found, FoundFile):
                        yield found
                    elif found.reason == NOT_UTF_8 or (found.reason == "too large" and language_of(found.path).grammar):
                        left_out(found)
            pending += reversed(inner)

    def find(self, path: str) -> FoundFile | ExcludedFile:
        """The file at `path` (relative, forward slashes) as it is on disk now, without a walk."""
        reason, verdict = self._evaluate(path)
        if reason is not None:
            return ExcludedFile(path, reason)
        return self._found(path, verdict, Path(self.folder, path))

    def exclusion_reason(self, path: str) -> Reason | None:
        """Why a file of this name would not be indexed, None if it would: for a buffer that is not on disk yet."""
        return self._evaluate(path)[0]

    def changes_rules(self, path: str) -> bool:
        """Whether a change of `path` may change what belongs: walk again with a new `Membership`."""
        name = path.rpartition("/")[2]
        return name in RULE_NAMES or path.endswith(".git/info/exclude")

    def _evaluate(self, path: str) -> tuple[Reason | None, Verdict]:
        *folders, name = path.split("/")
        rules, here, disk_path = self._root, "", os.fspath(self.folder)
        for folder in folders:
            here += f"{folder}/"
            disk_path = os.path.join(disk_path, folder)
            # Checked on disk every time: the folder may have been replaced by a link.
            if folder in ("", ".", ".."):
                return "missing", _NO_VERDICT
            if os.path.islink(disk_path):
                return "link", _NO_VERDICT
            if here not in self._folders:
                verdict = rules.evaluate(folder, True)
                if not verdict.must_enter:
                    return "ignored", verdict
                self._folders[here] = rules.enter(disk_path, folder, verdict, rule_names(disk_path))
            rules = self._folders[here]
        if name in ("", ".", ".."):
            return "missing", _NO_VERDICT
        verdict = rules.evaluate(name, False)
        if not verdict.included:
            return "ignored", verdict
        return _reason_by_name(path, verdict.named, self._also), verdict

    def _found(self, path: str, verdict: Verdict, entry: os.DirEntry[str] | Path) -> FoundFile | ExcludedFile:
        reason = _reason_by_name(path, verdict.named, self._also)
        if reason is not None:
            return ExcludedFile(path, reason)
        try:
            found = entry.stat(follow_symlinks=False)
        except (OSError, ValueError):
            return ExcludedFile(path, "missing")
        if stat.S_ISLNK(found.st_mode):
            return ExcludedFile(path, "link")
        if not stat.S_ISREG(found.st_mode):
            return ExcludedFile(path, "missing")
        if found.st_size > self.options.max_file_bytes:
            return ExcludedFile(path, "too large")
        if found.st_size > self.options.max_data_bytes and not verdict.named and _suffix(path) in _LIMITED_DATA:
            return ExcludedFile(path, "data")
        if self.options.skip_generated and not verdict.named and has_generated_name(path):
            return ExcludedFile(path, "generated")
        return FoundFile(path, found.st_size, found.st_mtime_ns, verdict.named, identity_of(found))


def walk(folder: Path, options: IndexOptions, cancel: Cancel | None = None) -> Iterator[FoundFile]:
    """Every file of `folder` that belongs to the workspace. See `Membership.walk`."""
    return Membership(folder, options).walk(cancel)


def read_source(folder: Path, found: FoundFile, options: IndexOptions) -> SourceText | ExcludedFile:
    """The text of a found file, or the reason why its content excludes it."""
    try:
        data, status = read_with_status(Path(folder, found.path), options.max_file_bytes)
    except (OSError, ValueError):
        return ExcludedFile(found.path, "missing")
    if len(data) > options.max_file_bytes:
        return ExcludedFile(found.path, "too large")
    decoded = decode(data)
    if decoded is None:
        return ExcludedFile(found.path, "binary")
    text, encoding = decoded
    if is_secret_text(text):
        return ExcludedFile(found.path, "secret")
    if options.skip_generated and not found.named:
        if is_minified(text):
            return ExcludedFile(found.path, "minified")
        if is_generated(text):
            return ExcludedFile(found.path, "generated")
    stamp = (status.st_size, status.st_mtime_ns)
    return SourceText(found.path, text, content_hash(data), *stamp, encoding, identity_of(status))


def read_content(folder: Path, found: FoundFile, options: IndexOptions) -> FileContent | None:
    """The hash of a found file, without a look at its text; None if it cannot be read or is too large."""
    try:
        data, status = read_with_status(Path(folder, found.path), options.max_file_bytes)
    except (OSError, ValueError):
        return None
    if len(data) > options.max_file_bytes:
        return None
    return FileContent(found.path, content_hash(data), status.st_size, status.st_mtime_ns, identity_of(status))


def identity_of(status: os.stat_result) -> int:
    """Hash of inode and change time, which differ between files of equal size and modification time.

    Detects a file that replaces another, or whose modification time was set back. 0 on Windows, whose listings contain
    neither.
    """
    return 0 if os.name == "nt" else hash((status.st_ino, status.st_ctime_ns))


def read_bytes(path: Path, max_bytes: int) -> tuple[bytes, int, int]:
    """At most `max_bytes` + 1 bytes of a regular file, its size and modification time. Never blocks on a pipe."""
    data, status = read_with_status(path, max_bytes)
    return data, status.st_size, status.st_mtime_ns


def read_with_status(path: Path, max_bytes: int) -> tuple[bytes, os.stat_result]:
    """The same, with the file's status from before the read."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags)
    with open(descriptor, "rb", buffering=0) as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{path} is not a regular file")
        data = file.read(max_bytes + 1)
    return data, found


def content_hash(data: bytes) -> bytes:
    """A 16-byte BLAKE2b digest of a file's content."""
    return blake2b(data, digest_size=16).digest()


def decode(data: bytes) -> tuple[str, str] | None:
    """The text of a file and the name of its encoding; None for a binary file.

    Tries the encoding of a byte order mark, UTF-8, the encoding of a coding line (PEP 263), and Latin-1 for content
    that looks like text in a single-byte encoding.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decoded(data.removeprefix(mark), name)
    if b"\0" in data[:_SNIFFED_BYTES]:
        return None
    text = _decoded(data, "utf-8")
    if text is not None:
        return text
    line = _CODING_LINE.match(data)
    if line and _CODING_NAME.fullmatch(name := line[1].decode("ascii").lower()):
        text = _decoded(data, name)
    if text is None and not _CONTROL.search(data) and len(_HIGH.findall(data)) <= _MAX_HIGH_SHARE * len(data):
        text = _decoded(data, "latin-1")
    return text


def is_minified(text: str) -> bool:
    """Whether most of the text is in lines longer than written code has, or one line fits no prompt."""
    if len(text) <= _LONG_LINE:
        return False
    lengths = list(map(len, text.split("\n")))
    if max(lengths) <= _LONG_LINE:
        return False
    return max(lengths) > _USELESS_LINE or sum(n for n in lengths if n > _LONG_LINE) > len(text) / 2


def is_writable(file: Path) -> bool:
    """Whether a file may be changed on disk; also one that does not exist yet."""
    try:
        mode = file.stat().st_mode
    except OSError:
        return True
    # The superuser has access to files without a bit for writing, too.
    return bool(mode & 0o222) and os.access(file, os.W_OK)


def has_generated_name(path: str) -> bool:
    """Whether a file's name is usual for generated and minified files and for lock files."""
    return _GENERATED_NAME.search(path) is not None


def is_generated(text: str) -> bool:
    """Whether the head of the text contains a marker of generated code."""
    head = text[:_HEAD_CHARACTERS]
    if "generated" not in head.lower():  # all patterns have this word, and few files
        return False
    return bool(_GENERATED_MARK.search(head) or (_DO_NOT_EDIT.search(head) and _GENERATED_WORD.search(head)))


_NO_VERDICT = Verdict(False)

_SNIFFED_BYTES = 8000  # as git does
_LONG_LINE = 1_000  # characters; prose with one line for each paragraph stays below
_USELESS_LINE = 20_000  # no prompt could hold a fragment with such a line
_HEAD_CHARACTERS = 1_000
_MAX_HIGH_SHARE = 0.3

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # starts with the mark of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CODING_LINE = re.compile(
    rb"(?:[ \t\f]*(?:#[^\r\n]*)?\r?\n)?[ \t\f]*(?:#|//|<!--|<\?)[^\r\n]{0,200}?coding[:=][ \t\"']*([-\w.]{1,40})"
)
# Only character sets: Python also knows codecs that unpack archives or run in quadratic time.
_CODING_NAME = re.compile(
    r"(iso|latin|cp|windows|ibm|mac|koi8|ptcp|kz)[-_]?[\w-]*|(shift|s|euc)[-_]?(jis|jp|kr)[\w-]*|big5\w*|gbk?\d*|hz|johab"
)
_CONTROL = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")
_HIGH = re.compile(rb"[\x80-\xff]")

_GENERATED_MARK = re.compile(
    r"@generated\b|<auto-?generated|^\W*(this file (is|was) )?auto(matically)?[- ]?generated\b", re.I | re.M
)
_GENERATED_WORD = re.compile(r"\b(auto)?generated\b", re.IGNORECASE)
_DO_NOT_EDIT = re.compile(r"\bdo not (edit|modify|change)\b", re.IGNORECASE)
_GENERATED_NAME = re.compile(
    r"""
    (_pb2(_grpc)?\.pyi? | \.pb\.(go|cc|h|cpp|swift|dart) | _pb\.(js|d\.ts) | \.(min|bundle|chunk)\.(js|mjs|css)
    | \.map | [.-]lock | \.lock\w? | \.(g|freezed)\.dart | \.designer\.(cs|vb) | \.g(\.i)?\.cs
    | (^|/)(package-lock|npm-shrinkwrap)\.json | (^|/)(pnpm-lock\.yaml | go(\.work)?\.sum) )$
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _suffixes(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BINARY = _suffixes(
    """
    png jpg jpeg gif bmp ico icns webp avif tif tiff psd xcf heic raw exr hdr dds ktx pdf ps eps ai djvu
    mp3 mp4 m4a m4v wav ogg ogv flac aac mid avi mov mkv webm wmv mpg mpeg ttf otf woff woff2 eot
    zip gz tgz bz2 xz zst lz4 7z rar tar jar war whl egg deb rpm apk ipa dmg iso cab msi nupkg
    exe dll so dylib lib a o obj ko pyc pyo pyd class wasm bin dat img rom elf pdb pch rlib rmeta
    doc docx xls xlsx ppt pptx odt ods odp db sqlite sqlite3 mdb dump pkl pickle npy npz h5 hdf5 mat nc
    parquet feather arrow avro orc lmdb tfrecord pt pth ckpt safetensors onnx pb tflite gguf joblib
    blend fbx glb stl ply las pcd dwg swf unity uasset sig gpg asc
    """
)
"""Suffixes of files that are never opened. Other binary files are detected by content."""

_DATA = _suffixes(
    """
    csv tsv jsonl ndjson geojson ipynb svg po pot mo srt vtt log out diff patch rej orig bak swp swo tmp
    arff libsvm conll conllu fasta fastq gff gtf vcf bed sam pdbqt xyz cif gml graphml gexf
    ics eml mbox har xliff xlf resx dic aff lst snap bib cache pid
    """
)
"""Suffixes of text files with data rather than code."""

_LIMITED_DATA = _suffixes("json json5 jsonc yaml yml xml xsd xsl html htm xhtml txt text plist toml ini css scss sql")
"""Configuration while small, data when large."""


def _suffix(path: str) -> str:
    name = path[path.rfind("/") + 1 :]
    dot = name.rfind(".")
    return name[dot + 1 :].lower() if dot > 0 else ""


def _reason_by_name(path: str, named: bool, also: frozenset[str]) -> Reason | None:
    # Editors identify files by URIs in UTF-8, so no request can name such a file.
    if not _is_utf8(path):
        return NOT_UTF_8
    if is_secret_path(path):
        return "secret"
    suffix = _suffix(path)
    if suffix in also:
        return None
    if suffix in _BINARY:
        return "binary"
    return "data" if suffix in _DATA and not named else None


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _entries(disk_path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(disk_path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_link(entry: os.DirEntry[str]) -> bool:
    # Windows also has junctions, which Python detects from 3.12 on.
    return entry.is_symlink() or (hasattr(entry, "is_junction") and entry.is_junction())


def _decoded(data: bytes, encoding: str) -> tuple[str, str] | None:
    try:
        return data.decode(encoding), encoding
    except (UnicodeDecodeError, LookupError):
        return None
