"""Call labels of a PHP checkout from the language server Intelephense: the definition of each called name.

Owns the questions to the server and the match of its answers to definitions, which `by_name` reads from the grammar.
A call that the server cannot resolve, or that has several definitions, gets no record.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ...lsp_client import Client
from ..sources import SourceFile
from .by_name import TABLES, Definition, FileReader

INDEXED_WITHIN_S = 300.0
_HOW = {
    "function_call_expression": "function",
    "member_call_expression": "method",
    "nullsafe_member_call_expression": "method",
    "object_creation_expression": "constructor",
    "scoped_call_expression": "static",
}


def records_of_server(
    command: Sequence[str], tree: Path, sources: Mapping[str, SourceFile]
) -> Iterator[dict[str, Any]]:
    """The calls that the server resolves to one definition of the checkout. Raises ServerGone."""
    readers = {path: FileReader(TABLES["php"], path, source) for path, source in sources.items()}
    with tempfile.TemporaryDirectory() as home, Client(tree, Path(home), command=command) as client:
        while client.next(INDEXED_WITHIN_S).message.get("method") != "indexingEnded":
            pass
        for path, reader in readers.items():
            uri = (tree / path).as_uri()
            client.open_document(uri, sources[path].text, "php")
            for call, _ in reader.calls:
                at = {"line": call["line"], "character": _utf16_column(sources[path], call)}
                answer = client.ask("textDocument/definition", {"textDocument": {"uri": uri}, "position": at}) or []
                found = {
                    id(definition): definition
                    for location in (answer if isinstance(answer, list) else [answer])
                    if (definition := _definition_at(readers, tree, location, call["name"]))
                }
                if len(found) == 1:
                    (definition,) = found.values()
                    yield {**call, "how": _HOW[call["how"]], "callee": definition.callee}
            client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def _utf16_column(source: SourceFile, call: Mapping[str, Any]) -> int:
    before = source.lines[call["line"]].encode()[: call["column"]].decode("utf-8", "replace")
    return len(before.encode("utf-16-le")) // 2


def _definition_at(
    readers: Mapping[str, FileReader], tree: Path, location: Mapping[str, Any], name: str
) -> Definition | None:
    """The definition of a name at a location of the server; a constructor belongs to its class."""
    file = Path(unquote(urlsplit(location["uri"]).path))
    if not file.is_relative_to(tree):
        return None
    reader = readers.get(file.relative_to(tree).as_posix())
    # The range of the server begins at the documentation comment.
    first, last = location["range"]["start"]["line"], location["range"]["end"]["line"]
    for definition in reader.definitions.values() if reader else ():
        if definition.name == name and any(first <= start <= last for start, _ in definition.spans):
            return definition
    return None
