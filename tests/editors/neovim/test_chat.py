"""Questions in the real Neovim: streamed, stopped, gone on with, and their citations followed."""

from __future__ import annotations

import threading
from typing import Any

import pytest

FILES = {
    "shop/price.py": """\
RATES = {"EUR": 1.0}


def total_price(items, currency):
    print("the rate")
    return RATES[currency] * sum(items)
""",
    "shop/basket of goods.py": """\
from shop.price import total_price


def pay(items):
    return total_price(items, "EUR")
""",
}
QUESTION = "What does total_price multiply?"
FIRST = "`total_price` multiplies (shop/price.py:4-6). \n\n"
STARTED = 30

LINKS = """
local marks = vim.api.nvim_buf_get_extmarks(..., vim.api.nvim_create_namespace('weft.links'), 0, -1, { details = true })
return vim.tbl_map(function(mark)
  return vim.api.nvim_buf_get_text(..., mark[2], mark[3], mark[2], mark[4].end_col, {})[1]
end, marks)
"""
BUSY = """
local namespace = vim.api.nvim_create_namespace('weft.transcript')
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(..., namespace, 0, -1, { details = true })) do
  local text = (mark[4].virt_text or { { '' } })[1][1]
  if text:find('stops') and not text:find('asks') then
    return text
  end
end
"""


class Model:
    """Answers each question with two pieces, and waits between them until the test lets it go on."""

    def __init__(self, replaying: Any, chat_routes: Any) -> None:
        self.go_on, self.was_cut = threading.Event(), threading.Event()
        self.dies = False
        self.server = replaying(chat_routes(self._answer))
        self.setup = f"{{ settings = {{ model = {{ {{ backend = 'openai', url = '{self.server.url}', fim = 'none' }} }} }} }}"

    def _answer(self, reply: Any, say: Any) -> None:
        say(FIRST)
        say("It sums first,\nand then\n")
        if self.dies:
            reply.cut()
        elif self.go_on.wait(0) or not self._is_left(reply):
            say("it multiplies.\n")

    def _is_left(self, reply: Any) -> bool:
        """Whether the client goes; False when the test says first that the answer goes on."""
        waiting = threading.Thread(target=lambda: reply.was_cut() and self.was_cut.set(), daemon=True)
        waiting.start()
        while waiting.is_alive():
            if self.go_on.wait(0.02):
                return False
        return True


class Chat:
    """What a person sees of the chat of one Neovim."""

    def __init__(self, nv: Any) -> None:
        self.nv = nv

    @property
    def buffer(self) -> Any:
        return next(buffer for buffer in self.nv.nv.buffers if buffer.name.endswith("weft://chat"))

    def text(self) -> str:
        return "\n".join(self.buffer[:])

    def shows(self, text: str, times: int = 1) -> None:
        self.nv.wait(lambda: self._is_there() and self.text().count(text) == times, f"{text!r} in the chat")

    def is_done(self) -> None:
        self.nv.wait(lambda: not self.nv.lua("return require('weft.chat').is_busy()"), "the end of the answer")

    def busy(self) -> str | None:
        return self.nv.lua(BUSY, self.buffer.number)

    def links(self) -> list[str]:
        return self.nv.lua(LINKS, self.buffer.number)

    def _is_there(self) -> bool:
        return any(buffer.name.endswith("weft://chat") for buffer in self.nv.nv.buffers)


def asked(nv):
    """Parameters of the questions so far."""
    return [note["message"]["params"] for note in nv.wire.said("weft/ask", sender="editor")]


def place(nv):
    """File and line of the cursor, and its text."""
    return nv.nv.current.buffer.name.removeprefix(f"{nv.folder}/"), nv.nv.current.window.cursor[0], nv.nv.current.line


@pytest.fixture
def model(replaying: Any, chat_routes: Any) -> Model:
    return Model(replaying, chat_routes)


def test_an_answer_grows_while_somebody_types_and_its_citations_lead_to_lines_at_once(neovim, model):
    nv = neovim(FILES, setup=model.setup)
    nv.edit("shop/price.py")
    nv.nv.command("Weft chat")
    nv.keys(f"i{QUESTION}<Esc><CR>")
    chat = Chat(nv)
    chat.shows("and then")
    assert "it multiplies" not in chat.text() and chat.links() == ["shop/price.py:4-6"]
    assert "<C-c> stops" in chat.busy()
    nv.keys("Who calls pay?")  # in normal mode nothing of it changes what was said; C begins to type
    nv.keys("<Esc>GiWho calls pay?")
    nv.wait(lambda: nv.nv.current.line == "Who calls pay?", "what is typed")
    model.go_on.set()
    chat.is_done()
    answer = chat.text()
    assert answer.startswith(f"## You\n{QUESTION}\n\n## Weft\n{FIRST}It sums first,\nand then\nit multiplies.\n\n> Written by")
    assert answer.endswith("## You\nWho calls pay?") and nv.nv.current.line == "Who calls pay?" and nv.mode() == "i"
    assert chat.links() == ["shop/price.py:4-6"] and chat.busy() is None
    # The next question goes on with the conversation.
    nv.keys("<C-s>")
    chat.shows("it multiplies.", times=2)
    chat.is_done()
    first, second = asked(nv)
    assert "conversationId" not in first and second["conversationId"] and second["question"] == "Who calls pay?"
    # What was said cannot be changed, what is typed can.
    nv.keys("<Esc>ggdd")
    assert chat.text().startswith(f"## You\n{QUESTION}\n") and not chat.buffer.options["modifiable"]
    nv.keys("G")
    nv.wait(lambda: chat.buffer.options["modifiable"], "a question that can be typed")
