"""Several completions for one cursor: texts that really differ, the first ones from the first token on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from weft import Config, Workspace
from weft.llm import Cancel, CompletionRequest
from weft.llm.workspace_model.model import WorkspaceModel, tokenise_document
from weft.server.completion.values import RequestOptions
from weft.server.workspace.text import Cursor, TextLines

CODE = """\
def pay(cart, owner):
    total = price_of(cart)
    cart.close(total)
    owner.charge(total)
    return total


def refund(cart, owner):
    total = price_of(cart)
    owner.refund(total)
    return receipt_of(cart, total)


def bill(cart, owner):
    total = price_of(cart)
    owner.charge(total)
    return total
"""
ABOVE = "def send(cart, owner):\n    total = price_of(cart)\n"


def alternatives(prefix: str, first: str, suffix: str = "", n: int = 3) -> list[str]:
    model = WorkspaceModel.build([tokenise_document("shop.py", CODE)])
    request = CompletionRequest("new.py", "python", prefix, suffix, max_new_tokens=32, single_line=True)
    return [candidate.text for candidate in islice(model.alternatives(request, first, Cancel()), n)]


def first_word(text: str) -> str:
    found = re.search(r"\w+|\S", text)
    return found[0] if found else ""


@pytest.fixture
def several(tmp_path: Path) -> Iterator[Callable[..., list[str]]]:
    (tmp_path / "shop.py").write_text(CODE)
    (tmp_path / "price.py").write_text("def price_of(cart): ...\n\n\ndef receipt_of(cart, total): ...\n\n\nRATE = 2\n")
    with Workspace([tmp_path], Config(), cache=False) as workspace:
        workspace.index()

        def several(text: str, n: int = 3) -> list[str]:
            """The texts at the end of `text`, in a new file, without a neural model."""
            lines = TextLines(text)
            cursor = Cursor(str(tmp_path / "new.py"), lines, *lines.position(len(text)))
            service = workspace.completion
            request = service.request(cursor, Cancel(), RequestOptions("invoked"))
            return [completion.text for completion in service.complete_several(request, n, generate=False)]

        yield several


def test_the_most_likely_other_first_tokens_come_first():
    found = alternatives(ABOVE + "    ", "owner.charge(total)")
    assert first_word(found[0]) not in ("owner", "") and len(found) == 3


def test_no_alternative_begins_or_continues_another():
    texts = ["owner.charge(total)", *alternatives(ABOVE + "    ", "owner.charge(total)", n=6)]
    for at, text in enumerate(texts):
        assert not any(text.startswith(other) or other.startswith(text) for other in texts[:at])


def test_the_word_at_the_cursor_is_kept():
    texts = alternatives(ABOVE + "    own", "er.charge(total)", n=6)
    assert sum(("own" + text).startswith("owner.") for text in texts) >= 2


def test_alternatives_join_the_code_after_the_cursor():
    for text in alternatives(ABOVE + "    owner.charge(", "total", suffix=")\n"):
        assert ")" not in text


def test_without_a_branch_there_is_no_alternative():
    assert alternatives("", "") == []


def test_candidates_differ_in_more_than_white_space(several):
    texts = several(ABOVE + "    own")
    assert len(texts) == 3 and len({"".join(text.split()) for text in texts}) == 3


def test_of_an_import_line_the_other_names_are_candidates(several):
    texts = several("from price import ")
    assert sorted(map(first_word, texts)) == ["RATE", "price_of", "receipt_of"]


def test_one_candidate_is_the_completion_alone(several):
    assert len(several(ABOVE + "    own", n=1)) == 1


def test_an_explicit_request_of_an_editor_has_several_items_and_an_automatic_one_has_one(editing):
    async def story(editor):
        await editor.indexed()
        editor.open("new.py", ABOVE + "    ")
        items = (await editor.within(editor.ask("new.py", 2, 4))).items
        assert 1 < len({item.insert_text for item in items}) == len(items) <= 3
        (argument,) = items[1].command.arguments
        editor.client.protocol.notify("weft/didAccept", {"id": argument["id"]})
        told = await editor.request("weft/stats")
        assert told.accepted.python == told.asked.invoked == told.offered.model == 1
        assert len((await editor.within(editor.ask("new.py", 2, 4, invoked=False))).items) <= 1

    editing(f"#- shop.py\n{CODE}", story)
