"""Export and import of conversations as JSON lines in UTF-8.

The first line is `{"weft": "conversations", "version": 1}`. Every other line is a conversation (`id`, `title`,
`folder`, `created_at`, `changed_at`, `turns`), and a turn is `number`, `question`, `asked_at`, `answer`, `answered_at`,
`model`, `citations`, `evidence`, and `asked_as`, which earlier versions did not write; times are seconds since the
epoch. Documents and computed results are left out, because they can be computed again.
"""

from __future__ import annotations

import json
import os
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from ...llm.disk import open_regular
from ...llm.private_files import private_file
from ..values import encodable
from .conversations import Conversation, Conversations, Turn
from .database import NotAnExport
from .rows import MAX_NUMBER, MAX_SECONDS

_HEAD = {"weft": "conversations", "version": 1}
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("id", "title", "folder", "question", "model", "asked_as"), (str,)),
    **dict.fromkeys(("created_at", "changed_at", "asked_at"), (int, float)),
    **dict.fromkeys(("citations", "evidence"), (list,)),
    "number": (int,),
    "answer": (str, type(None)),
    "answered_at": (int, float, type(None)),
}
_WORDS = {str: "text", int: "a number", float: "a number", list: "a list", type(None): "null"}
_OF_A_CONVERSATION = ("id", "title", "folder", "created_at", "changed_at")
_OF_A_TURN = ("number", "question", "asked_at", "answer", "answered_at", "model", "citations", "evidence", "asked_as")


def export_conversations(conversations: Conversations, file: Path, *, overwrite: bool = False) -> int:
    """Write all conversations to `file`, readable by its owner only; returns their number.

    Raises FileExistsError for an existing file unless `overwrite`, and OSError.
    """
    everything = conversations.all()
    lines: list[dict[str, Any]] = [_HEAD]
    for conversation, turns in everything:
        head: dict[str, Any] = {name: getattr(conversation, name) for name in _OF_A_CONVERSATION}
        lines.append({**head, "turns": [{name: getattr(turn, name) for name in _OF_A_TURN} for turn in turns]})
    if not overwrite:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    private_file(file)
    # A pipe without a reader is an error at once; with a reader, writing blocks.
    descriptor = os.open(file, os.O_WRONLY | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0))
    os.set_blocking(descriptor, True)
    with open(descriptor, "w", encoding="utf-8", newline="\n") as out:
        out.writelines(f"{_json(line)}\n" for line in lines)
    return len(everything)


def _json(line: dict[str, Any]) -> str:
    """One line; control characters are written as JSON escapes."""
    text = json.dumps(line, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else json.dumps(sign)[1:-1] for sign in text)


def import_conversations(conversations: Conversations, file: Path) -> int:
    """Import an export; existing turns stay. Returns the number of new turns.

    Raises NotAnExport and imports nothing then; OSError for an unreadable file.
    """
    read, line_number = [], 0
    try:
        with TextIOWrapper(open_regular(file), encoding="utf-8-sig") as lines:
            for line_number, line in enumerate(lines, 1):
                value = json.loads(line, parse_constant=_no_constant)
                if line_number > 1:
                    read.append(_conversation(value))
                elif value != _HEAD:
                    raise ValueError(f"expected {json.dumps(_HEAD)}")
        if not line_number:
            raise ValueError("the file is empty")
    except (ValueError, OverflowError, RecursionError) as error:
        raise NotAnExport(f"{file}:{line_number}: {error}. Use a file that Weft exported.") from error
    return conversations.add(read)


def _conversation(value: Any) -> tuple[Conversation, list[Turn]]:
    head = _checked(value, _OF_A_CONVERSATION)
    head["id"] = encodable(head["id"])
    turns = value.get("turns")
    if not isinstance(turns, list):
        raise ValueError("turns must be a list")
    said = [Turn(head["id"], **_checked(_with_asked_as(turn), _OF_A_TURN)) for turn in turns]
    return Conversation(**head, n_turns=len(said)), said


def _with_asked_as(turn: Any) -> Any:
    """The turn with the field that exports of earlier versions lack."""
    return {"asked_as": "", **turn} if isinstance(turn, dict) else turn


def _checked(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("expected an object")
    for name in names:
        kinds = _KINDS[name]
        if name not in value or not isinstance(value[name], kinds) or isinstance(value[name], bool):
            raise ValueError(f"{name} must be {' or '.join(dict.fromkeys(_WORDS[kind] for kind in kinds))}")
        limit = MAX_SECONDS if name.endswith("_at") else MAX_NUMBER
        if isinstance(value[name], (int, float)) and not 0 <= value[name] < limit:
            raise ValueError(f"{name} is out of range")
    return {name: tuple(value[name]) if isinstance(value[name], list) else value[name] for name in names}


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")
