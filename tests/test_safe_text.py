"""Text from outside made safe: characters, Markdown, and the same in whatever pieces it comes."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from weft.server.completion.postprocess import postprocess
from weft.server.completion.values import Completion, Cursor, Written
from weft.server.output.folds import FOLD_END, FOLD_START, FoldedText, fold
from weft.server.output.safe_text import (
    MarkdownStream,
    for_editor,
    for_markdown,
    for_terminal,
    for_terminal_line,
    hidden_character,
)
from weft.server.workspace.text import TextLines

EXAMPLES = 20_000 if os.environ.get("WEFT_FUZZ") else 400

HIDDEN = [0x00, 0x07, 0x08, 0x0B, 0x1B, 0x7F, 0x85, 0x9B, 0x061C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029]
HIDDEN += [0x202A, 0x202E, 0x2060, 0x2066, 0x2069, 0xFEFF, 0xE0001, 0xE007F, 0xD800, 0xDFFF, 0xFFF9]


@pytest.mark.parametrize("code", HIDDEN, ids=lambda code: f"U+{code:04X}")
def test_hidden_characters_are_shown_as_escapes_everywhere(code: int):
    text, shown = f"a{chr(code)}b", f"a<U+{code:04X}>b"
    assert for_terminal(text) == for_terminal_line(text) == for_editor(text) == shown
    assert for_markdown(text) == f"a\\{shown[1:]}"
    assert for_markdown(f"`{text}`") == f"`{shown}`"
    assert hidden_character(text) == f"U+{code:04X}"


def test_plain_text_of_any_script_stays():
    text = "Größe\tdéjà 中文 العربية עברית हिन्दी می\u200cخواهم 👩‍👩‍👧 ❤️ 👍🏽\n"
    assert for_terminal(text) == for_editor(text) == for_markdown(text) == text
    assert hidden_character(text) == ""


@pytest.mark.parametrize("text", ["ab\u200dcd", "a\u200c", "\u200dx", "ж\u200dж", "👩\u200d"])
def test_joiners_that_join_nothing_are_shown(text: str):
    assert "<U+200" in for_editor(text)
    assert hidden_character(text)


def test_a_line_for_the_terminal_has_no_line_break():
    assert for_terminal_line("a\nb") == "a<U+000A>b"
    assert for_terminal("a\r\nb\rc\td") == "a\nb<U+000D>c\td"


def test_a_link_of_the_terminal_is_text():
    assert for_terminal("\x1b]8;;file:///etc/passwd\x1b\\here\x1b]8;;\x1b\\") == (
        "<U+001B>]8;;file:///etc/passwd<U+001B>\\here<U+001B>]8;;<U+001B>\\"
    )


ACTING = [
    "[x](command:workbench.action.quit)",
    "[x](file:///etc/passwd)",
    "[x](docs/a.md)",
    "[x]( command:a )",
    "[x](<command:a>)",
    "[x](&#99;ommand:a)",
    "[x](JavaScript:alert(1))",
    "[x](java\\script:alert)",
    "[x](data:text/html,a)",
    "[x](vscode://a/b)",
    '[x](http://a.example "title")',
    "[x](\ncommand:a)",
    "[x](command:a\n)",
    "![a](http://a.example/b.png)",
    "![a][b]\n\n[b]: http://a.example/b.png",
    "[a][b]\n\n[b]: command:c",
    "[b]\n\n[b]: command:c",
    "[b\nc]\n\n[b\nc]: command:c",
    "> [b]: command:c\n\n[b]",
    "- 1. [b]: command:c\n\n[b]",
    "[b\\]c]\n\n[b\\]c]: command:c",
    "<command:a>",
    "<https://a.example>",
    "<a href='command:a'>x</a>",
    "<img src=http://a.example/b.png>",
    "<!-- x -->",
    "<div>\n[x](command:a)\n</div>",
    "\\\\<b>",
    "\\\\[x](command:a)",
    "\\![x](command:a)",
    "` [x](command:a)",
    "a ` b\n` [x](command:a) `",
    "`` ` [x](command:a)",
    "| a ` | [x](command:a) | ` |\n|---|---|---|\n| a ` | [x](command:a) | ` |",
    "```\n```\n[x](command:a)",
    "```\na\n   ```   \n[x](command:a)",
    "- ```\n  a\n[x](command:a)",
    "- a\n  ```\n  b\n[x](command:a)\n  ```\n[x](command:a)",
    "> ```\n[x](command:a)",
    "    ```\n[x](command:a)\n    ```",
    "~~~ `\n[x](command:a)\n~~~\n[x](command:a)",
    "~~~ " + 300 * "a" + "\nb\n~~~\n[x](command:a)",
    "```\n```" + 300 * " " + "\n[x](command:a)",
    "``` `a\n[x](command:a)\n```\n[x](command:a)",
    "`" * 300 + "[x](command:a)" + "`" * 300,
    "`" + 1200 * "a" + "` [x](command:a) `",
    "[![a](http://a.example)](command:b)",
    300 * ">" + "[b]: command:c\n\n[b]",
    "[x](http://a.example\u202e)",
]


@pytest.mark.parametrize("text", ACTING)
def test_nothing_but_links_to_the_web_acts(text: str):
    check(text)


PARTS = st.one_of(
    st.sampled_from(list("[]()!<>`\\|:\n\taB#*_$=\r\u202e\u200d\x1b👩")),
    st.sampled_from(["``", "```", "~~~", "\n\n", "  ", "    ", "- ", "1. ", "> ", "command:a", "http://a.example"]),
    st.sampled_from(["<details><summary>3 more</summary>\n", "\n</details>\n", "<details>", "</details>"]),
    st.sampled_from(["https://b.example/c(d)", "[b]: ", "[b]", "](", "|---|---|\n", "&#99;", "</", "<a ", "\r\n"]),
)
TEXTS = st.lists(PARTS, max_size=25).map("".join)


@settings(max_examples=EXAMPLES, deadline=None)
@given(TEXTS)
def test_no_text_acts_and_a_second_pass_changes_nothing(text: str):
    check(text)


@settings(max_examples=EXAMPLES, deadline=None)
@given(TEXTS, st.lists(st.integers(0, 60)))
def test_the_pieces_do_not_matter(text: str, cuts: list[int]):
    ends = sorted({cut for cut in cuts if cut < len(text)})
    pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    assert in_pieces(pieces) == for_markdown(text) == in_pieces(text)


def test_good_markdown_stays():
    text = (
        "# Pay\n\n`pay(x)` calls **total** (shop/basket.py:4-5), see [the docs](https://a.example/x?y=1#z).\n\n1. one\n"
        "2. a < b && c > d, items[0], ``a ` b``\n\n```py\nx: dict[str] = f(items[0](1))  # <a>\n\n    y\n```\n\n"
        "> said\n\n| a | `b` |\n|---|---|\n| 1 | `c || d` |\n"
    )
    assert for_markdown(text) == text


def test_fenced_code_in_a_list_is_put_where_every_parser_sees_its_end():
    text = "1. Do this:\n   ```py\n   if a:\n       b = [0](x)\n   ```\n2. Then that."
    assert for_markdown(text) == "1. Do this:\n```py\nif a:\n    b = [0](x)\n```\n2. Then that."


def test_code_that_is_left_open_is_closed():
    assert for_markdown("```py\na") == "```py\na\n```"
    assert for_markdown("~~~~\n") == "~~~~\n~~~~"


def test_an_image_becomes_a_link_or_text():
    assert for_markdown("see ![a plan](https://a.example/b.png)!") == "see \\![a plan](https://a.example/b.png)!"
    assert for_markdown("![a](file:///b.png)") == "\\![a]\\(file:///b.png)"


def check(text: str) -> None:
    safe = for_markdown(text)
    assert list(_acting(safe)) == [], safe
    assert for_markdown(safe) == safe


def in_pieces(pieces: Iterator[str] | list[str] | str) -> str:
    stream = MarkdownStream()
    return "".join([*map(stream.feed, pieces), stream.finish()])


def _acting(markdown: str) -> Iterator[str]:
    """What an independent parser finds that would do something, with everything switched on."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    tokens: list[Token] = parser.parse(markdown)
    while tokens:
        token = tokens.pop()
        tokens += token.children or ()
        if token.type in ("html_inline", "html_block", "image") and not _is_fold(token.content):
            yield token.content
        if token.type == "link_open" and not str(token.attrs["href"]).lower().startswith(("http://", "https://")):
            yield str(token.attrs["href"])


def _is_fold(html: str) -> bool:
    return all(FOLD_START.fullmatch(line) or FOLD_END.fullmatch(line) for line in html.splitlines())


FOLDED = (
    "Called at 3 locations:\n\n- a.py:1-2\n\n<details><summary>2 more</summary>\n\n- b.py:3-4\n\n</details>\n\nEnd.\n"
)


def test_the_tags_of_a_fold_stay_and_any_other_html_is_text():
    assert for_markdown(FOLDED) == FOLDED
    assert for_markdown("<details><summary>2 more</summary>\n<b>") == (
        "<details><summary>2 more</summary>\n\n\\<b>"  # a blank line ends what a browser reads as HTML
    )
    for text in ("x <details><summary>2</summary>", "<details open><summary>2</summary>", "<summary>2</summary>"):
        assert for_markdown(text) == text.replace("<d", "\\<d").replace("<s", "\\<s").replace("</", "\\</")
    check("<details><summary>a</summary>\n<img src=x onerror=alert(1)>\n</details>\n<script>alert(1)</script>")


def in_terminal(text: str, size: int, *, is_open: bool) -> str:
    view = FoldedText("--all", is_open=is_open)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    return "".join([*map(view.feed, pieces), view.finish()])


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_terminal_leaves_a_fold_out_or_shows_it_without_its_tags(size: int):
    closed = "Called at 3 locations:\n\n- a.py:1-2\n\n2 more: --all\n\nEnd.\n"
    assert in_terminal(FOLDED, size, is_open=False) == closed
    assert in_terminal(FOLDED, size, is_open=True) == ("Called at 3 locations:\n\n- a.py:1-2\n\n- b.py:3-4\n\nEnd.\n")
    fenced = "```html\n<details><summary>2 more</summary>\n</details>\n```\na <details> b"
    assert in_terminal(fenced, size, is_open=False) == fenced
    quoted = "    3  </details>\n"
    assert in_terminal(fold("2 more", quoted) + "\nx", size, is_open=False) == "2 more: --all\nx"


def test_a_fold_has_a_plain_summary():
    assert fold("2 <b>more</b>\n`x`", "y") == "<details><summary>2 b more /b x</summary>\n\ny\n\n</details>"


@settings(max_examples=EXAMPLES, deadline=None)
@given(TEXTS, st.integers(1, 7), st.booleans())
def test_what_a_terminal_shows_does_not_depend_on_the_pieces(text: str, size: int, is_open: bool):
    assert in_terminal(text, size, is_open=is_open) == in_terminal(text, 1000, is_open=is_open)


@pytest.mark.parametrize("text", ["user\u202e", "a\x1b[2J", "pay\u200bment", "x\u2066y", "ok\U000e0041", "a\fb"])
def test_a_completion_with_a_hidden_character_is_not_offered(text: str):
    completion = shown(f'"{text}"')
    assert completion.text == "" and "control or invisible character (U+" in completion.why_empty


@pytest.mark.parametrize("text", ['"a\tb"', '"שלום العربية"', '"👩‍👩‍👧 ❤️"', '"می\u200cخواهم"'])
def test_a_completion_in_any_script_is_offered(text: str):
    assert shown(text).text == text


def shown(text: str) -> Completion:
    cursor = Cursor("a.py", TextLines("name = "), 0, 7)
    return postprocess(Written(((text, None),), "model"), cursor, single_line=True, invoked=True)
