"""Which agents know Weft, by configuration files as the documents of the agents write them."""

from __future__ import annotations

from pathlib import Path

import pytest
from weft.server.agents.set_up import agents


@pytest.fixture
def state(tmp_path, monkeypatch):
    """`state(name, files, folder)`: what doctor says of an agent in a home with these files."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    monkeypatch.delenv("CODEX_HOME", raising=False)

    def told(name, files, folder="shop"):
        for file, text in files.items():
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(text.replace("HOME", tmp_path.as_posix()), encoding="utf-8")
        agent = next(each for each in agents() if each.name == name)
        assert agent.is_here
        return agent.state([tmp_path / folder])

    return told


KNOWN = {
    "Claude Code": (".claude.json", '{"mcpServers": {"weft": {"type": "stdio", "command": "weft", "args": ["mcp"]}}}'),
    "Copilot CLI": (".copilot/mcp-config.json", '{"mcpServers": {"weft": {"command": "weft", "args": ["mcp"]}}}'),
    "Cursor": (".cursor/mcp.json", '{"mcpServers": {"shop": {"command": "/opt/bin/weft", "args": ["mcp", "/shop"]}}}'),
    "Zed": (".config/zed/settings.json", '// Zed\n{"context_servers": {"weft": {"command": "weft", /* of */},},}'),
    "Codex": (".codex/config.toml", '[mcp_servers]\nweft = { command = "weft", args = ["mcp"] }\n'),
    "OpenCode": (".config/opencode/opencode.json", '{"mcp": {"tools": {"command": ["uvx", "weft", "mcp"]}}}'),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_server_is_found_in_every_form_of_a_file(state, name):
    file, text = KNOWN[name]
    told = state(name, {file: text})
    assert told.startswith("knows Weft by ") and told.endswith(file)


UNKNOWN = {
    "Claude Code": (".claude.json", '{"projects": {"HOME/weft": {"mcpServers": {"weft": {}}}}}'),
    "Cursor": (".cursor/mcp.json", '{"mcpServers": {/* "weft": {} */}}'),
    "Zed": (".config/zed/settings.json", '{"lsp": {"weft": {"binary": {"path": "weft", "arguments": ["serve"]}}}}'),
    "Codex": (".codex/config.toml", '# [mcp_servers.weft]\n[mcp_servers.other]\ncommand = "mcp"\n'),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_weft_elsewhere_in_a_file_is_no_server(state, name):
    file, text = UNKNOWN[name]
    assert state(name, {file: text}).startswith("does not know Weft; ")


def test_a_server_of_one_project_is_known_there_alone(state):
    text = '{"projects": {"HOME/shop": {"mcpServers": {"weft": {"command": "weft"}}}}}'
    assert "knows Weft by" in state("Claude Code", {".claude.json": text})
    assert "does not know Weft" in state("Claude Code", {}, "other")


def test_a_server_that_is_turned_off_is_said_to_be(state):
    told = state("Codex", {".codex/config.toml": '[mcp_servers.weft]\ncommand = "weft"\nenabled = false\n'})
    assert "knows Weft, but" in told and told.endswith("config.toml turns it off")


def test_a_file_that_is_not_valid_is_named_with_its_line(state):
    told = state("Cursor", {".cursor/mcp.json": '{\n  "mcpServers": {\n'})
    assert "mcp.json is not valid JSON on line 3; does not know Weft; add to" in told
    told = state("Codex", {".codex/config.toml": "[mcp_servers\n", "shop/.codex/config.toml": "[mcp_servers.weft]\n"})
    assert "config.toml is not valid TOML on line 1; knows Weft by" in told


def test_vs_code_with_the_extension_needs_no_set_up(state):
    files = {".config/Code/User/mcp.json": "", ".vscode/extensions/weft.weft-0.1.0/package.json": "{}"}
    assert "knows Weft by" in state("Copilot in VS Code", files)
