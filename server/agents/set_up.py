"""Which agents are on this machine, whether they know Weft, and the line that makes one know it.

Owns the configuration files of the agents, as their documents name them. Reads whether `weft` is a server there, and
nothing else; writes nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...llm.disk import read_text

PROJECT = "/path/of/the/project"

JSON_ENTRY = re.compile(r'"weft"\s*:\s*\{')
TOML_ENTRY = re.compile(r"^\s*\[\s*mcp_servers\s*\.\s*[\"']?weft[\"']?\s*\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: what shows that it is on this machine, and where it looks for servers.

    `user_files` begin with the one that `lines` are for; `folder_files` are relative to a project. `folders` are there
    where the agent is, before it has one of these files.
    """

    name: str
    commands: tuple[str, ...]
    user_files: tuple[Path, ...]
    folder_files: tuple[str, ...]
    lines: str
    is_command: bool = False  # `lines` are a command to run, not text for the first file
    entry: re.Pattern[str] = JSON_ENTRY
    folders: tuple[Path, ...] = ()

    @property
    def is_here(self) -> bool:
        """Whether its command is on the path, or it has a file or a folder of its own."""
        return any(map(shutil.which, self.commands)) or any(path.exists() for path in (*self.user_files, *self.folders))

    def known_in(self, folders: Sequence[Path]) -> Path | None:
        """The file that has Weft as a server; None without one."""
        files = (*self.user_files, *(folder / name for folder in folders for name in self.folder_files))
        return next((path for path in files if self.entry.search(_text(path))), None)

    @property
    def step(self) -> str:
        """What to do so that it knows Weft."""
        return f"run: {self.lines}" if self.is_command else f"add to {self.user_files[0]}: {self.lines}"


def agents(project: str = PROJECT) -> Iterator[Agent]:
    """The agents that Weft knows, with their files on this machine.

    `project` is the path in the lines of agents that neither start servers in the project nor put its path in.
    """
    home, code = Path.home(), _application_folder("Code") / "User"
    command, *arguments = server_command()
    words = " ".join(f'"{word}"' if " " in word else word for word in (command, *arguments))
    server = {"command": command, "args": arguments}
    in_workspace = {**server, "args": [*arguments, "${workspaceFolder}"]}
    in_project = json.dumps({"mcpServers": {"weft": {**server, "args": [*arguments, project]}}})
    yield Agent(
        "Claude Code", ("claude",), (home / ".claude.json",), (".mcp.json",), f"claude mcp add weft -- {words}", True
    )
    yield Agent(
        "Copilot in VS Code",
        ("code",),
        (code / "mcp.json",),
        (".vscode/mcp.json",),
        f"code --add-mcp '{json.dumps({'name': 'weft', **in_workspace})}'",
        True,
    )
    yield Agent(
        "Copilot CLI",
        ("copilot",),
        (home / ".copilot" / "mcp-config.json",),
        (".mcp.json", ".github/mcp.json"),
        f"copilot mcp add weft -- {words}",
        True,
    )
    yield Agent(
        "Cursor",
        ("cursor", "cursor-agent"),
        (home / ".cursor" / "mcp.json",),
        (".cursor/mcp.json",),
        json.dumps({"mcpServers": {"weft": in_workspace}}),
    )
    yield Agent(
        "Zed",
        ("zed", "zeditor"),
        (_zed_folder() / "settings.json",),
        (".zed/settings.json",),
        json.dumps({"context_servers": {"weft": server}}),
    )
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    yield Agent(
        "Codex",
        ("codex",),
        (codex / "config.toml",),
        (".codex/config.toml",),
        f"codex mcp add weft -- {words}",
        True,
        TOML_ENTRY,
    )
    yield Agent(
        "Gemini CLI",
        ("gemini",),
        (home / ".gemini" / "settings.json",),
        (".gemini/settings.json",),
        json.dumps({"mcpServers": {"weft": server}}),
    )
    opencode = _config_folder() / "opencode"
    yield Agent(
        "OpenCode",
        ("opencode",),
        (opencode / "opencode.json", opencode / "opencode.jsonc"),
        ("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
        json.dumps({"mcp": {"servers": {"weft": {"type": "local", "command": [command, *arguments]}}}}),
    )
    windsurf = home / ".codeium" / "windsurf"
    yield Agent("Windsurf", ("windsurf",), (windsurf / "mcp_config.json",), (), in_project, folders=(windsurf,))
    for name, extension, file, folder_files in (
        ("Cline", "saoudrizwan.claude-dev", "cline_mcp_settings.json", ()),
        ("Roo Code", "rooveterinaryinc.roo-cline", "mcp_settings.json", (".roo/mcp.json",)),
    ):
        stored = code / "globalStorage" / extension
        yield Agent(name, (), (stored / "settings" / file,), folder_files, in_project, folders=(stored,))
    junie = home / ".junie"
    yield Agent(
        "Junie in JetBrains",
        ("junie",),
        (junie / "mcp" / "mcp.json",),
        (".junie/mcp/mcp.json",),
        in_project,
        folders=(junie,),
    )


def server_command() -> list[str]:
    """The command of the server: `weft mcp`, where `weft` is on the path."""
    if shutil.which("weft"):
        return ["weft", "mcp"]
    # Isolated: Python would import modules from the folder in which the agent starts it.
    return [sys.executable, "-I", "-m", __name__.partition(".")[0], "mcp"]


def _application_folder(name: str) -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / name
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / name
    return _config_folder() / name


def _zed_folder() -> Path:
    return _application_folder("Zed") if sys.platform == "win32" else _config_folder() / "zed"


def _config_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _text(path: Path) -> str:
    """The text of a file; "" if it is missing or cannot be read."""
    try:
        return read_text(path)
    except (OSError, ValueError):
        return ""
