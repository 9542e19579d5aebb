"""Next edits in the real VS Code: shown as a decoration, taken with Tab, refused with Escape, applied from the list."""

from __future__ import annotations

import json
import shutil

import pytest

BILL = '''\
"""Bills of a shop."""


def bill_total(lines):
    return sum(line.price for line in lines)


def print_bill(lines):
    print(bill_total(lines))


def send_bill(lines, customer):
    customer.send(bill_total(lines))
'''
REPORT = """\
from bill import bill_total


def report(days):
    return [bill_total(day.lines) for day in days]
"""
PRINTED, SENT = "    print(bill_total(lines))", "    customer.send(bill_total(lines))"
NEXT = "weft/nextEdit"
TREE_ROW = "[id='workbench.view.extension.weft'] .monaco-list-row"


@pytest.fixture
def bills(shop, vscode, request):
    """The shop with two more files, the first in the editor, with the cursor behind the name of its first function.

    In a new session of the server, which knows no edits and no refusals of other tests. Without ghost text.
    """
    (shop.folder / "report.py").write_text(REPORT)
    (shop.folder / "bill.py").write_text(BILL)
    vscode.set({"weft.enabled": False, **getattr(request, "param", {})})
    mark = vscode.wire.now()
    shop.command("Weft: Restart Server")
    vscode.wait_for_restart(mark)
    shop.open("bill.py")
    shop.go(4, 15)
    return shop


def rename(window):
    """Renames `bill_total` where it is defined."""
    window.press("Control+Shift+ArrowLeft")
    window.type("bill_sum")


def draws_first(window, hint="Tab goes there"):
    window.draws((PRINTED, "bill_total", ["bill_sum", *([hint] if hint else [])]))


def draws_second(window, hint="Tab goes there"):
    window.draws((SENT, "bill_total", ["bill_sum", *([hint] if hint else [])]))


def test_tab_goes_to_the_use_of_a_renamed_function_and_takes_it(bills, vscode, picture, waiting):
    mark = vscode.wire.now()
    rename(bills)
    draws_first(bills)
    picture(bills, "next-edit")
    bills.press("Tab")
    bills.wait("#status\\.editor\\.selection", "Ln 9, Col 11")
    draws_first(bills, "Tab takes it")
    bills.press("Tab")
    # The next one of the group, at once.
    draws_second(bills)
    bills.press("Tab", "Tab")
    bills.wait(".statusbar-item[id$='weft.nextEdits']", "2 → report.py, line 1")
    hint = "→ report.py, line 1: bill_total → bill_sum (Tab)"
    bills.draws(("    customer.send(bill_sum(lines))", "", [hint]))
    waiting(lambda: len(vscode.wire.said("weft/didTakeNextEdit", after=mark)) == 2, "both to be counted")
    assert len(vscode.wire.said("weft/didShowNextEdit", after=mark)) == 2, "each once"
    # Each was one step.
    bills.press("Control+z")
    draws_second(bills, "Tab takes it")
    bills.press("Control+z")
    bills.reads(PRINTED)
    bills.press("Control+y", "Control+y")
    assert bills.save("bill.py") == BILL.replace("bill_total", "bill_sum")
    assert not bills.notices()


def test_tab_opens_the_other_file(bills, vscode):
    bills.press("Control+F2")  # all occurrences in the file
    bills.type("bill_sum")
    bills.press("Escape")
    bills.draws(("def bill_sum(lines):", "", ["→ report.py, line 1: bill_total → bill_sum (Tab)"]))
    bills.press("Tab")
    bills.wait(".tab.active", "report.py")
    bills.draws(("from bill import bill_total", "bill_total", ["bill_sum", "Tab takes it"]))
    bills.press("Tab")
    bills.draws(("    return [bill_total(day.lines) for day in days]", "bill_total", ["bill_sum", "Tab goes there"]))
    assert bills.save("report.py") == REPORT.replace("import bill_total", "import bill_sum")


def test_escape_refuses_it_and_it_does_not_come_back(bills, vscode):
    mark = vscode.wire.now()
    rename(bills)
    draws_first(bills)
    bills.press("Escape")
    bills.draws()
    refused = vscode.wire.wait("weft/didRefuseNextEdit", after=mark)["message"]["params"]["id"]
    # Tab is the editor's own again.
    bills.press("Tab")
    bills.wait("#status\\.editor\\.selection", "Ln 4, Col 17")
    bills.press("Control+z")
    bills.wait("#status\\.editor\\.selection", "Ln 4, Col 13")
    # After the next edit, the others are shown.
    bills.go(5, 45)
    bills.type(" ")
    draws_second(bills)
    results = [note["message"].get("result") for note in vscode.wire.said(NEXT, after=mark, sender="server")]
    answers = [result["edits"] for result in results if result is not None]  # None: cancelled
    assert [edit["range"]["start"]["line"] for edits in answers for edit in edits if edit["id"] == refused] == [8]
    assert [edit["range"]["start"]["line"] for edit in answers[-1] if edit["path"] == "bill.py"] == [12]


def test_other_meanings_of_tab_come_first(bills, vscode):
    """Indentation, a selection, the list of completions, a snippet."""
    mark = vscode.wire.now()
    folder = bills.folder / ".vscode"
    folder.mkdir()
    snippet = {"prefix": "pair_up", "body": "pair(${1:left}, ${2:right})$0"}
    (folder / "bill.code-snippets").write_text(json.dumps({"pair_up": snippet}))
    try:
        rename(bills)
        draws_first(bills)
        # Before the first character of a line.
        bills.go(5, 1)
        draws_first(bills, hint=None)
        bills.press("Tab")
        bills.wait("#status\\.editor\\.selection", "Ln 5, Col 5")
        bills.press("Control+z")
        # A selection.
        bills.go(5, 12)
        draws_first(bills)
        bills.press("Shift+ArrowDown")
        draws_first(bills, hint=None)
        bills.press("Tab")
        bills.reads("return sum(line.price for line in lines)")
        bills.press("Control+z")
        # The list takes its item, and Tab goes to the next field of a snippet.
        bills.press("Control+End")
        bills.type("pair_")
        draws_second(bills)
        lists(bills, "pair_up")
        bills.press("Tab")
        bills.reads("pair(left, right)")
        draws_second(bills, hint=None)
        bills.press("Tab")
        bills.type("other")
        bills.reads("pair(left, other)")
        assert not vscode.wire.said("weft/didTakeNextEdit", after=mark)
        # Escape ends the snippet, then refuses.
        draws_second(bills)
        bills.press("Escape")
        draws_second(bills)
        bills.press("Escape")
        bills.draws()
    finally:
        shutil.rmtree(folder)


def lists(window, item):
    """Opens the list of completions until it has the item."""

    def look():
        window.press("Control+Space")
        return window.texts(".suggest-widget.visible .monaco-list-row.focused", item)

    window._until(look, "the completion list")


def test_ghost_text_has_priority(shop, vscode):
    mark = vscode.wire.now()
    text = shop.begin("first.py", "total = price_of(basket)\n    ")
    edit = offered(shop.folder / "first.py", (4, 13), "basket", "goods")
    vscode.wire.order(fill={NEXT: {"edits": [edit]}})
    shop.type("other = pri")
    shop.shows("ce_of(basket)")
    shop.draws(("def checkout(basket):", "basket", ["goods"]))
    shop.press("Tab")
    shop.shows(None)
    shop.draws(("def checkout(basket):", "basket", ["goods", "Tab goes there"]))
    assert not vscode.wire.said("weft/didTakeNextEdit", after=mark)
    assert shop.save("first.py") == text + "other = price_of(basket)"


def offered(file, start, old, new, **more):
    """A next edit within a line as the server sends it. The start is 0-based."""
    line, character = start
    end = {"line": line, "character": character + len(old)}
    return {
        "text": new,
        "range": {"start": {"line": line, "character": character}, "end": end},
        "textDocument": {"uri": file.as_uri(), "version": 1},
        "command": {"title": "", "command": "weft.didTakeNextEdit", "arguments": [{"id": "next-x"}]},
        "id": f"next-{line}-{character}",
        "oldText": old,
        "path": file.name,
        "kind": "rename",
        "reason": "An edit of the test.",
        "evidence": "",
        "origin": None,
        "group": "test",
        "confidence": 0.8,
        "isMarked": False,
        **more,
    }


def test_the_list_shows_previews_and_applies_edits_of_other_files(bills, picture, waiting):
    rename(bills)
    draws_first(bills)
    bills.command("Focus on Follow-Up Edits View")
    bills.wait(TREE_ROW, "bill_total is bill_sum now")
    assert [row for row in bills.texts(TREE_ROW) if "line" in row and "→" in row]
    picture(bills, "follow-ups")
    # A click previews, and the text stays as it is.
    bills.click(TREE_ROW, "line 5")
    bills.wait(".tab.active", "report.py, line 5 (follow-up edit)")
    bills.wait(".monaco-diff-editor .modified-in-monaco-diff-editor .view-lines", "bill_sum(day.lines)")
    bills.press("Control+w")
    bills.wait(".tab.active", "bill.py")
    # An unchecked one is left out.
    bills.click(f"{TREE_ROW}:has-text('line 13') .monaco-custom-toggle")
    bills.command("Weft: Apply Checked")
    waiting(
        lambda: (bills.folder / "report.py").read_text() == REPORT.replace("bill_total", "bill_sum"),
        "the edits of the other file",
    )
    bills.wait(TREE_ROW, "line 13")


def test_a_changed_text_drops_an_older_answer(bills, vscode):
    rename(bills)
    draws_first(bills)
    vscode.wire.order(hold=[NEXT])
    mark = vscode.wire.now()
    bills.type("s")
    bills.draws()
    vscode.wire.wait(NEXT, after=mark, sender="held")
    vscode.wire.order(hold=None)
    bills.type("x")
    bills.draws((PRINTED, "bill_total", ["bill_sumsx", "Tab goes there"]))


@pytest.mark.parametrize("bills", [{"weft.next_edits.show": "quiet"}], indirect=True)
def test_quiet_shows_the_number_until_the_next_edit_is_asked_for(bills, vscode):
    rename(bills)
    bills.wait(".statusbar-item[id$='weft.nextEdits']", "4")
    assert bills.drawn() == []
    bills.command("Weft: Next Edit")
    draws_first(bills, "Tab takes it")
    bills.command("Weft: Next Edit")
    draws_second(bills, "Tab takes it")
    bills.command("Weft: Why This Edit?")
    bills.wait(".tab.active", "Edit explanation")
    bills.reads("It is the same symbol, by name resolution.")
