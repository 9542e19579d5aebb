"""The built wheel in an empty home: pipx installs it, and the documented lines set up Neovim. `make test-installed`."""

from __future__ import annotations

import pytest
from new_user import ANSWER, BEGUN, FILE, QUESTION, REST, documented, lua_blocks

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def user(new_user):
    """A person who has installed Weft with pipx, and the plugin as docs/editors.md says."""
    person = new_user("pipx")
    person.install("pipx")
    (copy,) = {line for line in documented("docs/editors.md") if line.startswith("weft editors neovim")}
    person.run("sh", "-c", copy, cwd=person.home)
    settings = person.home / ".config" / "nvim" / "init.lua"
    settings.parent.mkdir(parents=True)
    settings.write_text(lua_blocks("docs/editors.md")[0], "utf-8")
    return person


def test_neovim_completes_and_answers_by_the_documented_lines(user, neovim_of, artefacts):
    nv = neovim_of(user)
    nv.nv.command(f"edit {FILE}")
    nv.attached()
    nv.ready()
    begun = nv.text()
    nv.append()
    nv.keys("<CR><C-U>" + BEGUN)
    ghost = nv.wait(nv.ghost, "ghost text")
    assert REST.startswith(ghost)
    shown = nv.screen()
    nv.keys("<Tab>")
    nv.has(f"{begun}\n{BEGUN}{ghost}")
    nv.keys("<Esc>")
    nv.nv.command(f"Weft ask {QUESTION}")
    chat = "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('weft://chat'), 0, -1, false), '\\n')"
    nv.wait(lambda: ANSWER in nv.lua(chat), "the answer in the chat")
    (artefacts / "neovim-installed.txt").write_text("\n".join([*shown, "-" * 80, *nv.screen()]), "utf-8")
