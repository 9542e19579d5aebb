"""The walk of a keystroke: how many files of the server a request passes through. A reader has to know these."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import weft
from lsprotocol import types
from weft.server.lsp.messages import InlineCompletionParams
from weft.server.lsp.server import HANDLERS
from weft.server.lsp.session import Session
from weft.server.shared.workspaces import Workspaces

SERVER = Path(weft.__file__).resolve().parent / "server"

MAX_REQUEST_FILES = 19
"""Of an automatic completion that goes on with what is typed, from the handler to its answer. The rules of
`completion/repair/` are a table, one file a rule: they count as one. Files of other rooms do not count."""

MAX_EDIT_FILES = 16
"""Of the edit before it."""

FILES = {
    "price.py": "def price_of(basket):\n    return sum(basket)\n\n\ndef pay(basket):\n    total = price_of(basket)\n",
    "shop.py": "from price import price_of\n\n\ndef pay(basket):\n    total = price_of(basket)\n\n\n"
    "def checkout(basket):\n    total = ",
}


class NoClient:
    """A server object that sends nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments, **options: None


class Walk:
    """Files of the server in which a function is called, on any thread, into the set that is `recorded`."""

    def __init__(self) -> None:
        self.recorded: set[str] = set()

    def __enter__(self) -> Walk:
        self._before = sys.getprofile(), threading.getprofile()
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before[0])
        threading.setprofile(self._before[1])

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and SERVER in path.parents:
            name = path.relative_to(SERVER).as_posix()
            self.recorded.add("completion/repair/" if name.startswith("completion/repair/") else name)


class Typist:
    """One open document, in a session without a client."""

    def __init__(self, session: Session, path: Path) -> None:
        self.session, self.uri = session, path.as_uri()
        self.text, self.version = path.read_text(), 1
        item = types.TextDocumentItem(self.uri, types.LanguageKind.Python, 1, self.text)
        HANDLERS[types.TEXT_DOCUMENT_DID_OPEN](session, types.DidOpenTextDocumentParams(item))

    def _end(self) -> types.Position:
        lines = self.text.split("\n")
        return types.Position(len(lines) - 1, len(lines[-1]))

    def type(self, key: str) -> None:
        at = self._end()
        self.text, self.version = self.text + key, self.version + 1
        params = types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(self.version, self.uri),
            [types.TextDocumentContentChangePartial(types.Range(at, at), key)],
        )
        HANDLERS[types.TEXT_DOCUMENT_DID_CHANGE](self.session, params)

    async def complete(self) -> str:
        params = InlineCompletionParams(
            context=types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic),
            text_document=types.TextDocumentIdentifier(self.uri),
            position=self._end(),
        )
        answer = await HANDLERS[types.TEXT_DOCUMENT_INLINE_COMPLETION](self.session, params)
        return "".join(item.insert_text for item in answer.items)


def test_a_keystroke_passes_through_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "shop"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)

    async def story() -> tuple[set[str], set[str]]:
        session = Session(NoClient(), Workspaces())  # type: ignore[arg-type]
        session.initialize(
            types.InitializeParams(
                types.ClientCapabilities(),
                workspace_folders=[types.WorkspaceFolder(folder.as_uri(), "shop")],
                # Whole lines, whatever is fitted.
                initialization_options={"weft": {"completion": {"min_confidence": 0.0}}},
            )
        )
        with Walk() as walk:  # before any thread begins
            await session.start()
            typist = Typist(session, folder / "shop.py")
            shortest: tuple[set[str], set[str]] | None = None
            # What is known of a file is looked up anew every few seconds: the usual key is the one that needs not.
            for key in "price_of(":
                walk.recorded = edit = set()
                typist.type(key)
                walk.recorded = request = set()
                shown = await typist.complete()
                walk.recorded = set()
                if shortest is None or len(request) <= len(shortest[1]):
                    shortest = edit, request
        await session.close()
        assert shown == "basket)" and shortest is not None
        return shortest

    edit, request = asyncio.run(story())
    assert {"completion/cache.py", "completion/repair/"} <= request
    assert len(edit) <= MAX_EDIT_FILES, sorted(edit)
    assert len(request) <= MAX_REQUEST_FILES, sorted(request)
