"""Chat in the real VS Code: the view in the side bar with and without a model, and @weft in VS Code's own chat."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from weft.server.chat.commands import COMMANDS

CHAT = "#composer"
"""An element by which the frame of the chat is found."""

ANSWERED = "article[data-state=answered]:last-child"
WAIT_S = 30
QUESTION = "What does handle_3 write?"
PIECES = (
    "`handle_3` takes the price",
    " (part_3.py:5-6). ",
    "It writes the total with `ledger.write(total)`",
    " (part_3.py:8-8).\n",
)
SAID = "handle_3 takes the price (part_3.py:5-6). It writes the total with ledger.write(total) (part_3.py:8-8)."


@pytest.fixture
def remote_model(vscode, waiting):
    """`remote_model(url)`: the server's model is behind this address from now on; without one, none that chats is."""

    def use(url=None):
        model = {"backend": "openai", "url": url, "fim": "none"}
        vscode.set(machine={"weft.model": [model] if url else None})

        def is_told():
            *_, last = vscode.wire.said("weft/didChangeStatus")
            return any(each["backend"] == "openai" for each in last["message"]["params"]["models"]) == bool(url)

        waiting(is_told, "the model in the status")

    yield use
    use()


@pytest.fixture
def model(remote_model, replaying, chat_routes):
    """`model(answer)`: a server of OpenAI's protocol, set as the editor's model; `answer(reply, say)` says pieces."""

    def begin(answer):
        server = replaying(chat_routes(answer))
        remote_model(server.url)

    return begin


@pytest.fixture
def chat(shop):
    """The view with a new conversation, and the cursor in its box."""
    shop.command("Weft: New Conversation")
    shop.wait("#question:focus", frame=CHAT)
    shop.gone("article", frame=CHAT)
    return shop


def ask(window, question):
    window.wait("#question:focus", frame=CHAT)
    window.type(question)
    window.press("Enter")


def answer_of(window, question=QUESTION, state="answered"):
    """The last answer, as soon as it is one to this question and in this state."""
    turn = ANSWERED.replace("answered", state)
    window.wait(turn, question, frame=CHAT)
    return window.wait(f"{turn} .answer", frame=CHAT)


def asked(vscode, mark):
    return [note["message"]["params"] for note in vscode.wire.said("weft/ask", after=mark, sender="editor")]


def test_an_answer_is_streamed_and_its_citations_open_the_lines(chat, vscode, model, picture):
    go_on = threading.Event()

    def answer(reply, say):
        for piece in PIECES[:2]:
            say(piece)
        say("It ")
        assert go_on.wait(WAIT_S)
        for piece in PIECES[2:]:
            say(piece.removeprefix("It "))

    model(answer)
    ask(chat, QUESTION)
    # What came is there, with its link, while the rest is still being written.
    chat.wait("article[data-state=writing] a.place", "part_3.py:5-6", frame=CHAT)
    assert answer_of(chat, state="writing") in SAID
    assert chat.wait("#send", frame=CHAT) == "Stop"
    go_on.set()
    assert answer_of(chat) == SAID
    assert chat.wait(".model", frame=CHAT) == "Written by org/chat"
    picture(chat, "chat")

    chat.click("a.place", "part_3.py:5-6", frame=CHAT)
    chat.wait("#status\\.editor\\.selection", "Ln 6, Col 29 (50 selected)")
    chat.wait(".tab.active", "part_3.py")
    # By keys alone: from the box back to the last citation.
    chat.click("#question", frame=CHAT)
    chat.press("Shift+Tab", "Shift+Tab")
    assert chat.do("evaluate", frame=CHAT, script="document.activeElement.textContent") == "part_3.py:8-8"
    chat.press("Enter")
    chat.wait("#status\\.editor\\.selection", "Ln 8, Col 28")
    # Each sentence is read out once, in whole.
    heard = " ".join(
        chat.do("evaluate", frame=CHAT, script="[...document.querySelectorAll('[role=log] p')].map(p => p.textContent)")
    )
    assert SAID in heard and "End of the answer, 2 citations." in heard


def test_a_follow_up_says_what_it_was_asked_as_and_is_asked_as_written(chat, vscode, picture):
    ask(chat, "what calls open_ledger?")
    answer_of(chat, "what calls open_ledger?")
    assert chat.texts(".asked-as", frame=CHAT) == []
    follow_up = "and where is it imported?"
    ask_from_box(chat, follow_up)
    answer_of(chat, follow_up)
    line = "asked as: where is open_ledger imported? Ask as written"
    assert chat.texts(".asked-as", frame=CHAT) == [line]
    picture(chat, "chat-asked-as")
    heard = chat.do("evaluate", frame=CHAT, script="document.querySelector('[role=log]').textContent")
    assert heard.count("Asked as: where is `open_ledger` imported?") == 1
    mark = vscode.wire.now()
    chat.click(".asked-as button", "Ask as written", frame=CHAT)
    vscode.wire.wait("weft/ask", after=mark, sender="server")
    answer_of(chat, follow_up)
    (params,) = asked(vscode, mark)
    assert params["asWritten"] and params["question"] == follow_up and params["conversationId"]
    assert len(chat.texts("article", frame=CHAT)) == 3 and chat.texts(".asked-as", frame=CHAT) == [line]


LONG = "\n\n".join(f"Step {n} of `handle_3` follows." for n in range(30))
POSITION = """(() => {
  const view = document.querySelector("main");
  const last = document.querySelector("article:last-child");
  const top = last.getBoundingClientRect().top - view.getBoundingClientRect().top;
  return [Math.round(top), Math.round(view.scrollHeight - view.scrollTop - view.clientHeight)];
})()"""


def position(window):
    """The distance of the last question from the top of the view, and of its end from the end, in pixels."""
    return window.do("evaluate", frame=CHAT, script=POSITION)


def test_the_last_question_stays_at_the_top_of_the_view_while_its_answer_grows(chat, model, picture, waiting):
    go_on = [threading.Event() for _ in range(3)]

    def answer(reply, say):
        say(PIECES[0] + PIECES[1] + "\n\n" + LONG)
        for event in go_on:
            assert event.wait(WAIT_S)
            say("\n\n" + LONG.replace("Step", f"Part {go_on.index(event)}, step"))

    def written(text):
        chat.do("wait", selector="article:last-child .answer p", text=text, frame=CHAT)

    model(answer)
    ask(chat, QUESTION)
    written("Step 29")
    assert position(chat)[0] == 0 and position(chat)[1] > 100
    picture(chat, "chat-at-the-top")
    go_on[0].set()
    written("Part 0, step 29")
    assert position(chat)[0] == 0
    # Whoever scrolls to the end sees the end of what comes.
    chat.do("evaluate", frame=CHAT, script="document.querySelector('main').scrollTo(0, 1e6)")
    waiting(lambda: position(chat)[1] == 0, "the end of the answer")
    go_on[1].set()
    written("Part 1, step 29")
    waiting(lambda: position(chat)[1] == 0, "the new end of the answer")
    chat.do("evaluate", frame=CHAT, script="document.querySelector('main').scrollBy(0, -300)")
    waiting(lambda: position(chat)[1] == 300, "the way back")
    go_on[2].set()
    written("Part 2, step 29")
    assert position(chat)[1] > 500
    answer_of(chat)
    # The next question comes to the top, also with a short answer, and after the history was open.
    ask_from_box(chat, "/where handle_4")
    answer_of(chat, "/where handle_4")
    assert position(chat)[0] == 0
    for _ in range(2):
        press_icon(chat, "Show or Hide History")
    chat.wait("article:last-child", frame=CHAT)
    assert position(chat)[0] == 0


FOLDED = """\
`handle_3` takes the price (part_3.py:5-6).

<details><summary>2 more</summary>

- It opens the ledger (part_3.py:7-7).

</details>

That is all.
"""


def test_a_folded_part_of_an_answer_is_opened_by_a_click(chat, model, picture):
    model(lambda reply, say: say(FOLDED))
    ask(chat, QUESTION)
    assert "It opens the ledger" not in answer_of(chat)
    picture(chat, "chat-fold")
    chat.click(".answer summary", "2 more", frame=CHAT)
    assert "It opens the ledger (part_3.py:7-7)." in answer_of(chat) and "That is all." in answer_of(chat)
    chat.click(".answer details a.place", "part_3.py:7-7", frame=CHAT)
    chat.wait("#status\\.editor\\.selection", "Ln 7, ")


def test_the_title_bar_stops_starts_anew_and_opens_history_and_settings(chat, model, picture):
    def answer(reply, say):
        say(PIECES[0] + PIECES[1])
        reply.was_cut()

    icons = ".sidebar .title-actions .action-label"
    chat.gone(f"{icons}[aria-label^='Stop Answer']")
    model(answer)
    ask(chat, QUESTION)
    chat.wait("article[data-state=writing] a.place", frame=CHAT)
    chat.wait(f"{icons}[aria-label^='Stop Answer']")
    picture(chat, "chat-title-bar")
    press_icon(chat, "Stop Answer")
    answer_of(chat, state="stopped")
    chat.gone(f"{icons}[aria-label^='Stop Answer']")
    press_icon(chat, "Show or Hide History")
    chat.wait(".conversation", QUESTION, frame=CHAT)
    press_icon(chat, "New Conversation")
    chat.wait("#question:focus", frame=CHAT)
    chat.gone("article", frame=CHAT)
    chat.gone(".conversation", frame=CHAT)
    press_icon(chat, "Open Settings")
    chat.wait(".settings-editor", "weft")


def test_stop_ends_the_model_and_keeps_what_was_written(chat, vscode, model, remote_model):
    was_cut = threading.Event()

    def answer(reply, say):
        for piece in PIECES[:2]:
            say(piece)
        say("And ")
        if reply.was_cut():
            was_cut.set()

    model(answer)
    mark = vscode.wire.now()
    ask(chat, QUESTION)
    chat.wait("article[data-state=writing] a.place", frame=CHAT)
    # A second question waits in the box, and the person is told why.
    chat.type("And then?")
    chat.press("Enter")
    chat.wait(".hint", "An answer is being generated", frame=CHAT)
    chat.press("Escape")
    assert "(part_3.py:5-6)" in answer_of(chat, state="stopped")
    chat.wait(".stopped", "Stopped.", frame=CHAT)
    assert was_cut.wait(WAIT_S)
    assert chat.do("evaluate", frame=CHAT, script="document.querySelector('#question').value") == "And then?"
    remote_model()
    chat.press("Enter")
    assert "part_3.py" in answer_of(chat, "And then?")
    first, second = asked(vscode, mark)
    assert "conversationId" not in first and second["question"] == "And then?" and second["conversationId"]


def test_an_answer_of_somebody_else_is_text_and_does_nothing(chat, model):
    hostile = "`handle_3` <img src=x onerror=alert(1)> ![x](http://x/p.png) [y](command:weft.restart) (part_3.py:5-10)."
    model(lambda reply, say: say(hostile))
    ask(chat, QUESTION)
    # The server escapes the "!": a link remains, and no image is loaded.
    assert answer_of(chat) == hostile.replace("`", "").replace("![x](http://x/p.png)", "!x")
    made = chat.do("evaluate", frame=CHAT, script="[...document.querySelectorAll('.answer *')].map(e => e.localName)")
    assert set(made) == {"p", "code", "a", "wbr", "span"}
    assert chat.texts(".answer a", frame=CHAT) == ["x", "part_3.py:5-10"]


def test_a_link_to_the_web_is_a_link_and_any_other_is_text(chat, model):
    links = (
        "`handle_3` [ok](https://weft.invalid/a) [j](javascript:alert(1)) <script>alert(1)</script> (part_3.py:5-10)."
    )
    model(lambda reply, say: say(links))
    ask(chat, QUESTION)
    assert "[j](javascript:alert(1)) <script>alert(1)</script>" in answer_of(chat)
    assert chat.texts(".answer a:not(.place)", frame=CHAT) == ["ok"]
    assert chat.attribute(".answer a:not(.place)", "title", frame=CHAT) == "https://weft.invalid/a"
    assert chat.do("evaluate", frame=CHAT, script="document.querySelectorAll('.answer script').length") == 0


CONTRAST = """(selectors) => {
  const rgb = (colour) => {
    const made = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
    made.fillStyle = colour;
    made.fillRect(0, 0, 1, 1);
    return [...made.getImageData(0, 0, 1, 1).data];
  };
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, of, n) => sum + of * linear(colour[n] / 255), 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour[3] > 200) return colour;
    }
    return rgb(getComputedStyle(document.documentElement).getPropertyValue("--vscode-sideBar-background"));
  };
  return selectors.map((selector) => {
    const element = document.querySelector(selector);
    const [a, b] = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
    return [selector, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  });
}"""

CODE_TOKENS = [".hljs-comment", ".hljs-keyword", ".hljs-title", ".hljs-built_in", ".hljs-number", ".hljs-string"]
THEMES = {
    "Light Modern": "vscode-light",
    "Dark High Contrast": "vscode-high-contrast",
    "Light High Contrast": "vscode-high-contrast-light",
    "Dark Modern": "vscode-dark",
}


def themes(window):
    """Switches to each kind of theme; ends with the theme of the other tests."""
    for theme, kind in THEMES.items():
        window.command("Preferences: Color Theme")
        # Not the input of the Command Palette, which is closing.
        window.fill(".quick-input-widget input[placeholder*='Color Theme']", theme)
        window.wait(".quick-input-widget .monaco-list-row.focused", theme)
        window.press("Enter")
        window.do("wait", selector=f"body.{kind}", frame=CHAT)
        yield kind


def hard_to_read(window, selectors):
    """The selectors of texts with a contrast below 4.5:1, the minimum of WCAG AA."""
    ratios = window.do("evaluate", frame=CHAT, script=f"({CONTRAST})({json.dumps(selectors)})")
    return [(name, ratio) for name, ratio in ratios if ratio < 4.5]


TABLE_AND_QUOTE = """\
`handle_3` has these steps (part_3.py:5-10):

| step | lines | cost |
|---|---|--:|
| take the price | part_3.py:6-6 | 1 |
| write the total | part_3.py:7-9 | 12 |

> The ledger closes the day.

1. It opens the ledger
   - with the `basket`
   - and writes to it
2. It returns

"""
FENCE = """\
```python
# The total of a basket, in whole cents.
def handle_3(basket: Basket) -> int:
    return price_of(basket) * 100 + len("cents")
"""


def test_tables_quotes_lists_and_code_are_rendered_while_they_stream(chat, model, picture, waiting):
    go_on = threading.Event()

    def answer(reply, say):
        say(TABLE_AND_QUOTE)
        say(FENCE)
        assert go_on.wait(WAIT_S)
        say("```\n\nThat is all.")

    model(answer)
    ask(chat, QUESTION)
    writing = "article[data-state=writing]"
    # The fence is still open: its code is shown, without highlighting.
    chat.wait(f"{writing} pre code", "return price_of(basket)", frame=CHAT)
    chat.gone(f"{writing} pre span", frame=CHAT)
    assert chat.texts(f"{writing} th", frame=CHAT) == ["step", "lines", "cost"]
    go_on.set()
    assert "That is all." in answer_of(chat)
    assert chat.texts(f"{ANSWERED} td", frame=CHAT)[:3] == ["take the price", "part_3.py:6-6", "1"]
    assert chat.texts(f"{ANSWERED} td.right", frame=CHAT) == ["1", "12"]
    assert chat.wait(f"{ANSWERED} blockquote", frame=CHAT) == "The ledger closes the day."
    assert chat.texts(f"{ANSWERED} ol > li > ul > li", frame=CHAT) == ["with the basket", "and writes to it"]
    assert chat.texts(f"{ANSWERED} pre .hljs-keyword", frame=CHAT) == ["def", "return"]
    for theme in themes(chat):
        picture(chat, f"chat-markdown-{theme}")
        assert not hard_to_read(chat, ["th", "td", "td a", "blockquote p", "pre code", *CODE_TOKENS]), theme
    # A citation in a table opens its lines, and a block is copied unchanged.
    chat.click(f"{ANSWERED} td a.place", "part_3.py:7-9", frame=CHAT)
    chat.wait("#status\\.editor\\.selection", "Ln 9, Col 27")
    chat.click(f"{ANSWERED} button.copy", frame=CHAT)
    chat.wait(f"{ANSWERED} button.copy", "Copied", frame=CHAT)
    code = FENCE.partition("\n")[2].removesuffix("\n")
    waiting(lambda: chat.do("evaluate", script="navigator.clipboard.readText()") == code, "the code in the clipboard")


def test_an_answer_that_does_not_come_is_said(chat, vscode):
    vscode.wire.order(blank=["weft/ask"])
    ask(chat, QUESTION)
    chat.wait(".error", "The server stopped before it answered. Ask again.", frame=CHAT)
    with pytest.raises(AssertionError, match="does not appear"):
        chat.do("wait", selector=ANSWERED, frame=CHAT, waitMs=500)


def test_without_a_model_lines_answer_and_what_is_not_there_is_said(chat, vscode):
    ask(chat, QUESTION)
    assert "handle_3 in part_3.py:" in answer_of(chat)
    assert chat.texts(".listing .number", frame=CHAT) == ["5", "6", "7", "8", "9", "10"]
    chat.click(".evidence summary", frame=CHAT)
    chat.wait(".evidence .why", "defines handle_3", frame=CHAT)
    ask_from_box(chat, "How are penguins fed?")
    chat.wait("article[data-state=not-found] .answer", "Not found in this repository", frame=CHAT)
    # The arrow brings questions back; what is half typed is not overwritten.
    chat.press("ArrowUp", "ArrowUp")
    assert chat.do("evaluate", frame=CHAT, script="document.querySelector('#question').value") == QUESTION
    chat.press("ArrowDown", "ArrowDown")
    # Commands are offered while the slash is typed.
    chat.type("/w")
    assert chat.texts("#commands [aria-selected=true] .name", frame=CHAT) == ["/where NAME"]
    mark = vscode.wire.now()
    chat.press("Enter")
    chat.type("price_of")
    chat.press("Enter")
    vscode.wire.wait(
        "weft/ask", lambda result: "price_of" in (result or {}).get("text", ""), after=mark, sender="server"
    )
    assert asked(vscode, mark)[0]["question"] == "/where price_of"


def ask_from_box(window, question):
    window.click("#question", frame=CHAT)
    ask(window, question)


def test_a_selection_goes_along_and_can_be_taken_away(chat, vscode):
    chat.open("part_1.py")
    chat.go(6, 1)
    chat.press("Shift+ArrowDown", "Shift+ArrowDown")
    chat.command("Weft: Ask About Selection")
    chat.wait(".chip", "part_1.py:6-7", frame=CHAT)
    chat.click(".chip", "Remove", frame=CHAT)
    chat.gone(".chip", frame=CHAT)
    chat.click("#attach", frame=CHAT)
    chat.wait(".chip", "part_1.py:6-7", frame=CHAT)
    mark = vscode.wire.now()
    ask_from_box(chat, "/explain")
    assert "part_1.py:6-7" in answer_of(chat, "/explain")
    (params,) = asked(vscode, mark)
    assert params["textDocument"]["uri"].endswith("/part_1.py")
    assert params["selection"] == {"start": {"line": 5, "character": 0}, "end": {"line": 7, "character": 0}}
    chat.wait(".about", "About part_1.py:6-7", frame=CHAT)
    chat.gone(".chip", frame=CHAT)


def test_a_server_killed_in_an_answer_leaves_the_question_and_the_next_step(chat, vscode, model):
    def answer(reply, say):
        for piece in PIECES[:2]:
            say(piece)
        say("And ")
        reply.was_cut()

    model(answer)
    mark = vscode.wire.now()
    ask(chat, QUESTION)
    chat.wait("article[data-state=writing] a.place", frame=CHAT)
    vscode.set()
    vscode.wire.kill(vscode.wire.wait("weft/ask", after=mark)["server"])
    chat.wait(".error", "restarts automatically", frame=CHAT)
    assert chat.wait("article .question", frame=CHAT) == QUESTION
    # At once: a server that is being started is waited for.
    chat.click(".error button", "Ask Again", frame=CHAT)
    assert "part_3.py:5-10" in answer_of(chat)
    assert len(chat.texts("article", frame=CHAT)) == 2


def test_history_goes_on_after_a_reload_and_is_searched_and_deleted(chat, vscode, picture):
    ask(chat, "/where handle_4")
    assert "part_4.py" in answer_of(chat, "/where handle_4")
    chat.command("Weft: New Conversation")
    ask(chat, "/where handle_5")
    assert "part_5.py" in answer_of(chat, "/where handle_5")
    chat.type("half a question")
    chat.command("View: Show Explorer")
    chat.gone("iframe.webview")
    chat.command("Weft: Ask About This Repository")
    assert "part_5.py" in answer_of(chat, "/where handle_5")
    assert chat.do("evaluate", frame=CHAT, script="document.querySelector('#question').value") == "half a question"

    mark = vscode.wire.now()
    chat.reload()
    vscode.wire.wait("weft/didChangeStatus", lambda status: status["kind"] == "ready", after=mark)
    chat.command("Weft: Ask About This Repository")
    assert "part_5.py" in answer_of(chat, "/where handle_5")
    chat.click("a.place", "part_5.py:5-10", frame=CHAT)
    chat.wait("#status\\.editor\\.selection", "Ln 10, Col 17")

    search(chat, "handle_4")
    chat.press("ArrowDown", "Enter")
    assert "part_4.py" in answer_of(chat, "/where handle_4")
    mark = vscode.wire.now()
    ask_from_box(chat, "/where handle_0")
    assert "part_0.py" in answer_of(chat, "/where handle_0")
    assert asked(vscode, mark)[0]["conversationId"]
    search(chat, "handle_4")
    picture(chat, "chat-history")
    chat.press("ArrowDown", "Delete")
    chat.click(".monaco-dialog-box .monaco-button", "Delete")
    chat.gone(".conversation", "/where handle_4", frame=CHAT)
    chat.press("Escape")
    chat.gone("article", frame=CHAT)


def press_icon(window, title):
    """Presses an icon of the title bar of the view."""
    window.click(f".sidebar .title-actions .action-label[aria-label^='{title}']")


def search(window, text):
    """The history, with the conversation that began with `/where TEXT` on top."""
    press_icon(window, "Show or Hide History")
    window.wait("#search:focus", frame=CHAT)
    window.type(text)
    window.wait("li:first-child .conversation", f"/where {text}", frame=CHAT)


def test_it_can_be_read_in_every_theme_and_by_who_cannot_see(chat, picture):
    ask(chat, QUESTION)
    answer_of(chat)
    tree = chat.accessibility("body", frame=CHAT)
    for part in (
        '- main "Conversation"',
        f'- article "{QUESTION}"',
        '- link "part_3.py:5-10"',
        '- list "Notes"',
        '- combobox "Question"',
        '- button "Ask"',
        '- log "New text of the answer"',
    ):
        assert part in tree, tree
    texts = [
        ".question",
        ".answer p",
        ".answer code",
        "a.place",
        ".notes li",
        "summary",
        "#attach",
        "#send",
        "#question",
    ]
    for theme in themes(chat):
        picture(chat, f"chat-{theme}")
        assert not hard_to_read(chat, texts), theme
    # As narrow as a side bar can be: nothing is cut off.
    chat.do("evaluate", frame=CHAT, script="document.documentElement.style.width = '170px'")
    picture(chat, "chat-narrow")
    inside = (
        "[...document.querySelectorAll('button, p, h2, summary')].every((e) => e.getBoundingClientRect().right <= 171)"
    )
    assert chat.do("evaluate", frame=CHAT, script=inside)
    chat.do("evaluate", frame=CHAT, script="document.documentElement.style.width = ''")


def test_weft_answers_in_the_own_chat_of_vs_code(shop, vscode, picture):
    mark = vscode.wire.now()
    shop.press("Control+Alt+i")
    shop.wait(".interactive-input-part .monaco-editor")
    shop.click(".interactive-input-part .monaco-editor .view-lines")
    # In one piece: what the box proposes while somebody types is its own matter.
    shop.do("insert", text=f"@weft {QUESTION}")
    shop.press("Enter")
    shop.wait(".interactive-response", "handle_3 in part_3.py:")
    picture(shop, "chat-participant")
    shop.click(".interactive-response .chat-inline-anchor-widget", "part_3.py")
    shop.wait("#status\\.editor\\.selection", "Ln 10, Col 17")
    shop.click(".interactive-input-part .monaco-editor .view-lines")
    shop.do("insert", text="/where handle_2")
    shop.press("Enter")
    shop.wait(".interactive-response", "is defined at 1 location")
    first, second = asked(vscode, mark)
    assert first["question"] == QUESTION
    assert second["question"] == "/where handle_2" and second["conversationId"]
    shop.press("Control+Alt+b")
    shop.gone(".interactive-input-part")


def test_the_commands_of_weft_in_the_own_chat_are_those_of_the_server():
    manifest = Path(__file__).parents[3] / "editors" / "vscode" / "package.json"
    (participant,) = json.loads(manifest.read_text(encoding="utf-8"))["contributes"]["chatParticipants"]
    meant = {name: meaning[0].upper() + meaning[1:] for name, (_, meaning) in COMMANDS.items()}
    assert {each["name"]: each["description"] for each in participant["commands"]} == meant
