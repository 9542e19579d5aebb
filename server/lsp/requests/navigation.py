"""Navigation by the code graph: definitions, references, symbols and call hierarchies, with the setting `navigation`.

Owns the conversion to LSP's types. What a name means is found as for agents (`server/agents/targets.py`). Every request
is answered with nothing while the setting is off: another server of the editor may offer the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from lsprotocol import types

from ....codegraph.file_graph import MODULE_SCOPE, Definition
from ....errors import InvalidArgument
from ....llm import Cancel
from ....retrieval import Location
from ....retrieval.definition_index import NamedDefinition
from ...agents.folders import Folder, folders_of
from ...agents.targets import Target, find_target
from ...agents.uses import uses_of
from ...chat.symbol_queries import callees, callers
from ...workspace.workspace import Workspace
from ..documents import Encoding, to_lsp_column
from ..registry import handles
from ..session import Session
from ..uris import to_path

MAX_SYMBOLS = 200
TIME_LIMIT_S = 1.0
"""A person waits longer for references than an agent's tools may take."""

_NAME = re.compile(r"[^\W\d][\w$]*")
_T = TypeVar("_T")
_AtCursor = types.DefinitionParams | types.ReferenceParams | types.CallHierarchyPrepareParams

_KINDS = {
    "class": types.SymbolKind.Class,
    "method": types.SymbolKind.Method,
    "constructor": types.SymbolKind.Constructor,
    "interface": types.SymbolKind.Interface,
    "trait": types.SymbolKind.Interface,
    "struct": types.SymbolKind.Struct,
    "enum": types.SymbolKind.Enum,
    "module": types.SymbolKind.Module,
    "namespace": types.SymbolKind.Namespace,
}


@handles(types.TEXT_DOCUMENT_DEFINITION)
async def handle_definition(session: Session, params: types.DefinitionParams) -> list[types.Location]:
    """The definitions of the name at the cursor."""

    def find(target: Target, shown: _Shown) -> list[types.Location]:
        places = [(each.path, each.definition.header_line) for each in target.definitions]
        places += [(each.path, each.line) for each in target.values]
        return [shown.location(path, line, target.name) for path, line in places]

    return await _at_cursor(session, params, find) or []


@handles(types.TEXT_DOCUMENT_REFERENCES)
async def handle_references(session: Session, params: types.ReferenceParams) -> list[types.Location]:
    """The resolved uses of the name at the cursor, and its definitions where the client wants them."""

    def find(target: Target, shown: _Shown) -> list[types.Location]:
        found = uses_of(target, with_text=False, time_limit_s=TIME_LIMIT_S).groups
        places = [(group.path, line) for group in found if group.kind == "use" for line in group.lines]
        if params.context.include_declaration:
            places = [*((each.path, each.definition.header_line) for each in target.definitions), *places]
        return [shown.location(path, line, target.name) for path, line in places]

    return await _at_cursor(session, params, find) or []


@handles(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
async def handle_document_symbol(session: Session, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    """The definitions of a document, nested."""
    path, encoding = to_path(params.text_document.uri), session.client.encoding

    def find(workspace: Workspace) -> list[types.DocumentSymbol]:
        folder, key = folders_of(workspace).locate(str(path))
        shown = _Shown(folder, encoding)
        definitions = folder.index.graph.files[key].definitions
        symbols = [shown.symbol(key, each) for each in definitions]
        for each, symbol in zip(definitions, symbols, strict=True):
            if each.parent != MODULE_SCOPE:
                parent = symbols[each.parent]
                parent.children = [*(parent.children or ()), symbol]
        return [symbol for each, symbol in zip(definitions, symbols, strict=True) if each.parent == MODULE_SCOPE]

    return (await _run(session, find) or []) if path is not None else []


@handles(types.WORKSPACE_SYMBOL)
async def handle_workspace_symbol(
    session: Session, params: types.WorkspaceSymbolParams
) -> list[types.SymbolInformation]:
    """The definitions whose names begin with the query, the shortest first."""
    encoding = session.client.encoding

    def find(workspace: Workspace) -> list[types.SymbolInformation]:
        if not params.query:
            return []
        return [
            types.SymbolInformation(
                location=_Shown(folder, encoding).location(path, definition.header_line, definition.name),
                name=definition.qualified_name,
                kind=_kind(definition),
            )
            for folder in folders_of(workspace)
            for path, definition in folder.index.names.begun(params.query, MAX_SYMBOLS)
        ][:MAX_SYMBOLS]

    return await _run(session, find) or []


@handles(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
async def handle_prepare(
    session: Session, params: types.CallHierarchyPrepareParams
) -> list[types.CallHierarchyItem] | None:
    """The definitions whose calls are asked for next; null where the cursor is on no definition or use of one."""

    def find(target: Target, shown: _Shown) -> list[types.CallHierarchyItem]:
        return [shown.item(each) for each in target.definitions]

    return await _at_cursor(session, params, find) or None


@handles(types.CALL_HIERARCHY_INCOMING_CALLS)
async def handle_incoming(
    session: Session, params: types.CallHierarchyIncomingCallsParams
) -> list[types.CallHierarchyIncomingCall]:
    """The definitions that call one, with the lines of the calls."""

    def find(named: NamedDefinition, shown: _Shown) -> list[types.CallHierarchyIncomingCall]:
        lines: dict[tuple[str, str], list[int]] = {}
        for call in callers(shown.folder.index, named):
            lines.setdefault((call.path, call.enclosing), []).append(call.line)
        found = []
        for (path, enclosing), of in lines.items():
            definition = shown.folder.index.graph.definition(path, enclosing) if enclosing else None
            if definition is not None:
                ranges = [shown.range(path, line, named.definition.name) for line in of]
                found.append(types.CallHierarchyIncomingCall(shown.item(NamedDefinition(path, definition)), ranges))
        return found

    return await _of_item(session, params.item, find)


@handles(types.CALL_HIERARCHY_OUTGOING_CALLS)
async def handle_outgoing(
    session: Session, params: types.CallHierarchyOutgoingCallsParams
) -> list[types.CallHierarchyOutgoingCall]:
    """The definitions that one calls, with the line of the first call."""

    def find(named: NamedDefinition, shown: _Shown) -> list[types.CallHierarchyOutgoingCall]:
        return [
            types.CallHierarchyOutgoingCall(shown.item(called), [shown.range(named.path, line, called.definition.name)])
            for line, called in callees(shown.folder.index, named)
        ]

    return await _of_item(session, params.item, find)


class _Shown:
    """Places of a folder as LSP has them, in the client's encoding."""

    def __init__(self, folder: Folder, encoding: Encoding) -> None:
        self.folder, self._encoding = folder, encoding

    def location(self, path: str, line: int, name: str) -> types.Location:
        return types.Location((self.folder.root / path).as_uri(), self.range(path, line, name))

    def range(self, path: str, line: int, name: str) -> types.Range:
        """The last part of a name in a line; the start of the line where it is not there."""
        text = self.folder.index.text(Location(path, line, line + 1))
        found = re.search(rf"(?<![\w$]){re.escape(name.rpartition('.')[2])}(?![\w$])", text)
        start, end = found.span() if found else (0, 0)
        columns = (to_lsp_column(text, at, self._encoding) for at in (start, end))
        return types.Range(*(types.Position(line, column) for column in columns))

    def symbol(self, path: str, definition: Definition) -> types.DocumentSymbol:
        return types.DocumentSymbol(
            name=definition.name,
            kind=_kind(definition),
            range=_whole(definition),
            selection_range=self.range(path, definition.header_line, definition.name),
        )

    def item(self, named: NamedDefinition) -> types.CallHierarchyItem:
        path, definition = named
        return types.CallHierarchyItem(
            name=definition.qualified_name,
            kind=_kind(definition),
            uri=(self.folder.root / path).as_uri(),
            range=_whole(definition),
            selection_range=self.range(path, definition.header_line, definition.name),
            detail=self.folder.shown(path),
        )


def _kind(definition: Definition) -> types.SymbolKind:
    return _KINDS.get(definition.kind, types.SymbolKind.Function)


def _whole(definition: Definition) -> types.Range:
    return types.Range(types.Position(definition.start_line, 0), types.Position(definition.end_line, 0))


async def _at_cursor(session: Session, params: _AtCursor, find: Callable[[Target, _Shown], list[_T]]) -> list[_T]:
    """What `find` returns for the symbol at the cursor of an open document; empty where there is none."""
    document = session.document(params.text_document.uri)
    if document is None:
        return []
    line, character = document.from_client(params.position.line, params.position.character)
    names = _NAME.finditer(document.line(line))
    name = next((found[0] for found in names if found.start() <= character <= found.end()), "")
    session.activate(document)
    encoding = session.client.encoding

    def call(workspace: Workspace) -> list[_T]:
        target = find_target(folders_of(workspace), name, str(document.path), line + 1)
        return find(target, _Shown(target.folder, encoding))

    return (await _run(session, call) or []) if name else []


async def _of_item(
    session: Session, item: types.CallHierarchyItem, find: Callable[[NamedDefinition, _Shown], list[_T]]
) -> list[_T]:
    """What `find` returns for the definition of an item; empty if it is not there any more."""
    path, encoding = to_path(item.uri), session.client.encoding

    def call(workspace: Workspace) -> list[_T]:
        folder, key = folders_of(workspace).locate(str(path))
        definition = folder.index.graph.definition(key, item.name)
        return [] if definition is None else find(NamedDefinition(key, definition), _Shown(folder, encoding))

    return (await _run(session, call) or []) if path is not None else []


async def _run(session: Session, call: Callable[[Workspace], list[_T]]) -> list[_T] | None:
    """The result of a call in a thread; None while the setting is off, and where nothing is meant."""

    def run(workspace: Workspace, cancel: Cancel) -> list[_T] | None:
        if not workspace.config.navigation.enabled:
            return None
        try:
            return call(workspace)
        except InvalidArgument:  # a name that is defined nowhere, or a file that is not indexed
            return None

    return await session.run_short(run)
