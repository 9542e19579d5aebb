"""Tokenizers of models: text to tokens, and tokens to bytes.

Owns the protocol and its implementation over `tokenizer.json`. A token is bytes, not text: it may be a part of a
character, and further tokens never change the bytes so far. Knows no model, no prompt and no network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from ..disk import read_json_object
from ..installation import install_command
from ..prompting.chat_template import token_text
from ..protocol import ModelMissing


class CodeTokenizer(Protocol):
    """What decoding and prompts need of a tokenizer. Thread-safe."""

    n_vocabulary: int
    start: int | None  # the token at the start of every prompt (BOS)
    ends: frozenset[int]  # tokens that end a text (EOS), as in the files of the model
    special_tokens: frozenset[str]  # the spelling of every special or added token, for `find_fim_tokens`

    def special(self, text: str) -> int | None:
        """The number of a special token; None for an unknown one."""
        ...

    def encode(self, text: str) -> list[int]:
        """Tokens of plain text, in which special tokens are not parsed; without a start token."""
        ...

    def bytes_of(self, token: int) -> bytes:
        """The bytes of the token; none for a special token."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of these tokens within a text: the space of the first token stays."""
        ...


class HfTokenizer:
    """A `CodeTokenizer` over `tokenizer.json` and the small files beside it, read with the `tokenizers` library.

    Adds no space before the first word, since the parts of a prompt are joined. Added tokens that look like markup
    (`<|fim_prefix|>`) are special even if the file does not mark them; others, such as runs of spaces, are text.
    """

    def __init__(self, description: dict[str, Any], *, start: str | bool = True, ends: Iterable[int | str] = ()):
        """Over the parsed `tokenizer.json`.

        `start` is the spelling of the start token, False for none; True uses the post-processor of the file. `ends` are
        numbers or spellings. Raises ModelMissing when `tokenizers` is not installed, ValueError for an invalid
        description.
        """
        added = [entry for entry in description.get("added_tokens") or () if isinstance(entry, dict)]
        for entry in added:
            entry["special"] = bool(entry.get("special")) or _MARKUP.fullmatch(entry["content"]) is not None
        self._special: dict[str, int] = {entry["content"]: entry["id"] for entry in added if entry["special"]}
        self._added_text: dict[int, str] = {entry["id"]: entry["content"] for entry in added if not entry["special"]}
        self.special_tokens = frozenset(self._special) | frozenset(self._added_text.values())
        self._silent = frozenset(self._special.values())
        self._byte_level = _uses(description, "ByteLevel")
        self._space = _space_letter(description)
        self._tokenizer = _load(_without_first_space(description))
        self._tokenizer.encode_special_tokens = True
        self.n_vocabulary = 1 + max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
        self.start = self.special(start) if isinstance(start, str) else self._own_start() if start else None
        numbers = (self.special(end) if isinstance(end, str) else end for end in ends)
        self.ends = frozenset(end for end in numbers if end is not None)

    @classmethod
    def open(cls, directory: str | Path) -> HfTokenizer:
        """The tokenizer in a model directory. Without `tokenizer.json`, transformers converts older files if it can.

        Raises ModelMissing with the directory and the next step.
        """
        path = Path(directory).expanduser()
        file = path / "tokenizer.json"
        start, ends = _start_and_ends(path)
        try:
            text = file.read_text("utf-8") if file.is_file() else _converted(path)
            return cls(json.loads(text), start=start, ends=ends)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelMissing(f"{file} can't be read as a tokenizer: {error}. Download the model again.") from error

    def special(self, text: str) -> int | None:
        return self._special.get(text)

    def encode(self, text: str) -> list[int]:
        # Lone surrogates, which editors can send, have no encoding.
        plain = text.encode("utf-8", "replace").decode("utf-8")
        return list(self._tokenizer.encode(plain, add_special_tokens=False).ids)

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, computed in parallel."""
        plain = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        return [list(found.ids) for found in self._tokenizer.encode_batch_fast(plain, add_special_tokens=False)]

    def encode_markup(self, text: str) -> list[int]:
        """Tokens of the output of a chat template, with special tokens parsed."""
        if not self._special:
            return self.encode(text)
        longest_first = sorted(self._special, key=len, reverse=True)
        parts = re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)
        return [
            token
            for part in parts
            if part
            for token in ([self._special[part]] if part in self._special else self.encode(part))
        ]

    def bytes_of(self, token: int) -> bytes:
        if token in self._silent:
            return b""
        if token in self._added_text:
            text = self._added_text[token]
            return (text.replace(self._space, " ") if self._space else text).encode()
        letters: str | None = self._tokenizer.id_to_token(token) if 0 <= token < self.n_vocabulary else None
        if letters is None:
            return b""
        if self._byte_level:
            # A character outside the alphabet is itself, as in the decoder of the library.
            return b"".join(_BYTE_OF.get(letter) or letter.encode() for letter in letters)
        if self._space:
            number = _BYTE_LETTERS.fullmatch(letters)
            return bytes([int(number[1], 16)]) if number else letters.replace(self._space, " ").encode()
        return self._decoded_after_another(token)

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.bytes_of, tokens)).decode("utf-8", "replace")

    def _own_start(self) -> int | None:
        """The token that the post-processor adds before a text."""
        plain = self._tokenizer.encode("a", add_special_tokens=False).ids
        whole = self._tokenizer.encode("a", add_special_tokens=True).ids
        first = whole[0] if whole and whole[:1] != plain[:1] else None
        return first if first in self._silent else None

    def _decoded_after_another(self, token: int) -> bytes:
        """The bytes that a token of an unknown kind adds to a text; at the start of a text they may differ."""
        before = self._tokenizer.encode(":", add_special_tokens=False).ids
        text, both = (self._tokenizer.decode(ids, skip_special_tokens=False) for ids in (before, [*before, token]))
        return str(both).removeprefix(str(text)).encode()


# `<|fim_prefix|>`, `<｜fim▁hole｜>`, `<[fim-prefix]>`, `<repo_name>`, `▁<PRE>`, `[PREFIX]`; not `<div>`.
_MARKUP = re.compile(r"▁?<(?:[|｜]\w[^<>\s]*[|｜]|\[?\w+[-_▁]\w[^<>\s]*|[A-Z]{3})>|\[[A-Z_]{3,}\]")
_BYTE_LETTERS = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_SPACE_LETTER = "\u2581"


def _byte_alphabet() -> Iterator[tuple[str, bytes]]:
    """The character of each byte in byte-level BPE: printable ones are themselves, the others follow after 255."""
    moved = 256
    for byte in range(256):
        printable = 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174
        yield chr(byte if printable else moved), bytes([byte])
        moved += not printable


_BYTE_OF = dict(_byte_alphabet())


def _parts(description: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every normalizer, pre-tokenizer and decoder, including those in sequences."""
    waiting = [description.get(role) for role in ("normalizer", "pre_tokenizer", "decoder")]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            for name in ("normalizers", "pretokenizers", "decoders"):
                waiting += part.get(name) or ()


def _uses(description: dict[str, Any], kind: str) -> bool:
    return any(part.get("type") == kind for part in _parts(description))


def _space_letter(description: dict[str, Any]) -> str:
    """The character for a space in the vocabulary of a SentencePiece-like tokenizer; empty for other kinds."""
    for part in _parts(description):
        if part.get("type") == "Metaspace":
            return str(part.get("replacement", _SPACE_LETTER))
        if part.get("type") == "Replace" and part.get("content") == " ":
            return str(part["pattern"]["String"])
    return _SPACE_LETTER if _uses(description, "ByteFallback") else ""


def _without_first_space(description: dict[str, Any]) -> dict[str, Any]:
    """The same tokenizer without truncation, padding, and a space before the text."""
    for part in _parts(description):
        if part.get("type") == "Metaspace":
            part["prepend_scheme"] = "never"
            part.pop("add_prefix_space", None)
        elif part.get("type") == "ByteLevel":
            part["add_prefix_space"] = False
        elif part.get("type") == "Prepend":
            part["prepend"] = ""
    return {**description, "truncation": None, "padding": None}


def _load(description: dict[str, Any]) -> Any:
    try:
        tokenizers = import_module("tokenizers")
    except ImportError as error:
        raise ModelMissing(f"tokenizers is not installed. Run: {install_command('onnx')}") from error
    try:
        return tokenizers.Tokenizer.from_str(json.dumps(description))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the library raises bare exceptions, and on some broken files it panics
        raise ValueError(str(error)) from error


def _start_and_ends(directory: Path) -> tuple[str | bool, list[int | str]]:
    """The start and end tokens in the files beside `tokenizer.json`, as `HfTokenizer` takes them."""
    settings = read_json_object(directory / "tokenizer_config.json")
    names = {**read_json_object(directory / "special_tokens_map.json"), **settings}
    adds_start = settings.get("add_bos_token")
    start = True if adds_start is None else bool(adds_start) and (token_text(names.get("bos_token")) or True)
    ends: list[int | str] = []
    for value in (
        read_json_object(directory / name).get("eos_token_id") for name in ("generation_config.json", "config.json")
    ):
        ends += [end for end in (value if isinstance(value, list) else [value]) if isinstance(end, int)]
    letters = token_text(names.get("eos_token"))
    return start, [*ends, letters] if letters else ends


def _converted(directory: Path) -> str:
    """A `tokenizer.json` converted from older files, as text."""
    reason = "transformers is not installed"
    try:
        loader = import_module("transformers").AutoTokenizer
        tokenizer = loader.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
        if getattr(tokenizer, "is_fast", False):
            return str(tokenizer.backend_tokenizer.to_str())
        reason = "its older tokenizer files can't be converted"
    except ImportError as error:
        reason = f"converting its older files needs {error.name or error}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        reason = f"its older files can't be converted: {str(error).strip().partition(chr(10))[0]}"
    raise ModelMissing(
        f"{directory} has no tokenizer.json, and {reason}. Download a version of the model with tokenizer.json."
    )
