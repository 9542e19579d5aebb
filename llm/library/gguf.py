"""Parser for GGUF headers: names, sizes, special tokens, vocabulary, chat template; no weights.

A file is untrusted input: every length is checked before memory is allocated for it. Knows no engine and no library.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..disk import open_regular
from ..prompting.formats import FimTokens, find_fim_tokens
from ..protocol import ModelMissing

Value = int | float | bool | str

# Bytes. The longest in real files are chat templates of some 10 KB.
LONGEST_STRING = 16 << 20
# Elements. The largest vocabularies have 260,000 tokens and twice as many merges.
LONGEST_ARRAY = 4 << 20
# Bytes. Real headers have some 10 MB, nearly all of it vocabulary.
LONGEST_HEADER = 512 << 20
MOST_KEYS = 4096
SPECIAL_TYPES = (3, 4)  # types of special tokens: control and user-defined
_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
_LENGTH = struct.Struct("<Q")
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_QUANTISATIONS = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS",
    21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ArrayLocation:
    """The location of an array in the file, for reading on demand."""

    kind: int
    length: int
    offset: int


@dataclass(frozen=True, slots=True)
class GgufFile:
    """The header of one file. Missing values are empty, 0 or None."""

    path: Path
    size_bytes: int  # of this file, which may be a part of the model
    values: Mapping[str, Value]
    arrays: Mapping[str, ArrayLocation]

    @property
    def architecture(self) -> str:
        return self.text("general.architecture")

    @property
    def context_tokens(self) -> int:
        """The context length of the training."""
        return self.number(f"{self.architecture}.context_length") or 0

    @property
    def quantisation(self) -> str:
        """The name in llama.cpp, such as Q4_K_M."""
        number = self.number("general.file_type")
        return "" if number is None else _QUANTISATIONS.get(number, f"type {number}")

    @property
    def n_vocabulary(self) -> int:
        location = self.arrays.get("tokenizer.ggml.tokens")
        return location.length if location else 0

    @property
    def chat_template(self) -> str:
        return self.text("tokenizer.chat_template")

    def special(self, name: str) -> int | None:
        """The number of a token by its role: "bos", "eos", "eot", "fim_pre" and so on."""
        number = self.number(f"tokenizer.ggml.{name}_token_id")
        return number if number is not None and 0 <= number < self.n_vocabulary else None

    def text(self, key: str) -> str:
        value = self.values.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> int | None:
        value = self.values.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def tokens(self) -> list[str]:
        """The spelling of every token, by number. Raises ModelMissing."""
        location = self.arrays.get("tokenizer.ggml.tokens")
        if location is None or location.kind != _STRING:
            return []
        with _opened(self.path) as reader:
            reader.seek(location.offset)
            return [text.decode("utf-8", errors="replace") for text in reader.strings(location.length)]

    def token_types(self) -> NDArray[np.int32]:
        """The type of every token; empty when missing. Raises ModelMissing."""
        location = self.arrays.get("tokenizer.ggml.token_type")
        if location is None or location.kind not in (4, 5):
            return np.zeros(0, np.int32)
        with _opened(self.path) as reader:
            reader.seek(location.offset)
            return np.frombuffer(reader.bytes(4 * location.length), "<i4").astype(np.int32)


def read_gguf(path: str | Path) -> GgufFile:
    """The header of `path`. Raises ModelMissing when it is missing or not a GGUF file."""
    path = Path(path)
    with _opened(path) as reader:
        return reader.header()


def fim_of_gguf(file: GgufFile) -> FimTokens | None:
    """The FIM format: a known one found in the vocabulary, or the one in the metadata.

    None without either. Raises ModelMissing when the vocabulary can't be read.
    """
    tokens = file.tokens()
    types = file.token_types()
    # Old files have no types, so every token may be special.
    marked = [n for n, kind in enumerate(types.tolist()[: len(tokens)]) if kind in SPECIAL_TYPES]
    named = {name: number for name, keys in _FIM_KEYS.items() if (number := _first(file, keys)) is not None}
    letters = {tokens[number] for number in (*(marked or range(len(tokens))), *named.values())}
    known = find_fim_tokens(letters)
    parts = {name: tokens[number] for name, number in named.items()}
    if not {"prefix", "suffix", "middle"} <= parts.keys():
        return known
    if known and (known.prefix, known.suffix) == (parts["prefix"], parts["suffix"]):
        return known
    return FimTokens(
        parts["prefix"],
        parts["suffix"],
        parts["middle"],
        repository=parts.get("repository", ""),
        file=parts.get("file", ""),
        ends=tuple(dict.fromkeys(parts[name] for name in ("pad", "end") if name in parts)),
    )


_FIM_KEYS = {
    "prefix": ("fim_pre", "prefix"),
    "suffix": ("fim_suf", "suffix"),
    "middle": ("fim_mid", "middle"),
    "repository": ("fim_rep",),
    "file": ("fim_sep",),
    "pad": ("fim_pad",),
    "end": ("eot", "eos"),
}


def _first(file: GgufFile, names: tuple[str, ...]) -> int | None:
    return next((number for name in names if (number := file.special(name)) is not None), None)


@contextmanager
def _opened(path: Path) -> Iterator[_HeaderReader]:
    try:
        with open_regular(path) as file:
            yield _HeaderReader(path, file, os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise ModelMissing(f"{path} can't be read: {error.strerror}. Set `path` to a GGUF file.") from error
    except struct.error as error:  # the file was truncated during reading
        raise ModelMissing(f"{path} changed during reading. Wait until it is complete.") from error


class _HeaderReader:
    """Reads sequentially, never past the end of the file or the limits."""

    def __init__(self, path: Path, file: BinaryIO, size_bytes: int) -> None:
        self._path = path
        self._file = file
        self._size_bytes = size_bytes
        self._end = min(size_bytes, LONGEST_HEADER)
        self._at = 0

    def header(self) -> GgufFile:
        if self._size_bytes < 4 or self.bytes(4) != b"GGUF":
            raise ModelMissing(f"{self._path} is not a GGUF file (no GGUF magic bytes). Set `path` to a GGUF file.")
        version = self.scalar("I")
        if version not in _VERSIONS:
            raise ModelMissing(
                f"{self._path} is GGUF version {version}; supported are 2 and 3 in little-endian order. "
                "Convert the model again, or download a newer file."
            )
        _n_tensors, n_keys = self.scalar("Q"), self.scalar("Q")
        if n_keys > MOST_KEYS:
            raise self._damaged(f"it claims {n_keys} keys")
        values: dict[str, Value] = {}
        arrays: dict[str, ArrayLocation] = {}
        for _ in range(int(n_keys)):
            key = self.string()
            kind = self.scalar("I")
            if kind == _ARRAY:
                arrays[key] = self.array()
            elif kind == _STRING:
                values[key] = self.string()
            else:
                values[key] = self.scalar(self._format(kind))
        return GgufFile(self._path, self._size_bytes, values, arrays)

    def array(self) -> ArrayLocation:
        """The location of an array; skips its content."""
        kind, length = int(self.scalar("I")), int(self.scalar("Q"))
        if length > LONGEST_ARRAY:
            raise self._damaged(f"it claims a list of {length} values")
        location = ArrayLocation(kind, length, self._at)
        if kind == _STRING:
            self.strings(length)
        else:
            self.bytes(length * struct.calcsize("<" + self._format(kind)))
        return location

    def string(self) -> str:
        return self.strings(1)[0].decode("utf-8", errors="replace")

    def strings(self, count: int) -> list[bytes]:
        # Inlined: a vocabulary and its merges are half a million strings.
        read, unpack, end, at = self._file.read, _LENGTH.unpack, self._end, self._at
        found: list[bytes] = []
        for _ in range(count):
            at += 8
            if at > end:
                raise self._cut_off()
            (length,) = unpack(read(8))
            at += length
            if length > LONGEST_STRING:
                raise self._damaged(f"it claims a text of {length} bytes")
            if at > end:
                raise self._cut_off()
            found.append(read(length))
        self._at = at
        return found

    def scalar(self, code: str) -> int | float | bool:
        value: int | float | bool = struct.unpack("<" + code, self.bytes(struct.calcsize("<" + code)))[0]
        return value

    def bytes(self, count: int) -> bytes:
        if self._at + count > self._end:
            raise self._cut_off()
        self._at += count
        return self._file.read(count)

    def seek(self, offset: int) -> None:
        self._file.seek(offset)
        self._at = offset

    def _format(self, kind: int | float) -> str:
        code = _SCALARS.get(int(kind))
        if code is None:
            raise self._damaged(f"it has a value of the unknown type {kind}")
        return code

    def _cut_off(self) -> ModelMissing:
        return self._damaged("it ends in the middle of its header")

    def _damaged(self, why: str) -> ModelMissing:
        return ModelMissing(f"{self._path} is damaged: {why}. Download the file again.")
