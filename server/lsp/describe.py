"""Code generation from Weft's message types: `python -m weft.server.lsp.describe`.

Writes the tables in docs/protocol.md, the types of the VS Code extension (src/protocol.ts), its settings and its tools
for agents (package.json). Tests compare all with the generator's output. Owns the paths and layouts of the three files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

from .. import config
from ..agents.tools import TOOLS, Tool
from ..output import types as answers
from .messages import OWN_MESSAGES, OwnMessage
from .schema import reachable, table, typescript, typescript_type

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = ROOT / "docs" / "protocol.md"
TYPES = ROOT / "editors" / "vscode" / "src" / "protocol.ts"
PACKAGE = ROOT / "editors" / "vscode" / "package.json"

# Types that are neither parameters nor results of a message.
BESIDE_MESSAGES = (
    answers.AskProgress,
    answers.AcceptArgument,
    answers.WeftServerCapabilities,
    answers.WeftClientCapabilities,
)

_HEAD = """\
// Weft's own messages. Generated from the server's types by `python -m weft.server.lsp.describe`: change them there.
// docs/protocol.md describes each message.

"""

_GENERATED = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    for path, text in (
        (PROTOCOL, protocol_page(PROTOCOL.read_text("utf-8"))),
        (TYPES, types_module()),
        (PACKAGE, with_tools(with_settings(PACKAGE.read_text("utf-8")))),
    ):
        path.write_text(text, "utf-8")


def own_types() -> list[type]:
    """All types of Weft's own messages, in dependency order."""
    kinds = [kind for own in OWN_MESSAGES for kind in (own.params, own.result) if kind is not None]
    return reachable((*kinds, *BESIDE_MESSAGES))


def types_module() -> str:
    return _HEAD + typescript(own_types())


def protocol_page(page: str) -> str:
    """The page with regenerated tables. `<!-- generated: NAME -->` names a type, or `messages`."""
    kinds = {kind.__name__: kind for kind in own_types()}

    def generated(found: re.Match[str]) -> str:
        begin, name, end = found.groups()
        return f"{begin}{_messages_table() if name == 'messages' else table(kinds[name])}\n{end}"

    return _GENERATED.sub(generated, page)


def with_settings(package: str) -> str:
    """The extension's package.json with the server's settings after the extension's own."""
    start = package.index("[", package.index('"configuration": '))
    first = package.index("{", start)
    decoder = json.JSONDecoder()
    _, first_end = decoder.raw_decode(package, first)
    _, end = decoder.raw_decode(package, start)
    sections = [
        {"title": title, "properties": {f"weft.{key}": _setting(each) for key, each in properties.items()}}
        for title, properties in _sections()
    ]
    texts = (json.dumps(section, indent=2, ensure_ascii=False) for section in sections)
    text = "".join(",\n" + indent(each, " " * 6) for each in texts)
    return package[:first_end] + text + "\n    ]" + package[end:]


def with_tools(package: str) -> str:
    """The extension's package.json with the tools for agents, which VS Code offers to chat models."""
    start = package.index("[", package.index('"languageModelTools": '))
    _, end = json.JSONDecoder().raw_decode(package, start)
    text = json.dumps([_tool(each) for each in TOOLS.values()], indent=2, ensure_ascii=False)
    return package[:start] + indent(text, " " * 4).lstrip() + package[end:]


# Icons of VS Code.
_ICONS = {
    "search": "search",
    "definition": "symbol-method",
    "callers": "call-incoming",
    "callees": "call-outgoing",
    "references": "references",
    "related": "link",
    "impact": "target",
    "ask": "comment-discussion",
    "outline": "list-tree",
    "remember": "note",
    "forget": "trash",
    "recall": "history",
}


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "name": f"weft_{tool.name}",
        "when": "config.weft.agents.tools == chat",
        "tags": ["weft", "workspace", *(["writes"] if tool.writes else [])],
        "toolReferenceName": f"weft{tool.name.capitalize()}",
        "displayName": tool.title,
        "modelDescription": tool.description,
        "userDescription": tool.description.partition(". ")[0].removesuffix(".") + ".",
        "canBeReferencedInPrompt": True,
        "icon": f"$({_ICONS[tool.name]})",
        "inputSchema": tool.input_schema(),
    }


def _messages_table() -> str:
    rows = [
        f"| `{own.method}` | {_kind(own)} | {_name(own.params)} | {_name(own.result)} | {own.meaning} |"
        for own in OWN_MESSAGES
    ]
    return "\n".join(("| message | | parameters | result | |", "|---|---|---|---|---|", *rows))


def _kind(own: OwnMessage) -> str:
    return "request" if own.is_request else f"notification of the {own.sender}"


def _name(kind: Any) -> str:
    return "" if kind is None else f"`{typescript_type(kind)}`".replace("|", "\\|")


def _sections() -> Iterator[tuple[str, Mapping[str, Mapping[str, Any]]]]:
    """Settings by table; settings outside a table last."""
    tables: dict[str, dict[str, Mapping[str, Any]]] = {}
    for key, each in config.schema().items():
        head, dot, _ = key.partition(".")
        tables.setdefault(head if dot else "", {})[key] = each
    without = tables.pop("")
    for name, properties in (*tables.items(), ("models, files and log", without)):
        yield name.replace("_", " ").capitalize(), properties


def _setting(each: Mapping[str, Any]) -> Mapping[str, Any]:
    """A setting in VS Code's schema: descriptions contain Markdown."""
    return {("markdownDescription" if key == "description" else key): value for key, value in each.items()}


if __name__ == "__main__":
    main()
