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
local buffer = ...
local namespace = vim.api.nvim_create_namespace('weft.links')
local marks = vim.api.nvim_buf_get_extmarks(buffer, namespace, 0, -1, { details = true })
return vim.tbl_map(function(mark)
  return vim.api.nvim_buf_get_text(buffer, mark[2], mark[3], mark[2], mark[4].end_col, {})[1]
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
QUICKFIX = """
return vim.tbl_map(function(item)
  return { vim.fn.bufname(item.bufnr), item.lnum, item.end_lnum, item.text }
end, vim.fn.getqflist())
"""


class Model:
    """Answers each question with two pieces, and waits between them until the test lets it go on."""

    def __init__(self, replaying: Any, chat_routes: Any) -> None:
        self.go_on, self.was_cut = threading.Event(), threading.Event()
        self.dies = False
        self.text = ""  # the whole answer, if given
        self.server = replaying(chat_routes(self._answer))
        settings = f"{{ model = {{ {{ backend = 'openai', url = '{self.server.url}', fim = 'none' }} }} }}"
        self.setup = f"{{ settings = {settings}, restart = {{ first_ms = 10 }} }}"

    def _answer(self, reply: Any, say: Any) -> None:
        if self.text:
            say(self.text)
            return
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
    """Parameters of the questions of this test so far."""
    asked = [note["message"]["params"] for note in nv.wire.said("weft/ask", sender="editor")]
    return asked[getattr(nv, "asked_before", 0) :]


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
    nv.keys("GiWho calls pay?")
    nv.wait(lambda: nv.nv.current.line == "Who calls pay?", "what is typed")
    model.go_on.set()
    chat.is_done()
    answer = chat.text()
    assert answer.startswith(
        f"## You\n{QUESTION}\n\n## Weft\n{FIRST}It sums first,\nand then\nit multiplies.\n\n> Written by"
    )
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


def test_a_stopped_answer_stays_and_the_model_is_told(neovim, model):
    nv = neovim(FILES, setup=model.setup)
    nv.edit("shop/price.py")
    nv.nv.command(f"Weft ask {QUESTION}")
    chat = Chat(nv)
    chat.shows("and then")
    assert place(nv)[0] == "shop/price.py"  # who asks from a file stays there
    nv.nv.command("Weft ask and who calls it?")
    nv.wait(lambda: any("is being generated" in notice for notice in nv.notices()), "the notice")
    nv.nv.command("Weft chat")
    nv.keys("<C-c>")
    chat.shows("and then\n\n(The answer was stopped here.)\n\n## You")
    assert chat.links() == ["shop/price.py:4-6"] and model.was_cut.wait(STARTED)
    nv.nv.command("Weft stop")  # nothing is left to stop
    # Whoever deletes the buffer wants no answer.
    model.was_cut.clear()
    nv.keys(f"GiAgain: {QUESTION}<C-s><Esc>")
    chat.shows("and then", times=2)
    nv.nv.command("bdelete")
    assert model.was_cut.wait(STARTED)
    nv.nv.command("Weft chat")
    nv.wait(lambda: nv.text() == "## You\n", "an empty chat")
    nv.nv.command("edit")
    nv.wait(lambda: not nv.nv.current.buffer.name.endswith("weft://chat"), "no chat that was read from nowhere")
    # The history has both, and the conversation goes on in a new Neovim.
    nv.stop()
    model.go_on.set()
    nv = neovim(FILES, setup=model.setup, again=nv)
    nv.edit("shop/price.py")
    nv.nv.command("Weft history multiply")
    nv.wait(lambda: nv.nv.current.buffer.name.endswith("weft://history"), "the history")
    (line,) = nv.nv.current.buffer[:]
    assert QUESTION in line and line.endswith("(2 turns)")
    nv.keys("<CR>")
    chat = Chat(nv)
    chat.shows("(The answer was stopped here.)", times=2)
    assert chat.links()[0] == "shop/price.py:4-6"
    nv.keys("iWho calls total_price?<C-s><Esc>")
    chat.shows("it multiplies.")
    chat.is_done()
    (question,) = asked(nv)
    assert question["conversationId"]
    # It is deleted when dd is typed twice at it.
    nv.nv.command("Weft history")
    nv.wait(lambda: nv.nv.current.buffer.name.endswith("weft://history"), "the history")
    for asked_to in (True, False, True):
        nv.keys("dd" if asked_to else "l")  # moving on takes it back
        nv.wait(lambda asked_to=asked_to: ("dd again" in "".join(nv.screen())) == asked_to, "the question")
    assert QUESTION in nv.nv.current.line and QUESTION in chat.text()
    nv.keys("dd")
    nv.wait(lambda: "No conversation" in nv.nv.current.line, "the end of the conversation")
    assert chat.text() == "## You\n"


def test_a_question_is_asked_as_written_while_its_answer_streams(neovim, model):
    nv = neovim(FILES, setup=model.setup)
    nv.edit("shop/price.py")
    nv.nv.command("Weft chat")
    model.go_on.set()
    nv.keys("iwhat calls total_price?<C-s>")
    chat = Chat(nv)
    chat.shows("it multiplies.")
    chat.is_done()
    model.go_on.clear()
    nv.keys("iand where is it defined?<C-s>")
    chat.shows("> asked as: where is `total_price` defined?")
    chat.shows("and then", times=2)
    nv.keys("ga")
    chat.shows("(The answer was stopped here.)")
    chat.shows("Not found in this repository.")  # as written, it names nothing
    chat.is_done()
    assert [bool(params.get("asWritten")) for params in asked(nv)] == [False, False, True]
    assert chat.text().count("> asked as:") == 1


def test_a_server_that_dies_in_an_answer_leaves_the_question_to_be_asked_again(neovim, model):
    nv = neovim(FILES, setup=model.setup)
    nv.edit("shop/price.py")
    nv.nv.command("Weft chat")
    nv.keys(f"i{QUESTION}<C-s><Esc>")
    chat = Chat(nv)
    chat.shows("and then")
    nv.wire.kill(nv.wire.wait("started")["message"]["params"]["pid"])
    chat.shows("before it answered.")
    assert chat.text().endswith(f"## You\n{QUESTION}") and FIRST in chat.text()
    model.go_on.set()
    nv.keys("G<CR>")
    chat.shows("it multiplies.")
    chat.is_done()
    # The turn that was lost is not: the conversation goes on.
    assert asked(nv)[1]["conversationId"]


def test_what_a_model_said_before_it_failed_is_void(neovim, model):
    model.dies = True
    nv = neovim(FILES, setup=model.setup)
    nv.edit("shop/price.py")
    nv.nv.command(f"Weft ask {QUESTION}")
    chat = Chat(nv)
    chat.shows("` in shop/price.py:")
    chat.is_done()
    assert "It sums first" not in chat.text() and "> " in chat.text()
    assert "shop/price.py:4-6" in chat.links()


def view(nv):
    """The first visible line of the chat's window, and the line of the cursor there."""
    return nv.lua(
        """
        local window = vim.fn.bufwinid('weft://chat')
        return vim.api.nvim_win_call(window, function()
          return { vim.fn.getline(vim.fn.line('w0')), vim.fn.getline(vim.fn.line('w0') + 1), vim.fn.getline('.') }
        end)
        """
    )


def test_the_view_stays_at_the_question_while_its_answer_grows(neovim, model):
    model.text = FIRST + "\n".join(f"Step {n} of `total_price` follows." for n in range(60)) + "\n"
    nv = neovim(FILES, setup=model.setup)
    nv.edit("shop/price.py")
    nv.nv.command(f"Weft ask {QUESTION}")
    chat = Chat(nv)
    chat.shows("Step 59")
    chat.is_done()
    assert view(nv) == ["## You", QUESTION, "## Weft"] and place(nv)[0] == "shop/price.py"
    # From the input, in insert mode; `i` leads back to it.
    nv.nv.command("Weft chat")
    nv.keys("AAnd again?<C-s>")
    chat.shows("Step 59", times=2)
    chat.is_done()
    assert view(nv) == ["## You", "And again?", "## Weft"] and nv.mode() == "n"
    screen = "\n".join(nv.screen())
    assert "Step 0 of" in screen and "Step 59" not in screen
    nv.keys("iMore?")
    nv.wait(lambda: nv.nv.current.line == "More?", "the next question")
    # Whoever is at the end stays there: here, in the input.
    assert "Step 59" in "\n".join(nv.screen())


FOLDED = """\
`total_price` multiplies (shop/price.py:4-6).

<details><summary>2 more</summary>

- It prints the rate (shop/price.py:5-5).
- It sums `items` (shop/price.py:6-6).

</details>

That is all.
"""


def test_a_folded_part_of_an_answer_is_a_closed_fold(neovim, model):
    model.text = FOLDED
    nv = neovim(FILES, setup=model.setup)
    nv.edit("shop/price.py")
    nv.nv.command(f"Weft ask {QUESTION}")
    chat = Chat(nv)
    chat.shows("That is all.")
    chat.is_done()
    assert "<details>" not in chat.text() and "</details>" not in chat.text()
    nv.nv.command("Weft chat")

    def lines():
        return [line for line in nv.screen() if "2 more" in line or "prints the rate" in line]

    (closed,) = lines()
    assert "+ 2 more  (2 lines, zo opens)" in closed
    assert chat.links() == ["shop/price.py:4-6", "shop/price.py:5-5", "shop/price.py:6-6"]
    nv.lua("vim.fn.search('^2 more')")
    nv.keys("zo")
    nv.wait(lambda: len(lines()) == 2, "the open fold")
    nv.keys("jgf")
    nv.wait(lambda: place(nv) == ("shop/price.py", 5, '    print("the rate")'), "the place in the fold")
    # A new window has the fold, and so has the conversation from the history.
    for command in ("Weft chat", "close", "Weft chat"):
        nv.nv.command(command)
    assert len(lines()) == 1
    nv.nv.command("Weft new")
    nv.nv.command("Weft history")
    nv.wait(lambda: QUESTION in nv.nv.current.line, "the history")
    nv.keys("<CR>")
    chat.shows("That is all.")
    nv.wait(lambda: len(lines()) == 1, "the fold")


UNFOLD = """
local lines, folds = require('weft.transcript').unfolded(vim.split(..., '\\n'))
return { lines, vim.tbl_map(function(fold) return { fold.first, fold.last, fold.summary } end, folds) }
"""


def test_only_the_tags_of_a_fold_are_taken_out(without_model):
    fenced = "```\n<details><summary>1 more</summary>\n</details>\n```\n</details>"
    assert without_model.lua(UNFOLD, fenced) == [fenced.split("\n"), []]
    text = "a\n<details><summary>1 more</summary>\n\nb\n<details><summary>2 more</summary>\nc"
    assert without_model.lua(UNFOLD, text) == [
        ["a", "1 more", "b", "2 more", "c"],
        [[2, 5, "1 more"], [4, 5, "2 more"]],
    ]


@pytest.fixture(scope="module")
def _without_model(starting):
    nv = starting(FILES)
    nv.edit("shop/price.py")
    nv.ready()
    return nv


@pytest.fixture
def without_model(_without_model):
    """A Neovim that tests share: one file is open, and no chat."""
    nv = _without_model
    nv.wire.order(blank=None)
    for name, text in FILES.items():
        (nv.folder / name).write_text(text)
    nv.lua("_G.notices = {}")
    nv.nv.command("silent! only! | silent! %bwipeout!")
    nv.edit("shop/price.py")
    nv.asked_before = 0
    nv.asked_before = len(asked(nv))
    return nv


def test_citations_open_the_right_lines_and_fill_the_quickfix_list(without_model):
    nv = without_model
    # Not saved: the answer and its places are of the text as it is.
    nv.nv.current.buffer[:0] = ["# new", "# lines"]
    nv.nv.command(f"6,8Weft ask {QUESTION}")
    chat = Chat(nv)
    chat.shows("` in shop/price.py:")
    chat.is_done()
    (question,) = asked(nv)
    assert question["selection"] == {"start": {"line": 5, "character": 0}, "end": {"line": 8, "character": 0}}
    assert chat.links()[:2] == ["shop/price.py:6-8", "shop/price.py:6-8"]
    nv.nv.command("Weft ask what calls total_price?")
    chat.shows("is called at 1 location")
    chat.is_done()
    nv.nv.command("Weft chat")
    window = nv.nv.current.window
    nv.lua("vim.fn.search('^- shop/basket of goods.py:4-5', 'b')")
    nv.keys("gf")
    nv.wait(lambda: place(nv) == ("shop/basket of goods.py", 4, "def pay(items):"), "the place")
    assert nv.nv.current.window != window and len(nv.nv.windows) == 2
    nv.keys("<C-o>")
    nv.wait(lambda: place(nv)[0] == "shop/price.py", "the way back")
    # From place to place, and into a new window.
    nv.nv.command("Weft chat")
    nv.keys("gg]]")
    nv.wait(lambda: nv.nv.current.line == "about shop/price.py:6-8", "the first place")
    nv.keys("[[")
    nv.wait(lambda: nv.nv.current.window.cursor[0] > 3, "the last place, from the first back")
    nv.keys("gg]]]]<C-w>f")
    nv.wait(lambda: place(nv) == ("shop/price.py", 6, "def total_price(items, currency):"), "the place")
    assert len(nv.nv.windows) == 3
    nv.nv.command("Weft citations")
    found = nv.lua(QUICKFIX)
    assert ["shop/basket of goods.py", 4, 5, "def pay(items):"] in found
    assert ["shop/price.py", 6, 8, "def total_price(items, currency):"] in found
    assert nv.nv.current.buffer.options["buftype"] == "quickfix"
    # A file that went away meanwhile.
    (nv.folder / "shop/basket of goods.py").unlink()
    nv.nv.command("cclose | %bwipeout! | Weft history")
    nv.wait(lambda: QUESTION in nv.nv.current.line, "the history")
    nv.keys("<CR>")
    chat.shows("is called at 1 location")
    nv.lua("vim.fn.search('^- shop/basket of goods.py:4-5', 'b')")
    nv.keys("gf")
    nv.wait(lambda: any("does not exist any more" in notice for notice in nv.notices()), "the notice")


def test_a_follow_up_says_what_it_was_asked_as_and_is_asked_as_written(without_model):
    nv = without_model
    nv.nv.command("Weft chat")
    nv.keys("iwhat calls total_price?<C-s>")
    chat = Chat(nv)
    chat.shows("is called at 1 location")
    chat.is_done()
    nv.keys("iand where is it defined?<C-s>")
    line = "> asked as: where is `total_price` defined?"
    chat.shows(line)
    chat.is_done()
    assert f"## Weft\n{line}\n\n`total_price` is defined" in chat.text()
    screen = nv.screen()
    assert "ga asks as written" in "".join(screen)
    assert view(nv) == ["## You", "and where is it defined?", "## Weft"]
    nv.keys("ga")
    chat.shows("## You\nand where is it defined?", times=2)
    chat.is_done()
    assert chat.text().count(line) == 1
    *_, before, typed = asked(nv)
    assert "ga asks as written" not in "".join(nv.screen())  # the key would ask the newer question
    assert "asWritten" not in before and typed["asWritten"] and typed["question"] == before["question"]
    assert typed["conversationId"] == before["conversationId"]
    # The window bar has the title of the conversation and the keys.
    assert any("what calls total_price?" in row and "<CR> ask" in row for row in nv.screen())
    nv.nv.command("Weft new")
    assert any("New conversation" in row and "<CR> ask · gf open" in row for row in nv.screen())
    nv.nv.command("edit shop/price.py")
    assert not any("New conversation" in row for row in nv.screen())  # the bar belongs to the chat


def test_a_long_path_goes_on_behind_a_separator(without_model):
    nv = without_model
    folder = "/".join(f"component_{n}_of_the_shop" for n in range(6))
    (nv.folder / folder).mkdir(parents=True)
    (nv.folder / folder / "price_rules.py").write_text("def rule_of_price(items):\n    return items\n")
    nv.edit(f"{folder}/price_rules.py")
    nv.ready()
    nv.nv.command("Weft ask /where rule_of_price")
    chat = Chat(nv)
    chat.shows("price_rules.py:1-2")
    chat.is_done()
    nv.nv.command("Weft chat | only | vsplit | wincmd l | vertical resize 40")
    rows = [row[-40:].strip(" │|") for row in nv.screen()]
    first = next(n for n, row in enumerate(rows) if "component_0" in row)
    shown = [row for row in rows[first : first + 8] if "component" in row]
    assert len(shown) > 2 and all(row.endswith("/") for row in shown[:-1]), rows
    nv.keys("gg]]gf")
    nv.wait(lambda: place(nv)[0].endswith("price_rules.py"), "the place")


def test_a_place_is_not_found_within_a_longer_one(without_model):
    find = """
    local line, found = ..., {}
    for first, last in require('weft.transcript').occurrences(line, 'a b/c.py:4-6') do
      table.insert(found, line:sub(first, last + 1))
    end
    return found
    """
    line = "xa b/c.py:4-6 (a b/c.py:4-6), /a b/c.py:4-6, a b/c.py:4-60; [a b/c.py:4-6]"
    assert without_model.lua(find, line) == ["a b/c.py:4-6)", "a b/c.py:4-6]"]


def test_a_place_in_a_second_folder_opens_there(without_model, tmp_path):
    nv = without_model
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "weft.toml").write_text("")
    (tmp_path / "other" / "till.py").write_text("def open_till(key):\n    return key * 2\n")
    nv.edit(tmp_path / "other" / "till.py")
    nv.wait(lambda: nv.wire.said("workspace/didChangeWorkspaceFolders"), "the second folder")
    nv.wait(lambda: len(nv.status()["folders"]) == 2 and nv.status()["kind"] == "ready", "both folders")
    nv.nv.command("Weft ask /where open_till")
    chat = Chat(nv)
    chat.is_done()
    nv.nv.command("edit shop/price.py | Weft chat")
    nv.keys("gg]]gf")
    nv.wait(lambda: place(nv) == (str(tmp_path / "other" / "till.py"), 1, "def open_till(key):"), "the place")


def test_slash_commands_are_completed_from_what_the_server_says(without_model):
    nv = without_model
    nv.nv.command("Weft chat")
    nv.keys("i/wh<C-x><C-o><C-y>")
    nv.wait(lambda: nv.nv.current.line == "/where", "the command")
    offered = nv.lua("return require('weft.slash').complete(0, '/')")
    assert {"/explain", "/where", "/help"} <= {command["word"] for command in offered}
    nv.keys("<Esc>cc/explain<C-s>")
    chat = Chat(nv)
    chat.shows("shop/price.py:1-1: selected lines")  # what stands at the cursor of the file's window
    assert asked(nv)[0]["position"] == {"line": 0, "character": 0}


def test_an_empty_answer_and_a_missing_server_are_told_with_the_next_step(without_model, neovim):
    nv = without_model
    nv.wire.order(blank=["weft/ask"])
    nv.nv.command(f"Weft ask {QUESTION}")
    chat = Chat(nv)
    chat.shows("> The server stopped before it answered. Run :Weft restart, then ask again.")
    missing = neovim(FILES, setup="{ cmd = { 'no-such-weft', 'serve' } }")
    missing.nv.command(f"Weft ask {QUESTION}")
    chat = Chat(missing)
    chat.shows('"no-such-weft" was not found.')
    assert chat.text().endswith(QUESTION) and len(missing.notices()) == 1
