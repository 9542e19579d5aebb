"""A whole client of Weft: python docs/client.py FILE:LINE:COLUMN QUESTION (line and column from 1)."""

import asyncio
import sys
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient


async def main(place: str, question: str) -> None:
    name, line, column = place.rsplit(":", 2)
    file = Path(name).resolve()
    client, indexed = LanguageClient("example", "1"), asyncio.Event()
    client.feature(lsp.WINDOW_SHOW_MESSAGE)(lambda shown: print(shown.message, file=sys.stderr))
    # The index is up to date when the log says so; completions and answers come before as well.
    client.feature(lsp.WINDOW_LOG_MESSAGE)(lambda log: log.message.startswith("Indexing") and indexed.set())
    client.feature(lsp.PROGRESS)(lambda more: print(more.value.get("text", ""), end="", flush=True))
    await client.start_io("weft", "serve")
    inline = lsp.TextDocumentClientCapabilities(inline_completion=lsp.InlineCompletionClientCapabilities())
    folders = [lsp.WorkspaceFolder(file.parent.as_uri(), file.parent.name)]
    start = lsp.InitializeParams(lsp.ClientCapabilities(text_document=inline), workspace_folders=folders)
    await client.initialize_async(start)
    client.initialized(lsp.InitializedParams())
    await asyncio.wait_for(indexed.wait(), 60)
    text = lsp.TextDocumentItem(file.as_uri(), "python", 1, file.read_text(encoding="utf-8"))
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(text))
    here = lsp.TextDocumentIdentifier(file.as_uri()), lsp.Position(int(line) - 1, int(column) - 1)
    invoked = lsp.InlineCompletionContext(lsp.InlineCompletionTriggerKind.Invoked)
    found = await client.text_document_inline_completion_async(lsp.InlineCompletionParams(invoked, *here))
    print("completion:", [item.insert_text for item in found.items])
    asked = {"question": question, "partialResultToken": 1}
    answer = await client.protocol.send_request_async("weft/ask", asked)
    print("\ncitations:", [citation.place for citation in answer.citations])
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()


asyncio.run(main(*sys.argv[1:]))
