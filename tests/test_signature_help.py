"""Signature help: the call and the receiver at the cursor of a small text."""

from __future__ import annotations

from graph_at_cursor import facts_at
from weft.benchmarks.completion.signature_help import SignatureHelp, signature_help

STORE = """
    class Store:
        size: int = 3

        def find(self, key: str, default=None) -> int:
            return default

        def clear(self): ...

    def load(
        path: str,  # of the file
        *,
        strict: bool = False,
    ) -> Store: ...
"""


def at(code: str, path: str = "here.py", **others: str) -> SignatureHelp:
    return signature_help(*facts_at(path, code, others=others or {"store_py": STORE}))


def test_the_callee_has_the_parameters_of_its_definition_without_the_object():
    found = at("from store import Store\ndef pay(store: Store):\n    store.find(<CURSOR>")
    assert found.callee_line == "store.find(key: str, default=None) -> int"


def test_it_stays_while_arguments_are_typed():
    for typed in ('"a", de', "name[0", "len(", '"not clo'):
        found = at(f"from store import Store\ndef pay(store: Store):\n    store.find({typed}<CURSOR>")
        assert found.callee == "store.find", typed


def test_a_header_over_several_lines_is_written_on_one():
    assert (
        at("from store import load\nload(<CURSOR>").callee_line == "load(path: str, *, strict: bool = False) -> Store"
    )


def test_a_call_that_began_on_a_line_above_counts():
    assert at("from store import load\nx = load(\n    name,\n    str<CURSOR>").callee == "load"


def test_a_class_without_a_constructor_takes_its_fields():
    assert at("from store import Store\nStore(<CURSOR>").callee_line == "Store(size: int = 3)"


def test_a_constructor_has_no_result():
    code = "class Cart:\n    def __init__(self, owner: str) -> None: ...\n\nCart(<CURSOR>"
    assert at(code).callee_line == "Cart(owner: str)"


def test_an_unknown_callee_and_a_header_have_nothing():
    assert at("unknown(<CURSOR>") == SignatureHelp()
    assert at("def load(<CURSOR>") == SignatureHelp()


def test_members_of_the_receiver_have_their_parameters():
    found = at("from store import Store\ndef pay(store: Store):\n    store.<CURSOR>")
    assert found.receiver == "store"
    assert sorted(found.members) == ["clear()", "find(key: str, default=None)", "size"]


def test_members_stay_while_a_name_is_typed():
    before, after = (
        at(f"from store import Store\ndef pay(store: Store):\n    store.{typed}<CURSOR>") for typed in ("", "fi")
    )
    assert before == after


def test_the_functions_of_a_module_are_members():
    assert at("import store\nstore.<CURSOR>").receiver_line.startswith("store: ")
    assert "load(path: str, *, strict: bool = False)" in at("import store\nstore.<CURSOR>").members


def test_a_long_line_ends_between_two_parameters():
    many = ", ".join(f"parameter_{number}: int" for number in range(40))
    line = at(f"def f({many}): ...\nf(<CURSOR>").callee_line
    assert len(line) <= 240
    assert line.endswith(": int, ...")


def test_other_languages_keep_their_own_headers():
    code = """
        package shop

        func load(path string, n int) (int, error) {
        }

        func pay() {
            load(<CURSOR>"""
    assert at(code, "shop.go", other_go="package shop\n").callee_line == "load(path string, n int) (int, error)"
