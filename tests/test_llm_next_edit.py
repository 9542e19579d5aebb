"""Prompts of next-edit models, letter by letter as their cards and clients describe them, and their answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.llm.prompting.next_edit.formats import (
    CHAT,
    REWRITE_FORMATS,
    answer_tokens,
    find_rewrite_format,
    fit_rewrite,
)
from weft.llm.prompting.next_edit.instruct import INSTRUCTION
from weft.llm.prompting.next_edit.values import RecentChange, RewriteRequest
from weft.llm.prompting.next_edit.zeta2 import block_starts
from weft.llm.protocol import ChatRequest, CompletionRequest, PromptFragment
from weft.llm.text import estimated_tokens

REQUEST = RewriteRequest(
    path="shop.py",
    language="python",
    above="import price\n\n",
    region="def pay(amount, tax):\n    return amount\n",
    below="\npay(1)\n",
    cursor=19,
    original="def pay(amount):\n    return amount\n",
    starts_file=True,
    changes=(
        RecentChange("price.py", 1, 1, (), ("TAX = 1",), ("TAX = 2",), ("RATE = 3",)),
        RecentChange("shop.py", 3, 3, (), ("def pay(amount):",), ("def pay(amount, tax):",), ("    return amount",)),
    ),
    fragments=(PromptFragment(("price.py", "copy.py"), "TAX = 2\n", 0, 1.0),),
    diagnostics=("shop.py:3: warning: unused argument 'tax'",),
)

ZETA = """\
### Instruction:
You are a code completion assistant and your task is to analyze user edits and then rewrite an excerpt that the user \
provides, suggesting the appropriate edits within the excerpt, taking into account the cursor location.

### User Edits:

User edited "price.py":
```diff
@@ -1,2 +1,2 @@
-TAX = 1
+TAX = 2
 RATE = 3
```

User edited "shop.py":
```diff
@@ -3,2 +3,2 @@
-def pay(amount):
+def pay(amount, tax):
     return amount
```

### User Excerpt:

```shop.py
<|start_of_file|>
import price

<|editable_region_start|>
def pay(amount, tax<|user_cursor_is_here|>):
    return amount
<|editable_region_end|>

pay(1)
```

### Response:
"""

SEED_CODER = """\
<[fim-suffix]>
pay(1)
<[fim-prefix]><filename>price.py
TAX = 2

<filename>edit_history
--- a/price.py
+++ b/price.py
@@ -1,2 +1,2 @@
-TAX = 1
+TAX = 2
 RATE = 3
--- a/shop.py
+++ b/shop.py
@@ -3,2 +3,2 @@
-def pay(amount):
+def pay(amount, tax):
     return amount

<filename>shop.py
import price

"""

ZETA2 = f"""\
{SEED_CODER}<<<<<<< CURRENT
def pay(amount, tax<|user_cursor|>):
    return amount
=======
<[fim-middle]>"""

ZETA21 = f"""\
{SEED_CODER}<|marker_1|>def pay(amount, tax<|user_cursor|>):
    return amount
<|marker_2|>
<[fim-middle]>"""

SWEEP = """\
<|file_sep|>price.py
TAX = 2
<|file_sep|>price.py.diff
original:
TAX = 1
RATE = 3
updated:
TAX = 2
RATE = 3
<|file_sep|>shop.py.diff
original:
def pay(amount):
    return amount
updated:
def pay(amount, tax):
    return amount
<|file_sep|>original/shop.py
def pay(amount):
    return amount
<|file_sep|>current/shop.py
def pay(amount, tax):
    return amount
<|file_sep|>updated/shop.py
"""

SWEEP_V2 = """\
<|file_sep|>shop.py
import price

def pay(amount):
    return amount

pay(1)
<|file_sep|>price.py
TAX = 2

<|file_sep|>price.py:1:2
original:
TAX = 1
RATE = 3
updated:
TAX = 2
RATE = 3
<|file_sep|>shop.py:3:4
original:
def pay(amount):
    return amount
updated:
def pay(amount, tax):
    return amount
<|file_sep|>original/shop.py:1:3
def pay(amount):
    return amount
<|file_sep|>current/shop.py:1:3
def pay(amount, tax<|cursor|>):
    return amount
<|file_sep|>updated/shop.py:1:3
"""

USER = """\
<other_file path="price.py">
TAX = 2
</other_file>
<edit path="price.py">
@@ -1,2 +1,2 @@
-TAX = 1
+TAX = 2
 RATE = 3
</edit>
<edit path="shop.py">
@@ -3,2 +3,2 @@
-def pay(amount):
+def pay(amount, tax):
     return amount
</edit>
<diagnostics>
shop.py:3: warning: unused argument 'tax'
</diagnostics>
The file is shop.py (python).
import price

<region>
def pay(amount, tax<cursor/>):
    return amount
</region>

pay(1)
"""


def prompt_of(name, request=REQUEST):
    built = REWRITE_FORMATS[name].build(request, 100)
    assert isinstance(built, CompletionRequest) and not built.single_line and built.max_new_tokens == 100
    return "".join(part.text for part in built.prompt)


@pytest.mark.parametrize(
    ("name", "prompt"),
    [("zeta", ZETA), ("zeta-2", ZETA2), ("zeta-2.1", ZETA21), ("sweep", SWEEP), ("sweep-2", SWEEP_V2)],
)
def test_a_prompt_is_that_of_the_published_format(name, prompt):
    assert prompt_of(name) == prompt


def test_a_chat_model_gets_an_instruction_and_the_same_facts():
    built = CHAT.build(REQUEST, 100)
    assert isinstance(built, ChatRequest)
    system, user = built.messages
    assert (system.text, user.text) == (INSTRUCTION, USER)


def test_special_tokens_are_parts_of_their_own():
    for name in ("sweep", "sweep-2", "zeta-2", "zeta-2.1"):
        built = REWRITE_FORMATS[name].build(REQUEST, 100)
        tokens = {part.text for part in built.prompt if part.special}
        assert tokens == set(REWRITE_FORMATS[name].tokens)
        assert not any(token in part.text for part in built.prompt for token in tokens if not part.special)


def test_the_last_line_of_a_file_has_no_line_break():
    request = replace(REQUEST, region="a = 1\nb = ", below="", cursor=10)
    assert prompt_of("zeta", request).endswith(
        "a = 1\nb = <|user_cursor_is_here|>\n<|editable_region_end|>\n```\n\n### Response:\n"
    )
    assert "<<<<<<< CURRENT\na = 1\nb = <|user_cursor|>\n=======\n" in prompt_of("zeta-2", request)
    assert prompt_of("zeta-2", request).startswith("<[fim-suffix]>\n<[fim-prefix]>")
    assert prompt_of("sweep", request).endswith("current/shop.py\na = 1\nb = \n<|file_sep|>updated/shop.py\n")
    assert REWRITE_FORMATS["sweep"].parse("a = 1\nb = 2\n", request) == "a = 1\nb = 2"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("sweepai/sweep-next-edit-1.5B", "sweep"),
        ("sweep-next-edit-1.5b.q8_0.v2.gguf", "sweep"),
        ("sweep_next_edit_v2_7b", "sweep-2"),
        ("zed-industries/zeta", "zeta"),
        ("zeta.Q4_K_M.gguf", "zeta"),
        ("hf.co/lmstudio-community/zeta:Q8_0", "zeta"),
        ("zed-industries_zeta-2.Q4_K_M.gguf", "zeta-2"),
        ("zeta2", "zeta-2"),
        ("zed-industries/zeta-2.1", "zeta-2.1"),
        ("qwen2.5-coder-1.5b", None),
        ("sweep-7b-chat", None),
        ("zetachat", None),
        ("beta-zeta3", None),
    ],
)
def test_a_next_edit_model_is_known_by_its_published_name(model, name):
    found = find_rewrite_format(model)
    assert (found and found.name) == name


NEW = "def pay(amount, tax):\n    return amount * tax\n"

GOOD = {
    "zeta": f"<|editable_region_start|>\n{NEW}<|editable_region_end|>",
    "zeta-2": f"{NEW}>>>>>>> UPDATED\n",
    "zeta-2.1": f"<|marker_1|>{NEW}<|marker_2|>",
    "sweep": f"{NEW}<|file_sep|>other.py\n",
    "sweep-2": NEW.replace("tax)", "tax<|cursor|>)"),
    "chat": f"Here it is:\n```python\n{NEW}```\nDone.",
}

SAME = {
    "zeta": f"<|editable_region_start|>\n{REQUEST.region}<|editable_region_end|>",
    "zeta-2": "NO_EDITS\n>>>>>>> UPDATED",
    "zeta-2.1": "<|marker_1|><|marker_1|>",
    "sweep": REQUEST.region,
    "sweep-2": f"{REQUEST.region}<|endoftext|>",
    "chat": "NO CHANGE.",
}

WILD = {
    "zeta": ["", NEW, f"<|editable_region_start|>\n{NEW}", "<|editable_region_end|>x<|editable_region_start|>"],
    "zeta-2": ["", NEW, f"<<<<<<< CURRENT\n{NEW}>>>>>>> UPDATED"],
    "zeta-2.1": [
        "",
        NEW,
        "<|marker_1|>",
        "<|marker_2|>x\n<|marker_1|>",
        "<|marker_1|>x<|marker_99|>",
        "x<|marker_1|><|marker_2|>",
    ],
    "chat": ["", NEW, f"```python\n{NEW}", "<think>```\nx\n```"],
}


@pytest.mark.parametrize("name", REWRITE_FORMATS)
def test_answers_good_and_without_a_change(name):
    assert REWRITE_FORMATS[name].parse(GOOD[name], REQUEST) == NEW
    assert REWRITE_FORMATS[name].parse(SAME[name], REQUEST) == REQUEST.region


@pytest.mark.parametrize(("name", "answer"), [(name, answer) for name in WILD for answer in WILD[name]])
def test_an_answer_that_is_cut_off_or_in_another_form_is_none(name, answer):
    assert REWRITE_FORMATS[name].parse(answer, REQUEST) is None


PIECES = (
    "\n",
    "a",
    "```",
    "<|marker_1|>",
    "<|marker_2|>",
    "<|marker_",
    "<|editable_region_start|>",
    "=======\n",
    "é🙂",
)
ANSWERS = st.lists(st.sampled_from((*PIECES, "<|editable_region_end|>", ">>>>>>> UPDATED", "<think>", NEW)), max_size=8)


@pytest.mark.parametrize("name", REWRITE_FORMATS)
@given(pieces=ANSWERS)
def test_any_answer_is_a_region_or_none(name, pieces):
    text = REWRITE_FORMATS[name].parse("".join(pieces), REQUEST)
    assert text is None or not text or text.endswith("\n")


def test_marks_of_the_cursor_and_the_region_in_an_answer_are_left_out():
    marked = NEW.replace("tax)", "tax<|user_cursor_is_here|>)")
    assert REWRITE_FORMATS["zeta"].parse(f"{marked}<|editable_region_end|>", REQUEST) == NEW
    marked = NEW.replace("tax)", "tax<cursor/>)")
    assert CHAT.parse(f"<think>hm</think>\n~~~\n<region>\n{marked}</region>\n~~~", REQUEST) == NEW


def test_blocks_end_at_blank_lines_and_begin_with_code():
    def function(name):
        return f"def {name}():\n" + "".join(f"    {name}_{number} = 1\n" for number in range(5)) + "\n"

    region = function("one") + function("two") + "one()\n"
    assert [region[start:].split("\n")[0] for start in block_starts(region)] == ["def one():", "def two():"]
    assert block_starts("a = 1\n" * 40) == [0, 96, 192]
    closed = "a(\n" + "    1,\n" * 15 + ")\nb = 1\n" + "c = 1\n" * 8
    assert [closed[start:].split("\n")[0] for start in block_starts(closed)] == ["a(", "b = 1"]
    assert block_starts("") == [0]


def test_an_answer_may_have_some_blocks_alone():
    lines = "".join(f"a{number} = 1\n" for number in range(40))
    request = replace(REQUEST, region=lines, cursor=0)
    blocks = block_starts(lines)
    new = lines[blocks[1] : blocks[2]].replace("a20 = 1", "a20 = 2")
    answer = f"<|marker_2|>{new}<|marker_3|>"
    assert REWRITE_FORMATS["zeta-2.1"].parse(answer, request) == lines.replace("a20 = 1", "a20 = 2")


@pytest.mark.parametrize("name", REWRITE_FORMATS)
@pytest.mark.parametrize("context_tokens", [600, 800, 1200, 4000])
def test_a_request_fits_with_its_answer(name, context_tokens):
    change = RecentChange("a.py", 1, 1, (), ("old",) * 20, ("new",) * 20, ())
    fragments = tuple(PromptFragment((f"f{at}.py",), "x = 1\n" * 20, 0, 1.0) for at in range(20))
    around = "".join(f"line_{number} = {number}\n" for number in range(40))
    request = replace(REQUEST, above=around, below=around, changes=(change,) * 10, fragments=fragments)
    fitted = fit_rewrite(request, REWRITE_FORMATS[name], estimated_tokens, context_tokens)
    assert fitted is not None and fitted.region == request.region
    assert around.endswith(fitted.above) and around.startswith(fitted.below)
    if name == "chat":
        text = "".join(message.text for message in CHAT.build(fitted, 1).messages)
    else:
        text = prompt_of(name, fitted)
    assert estimated_tokens(text) + answer_tokens(fitted, estimated_tokens) <= context_tokens


def test_a_region_that_does_not_fit_or_looks_like_the_format_is_not_asked_for():
    sweep = REWRITE_FORMATS["sweep"]
    assert fit_rewrite(replace(REQUEST, region="x = 1\n" * 400), sweep, estimated_tokens, 1000) is None
    assert fit_rewrite(replace(REQUEST, region='END = "<|file_sep|>"\n'), sweep, estimated_tokens, 4000) is None
    assert fit_rewrite(replace(REQUEST, region="```\nx\n```\n"), CHAT, estimated_tokens, 4000) is None


def test_letters_of_a_special_token_are_text():
    request = replace(REQUEST, region="usage: grep <filename>\n", cursor=0)
    assert fit_rewrite(request, REWRITE_FORMATS["zeta-2"], estimated_tokens, 4000) is not None
    built = REWRITE_FORMATS["zeta-2"].build(request, 100)
    assert sum("grep <filename>" in part.text for part in built.prompt if not part.special) == 1


def test_related_code_that_looks_like_the_format_is_left_out():
    fragments = (PromptFragment(("a.py",), "<|file_sep|>", 0, 1.0), PromptFragment(("b.py",), "b = 1\n", 0, 1.0))
    fitted = fit_rewrite(replace(REQUEST, fragments=fragments), REWRITE_FORMATS["sweep"], estimated_tokens, 4000)
    assert [fragment.paths for fragment in fitted.fragments] == [("b.py",)]
