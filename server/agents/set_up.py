"""Which agents are on this machine, whether they know Weft, and the line that makes one know it.

Owns the configuration files of the agents, as their documents name them. Reads whether Weft is a server there, and
nothing else; writes nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from ...codegraph.modules.data_files import Invalid, read_json, read_toml
from ...llm.disk import read_text

PROJECT = "/path/of/the/project"
FOLDER = "<folder>"
"""In the keys of a table: the path of the project."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: what shows that it is on this machine, and where it looks for servers.

    `user_files` begin with the one that `lines` are for; `folder_files` are relative to a project. `folders` are there
    where the agent is, before it has one of these files. `tables` are the keys that lead to the servers in a file.
    `extensions` are folders where Weft's own extension may be.
    """

    name: str
    commands: tuple[str, ...]
    user_files: tuple[Path, ...]
    folder_files: tuple[str, ...]
    lines: str
    is_command: bool = False  # `lines` are a command to run, not text for the first file
    tables: tuple[tuple[str, ...], ...] = (("mcpServers",),)
    folders: tuple[Path, ...] = ()
    extensions: tuple[Path, ...] = ()

    @property
    def is_here(self) -> bool:
        """Whether its command is on the path, or it has a file or a folder of its own."""
        return any(map(shutil.which, self.commands)) or any(path.exists() for path in (*self.user_files, *self.folders))

    def known_in(self, folders: Sequence[Path]) -> Path | None:
        """The file that has Weft as a server, or Weft's extension; None without one."""
        installed = (extension for folder in self.extensions for extension in folder.glob("weft.weft-*"))
        servers = (path for path, server in self._servers(folders, []) if not _is_off(server))
        return next(installed, None) or next(servers, None)

    def state(self, folders: Sequence[Path]) -> str:
        """Which of its files are not valid, whether it knows Weft, and what to do if not."""
        broken: list[str] = []
        known = self.known_in(folders)
        off = [path for path, server in self._servers(folders, broken) if _is_off(server)]
        if known:
            state = f"knows Weft by {known}"
        elif off:
            state = f"knows Weft, but {off[0]} turns it off"
        else:
            state = f"does not know Weft; {self.step}"
        return "; ".join((*broken, state))

    @property
    def step(self) -> str:
        """What to do so that it knows Weft."""
        return f"run: {self.lines}" if self.is_command else f"add to {self.user_files[0]}: {self.lines}"

    def _servers(self, folders: Sequence[Path], broken: list[str]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """The servers that run Weft, with their files; `broken` gets a clause for each file that is not valid."""
        for path in (*self.user_files, *(folder / name for folder in folders for name in self.folder_files)):
            try:
                content = _content(path)
            except Invalid as error:
                broken.append(f"{path} {error}")
                continue
            for keys in self.tables:
                for folder in folders if FOLDER in keys else [Path()]:
                    servers = _table_at(content, [str(folder) if key == FOLDER else key for key in keys])
                    yield from ((path, server) for name, server in servers.items() if _is_weft(name, server))


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
        "Claude Code",
        ("claude",),
        (home / ".claude.json",),
        (".mcp.json",),
        f"claude mcp add weft -- {words}",
        True,
        (("mcpServers",), ("projects", FOLDER, "mcpServers")),
    )
    yield Agent(
        "Copilot in VS Code",
        ("code",),
        (code / "mcp.json",),
        (".vscode/mcp.json",),
        f"code --add-mcp '{json.dumps({'name': 'weft', **in_workspace})}'",
        True,
        (("servers",),),
        extensions=(home / ".vscode" / "extensions", home / ".vscode-server" / "extensions"),
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
        folders=(home / ".cursor",),
    )
    yield Agent(
        "Zed",
        ("zed", "zeditor"),
        (_zed_folder() / "settings.json",),
        (".zed/settings.json",),
        json.dumps({"context_servers": {"weft": server}}),
        tables=(("context_servers",),),
        folders=(_zed_folder(),),
    )
    codex = Path(os.environ.get("CODEX_HOME") or home / ".codex")
    yield Agent(
        "Codex",
        ("codex",),
        (codex / "config.toml",),
        (".codex/config.toml",),
        f"codex mcp add weft -- {words}",
        True,
        (("mcp_servers",),),
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
        tables=(("mcp", "servers"), ("mcp",)),
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


def _content(path: Path) -> Mapping[str, Any]:
    """What a configuration file says; nothing if it is missing, empty or cannot be read. Raises Invalid."""
    try:
        text = read_text(path).removeprefix("\ufeff")
    except (OSError, ValueError):
        return {}
    if not text.strip():
        return {}
    return read_toml(text) if path.suffix == ".toml" else read_json(text)


def _table_at(content: Mapping[str, Any], keys: Sequence[str]) -> Mapping[str, Any]:
    """The table that the keys lead to; empty if there is none."""
    found: Any = content
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _is_weft(name: str, server: Any) -> bool:
    """Whether a server is Weft, by its name or by its command `weft mcp`."""
    if not isinstance(server, Mapping):
        return False
    command, arguments = server.get("command"), server.get("args")
    words = [each for part in (command, arguments) for each in (part if isinstance(part, list) else [part])]
    runs_weft = "mcp" in words and any(isinstance(each, str) and PurePath(each).stem == "weft" for each in words)
    return name == "weft" or runs_weft


def _is_off(server: Mapping[str, Any]) -> bool:
    return server.get("enabled") is False or server.get("disabled") is True
