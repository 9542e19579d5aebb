"""Origins of completions of the workspace model: which lines a text was copied or adapted from."""

from __future__ import annotations

import textwrap

import pytest
from weft.llm import CompletionRequest, WorkspaceModel
from weft.llm.workspace_model import Origins, has_content, tokenise_document

PRICE = """
def price_of(basket):
    total = sum(item.price for item in basket)
    return total
"""
JSON = """
def to_json(part):
    return {"name": part.name, "value": part.value}
"""


def origins(text: str, here: str, directory: str = "", **files: str) -> Origins:
    """The origins of `text` at `<CURSOR>`, in a repository with `files`, whose names have `__` for a slash."""
    documents = [
        tokenise_document(f"{name.replace('__', '/')}.py", textwrap.dedent(file).lstrip("\n"))
        for name, file in files.items()
    ]
    prefix, _, suffix = textwrap.dedent(here).lstrip("\n").partition("<CURSOR>")
    model = WorkspaceModel.build(documents).for_directory(directory)
    return model.origins(CompletionRequest("here.py", "python", prefix, suffix), text)


def lines_of(found: Origins) -> list[str]:
    return [f"{origin.path}:{origin.start_line + 1}-{origin.end_line}" for origin in found.origins]


def test_a_copied_line_is_found_with_its_number():
    found = origins("sum(item.price for item in basket)", "def f(basket):\n    total = <CURSOR>", shop__price=PRICE)
    assert lines_of(found) == ["shop/price.py:2-2"] and found.origins[0].renamed == ()
    assert (found.is_whole, found.n_places) == (True, 1)
    assert found.n_context >= 4  # `):`, the line break, `total`, `=`


def test_an_adapted_line_names_what_was_changed():
    found = origins('"value": entry.value}', 'def f(entry):\n    return {"name": entry.name, <CURSOR>', as_json=JSON)
    assert lines_of(found) == ["as_json.py:2-2"]
    assert found.origins[0].renamed == (("part", "entry"),)
    assert found.names_nearby == ("entry",)


def test_a_line_of_the_open_file_has_its_number_above_and_below_the_cursor():
    here = "import a\n\n\ndef f():\n    {above}\n    x = <CURSOR>\n    y = 1\n    {below}\n"
    text = "registry.find(name, default)"
    above = origins(text, here.format(above=f"x = {text}", below="pass"))
    below = origins(text, here.format(above="pass", below=f"x = {text}"))
    assert (lines_of(above), lines_of(below)) == (["here.py:5-5"], ["here.py:8-8"])


def test_the_start_of_a_line_counts_from_its_own_line():
    found = origins("return total", "def f(a):\n    total = 1\n    <CURSOR>\n\nx = 2\n", price=PRICE)
    assert lines_of(found) == ["price.py:3-3"]


def test_several_lines_are_one_origin():
    text = "total = sum(item.price for item in basket)\n    return total"
    found = origins(text, "def price_of(basket):\n    <CURSOR>", price=PRICE)
    assert lines_of(found) == ["price.py:2-3"]


def test_at_most_three_origins_the_nearest_first_and_all_are_counted():
    files = {f"far__f{n}": PRICE for n in range(4)} | {"near": PRICE}
    found = origins("sum(item.price for item in basket)", "def price_of(basket):\n    total = <CURSOR>", **files)
    assert lines_of(found)[0] == "near.py:2-2"
    assert (len(found.origins), found.n_places) == (3, 5)


def test_a_beginning_in_a_name_is_not_part_of_the_changes():
    found = origins("m(item.price for item in basket)", "def price_of(basket):\n    total = su<CURSOR>", price=PRICE)
    assert lines_of(found) == ["price.py:2-2"] and found.origins[0].renamed == ()


def test_a_text_without_a_similar_line_has_no_origin():
    found = origins("flamingo ** quark", "def f(quark):\n    x = <CURSOR>", price=PRICE)
    assert (found.origins, found.covered) == ((), "")
    assert found.names_nearby == ("quark",)


def test_paths_of_a_joint_index_are_whole():
    found = origins("print(1)", "print(1)\n<CURSOR>", directory="app")
    assert lines_of(found) == ["app/here.py:1-1"]


def test_the_rest_of_any_line_of_a_copy_is_found_where_it_is():
    files = {"price": PRICE, "longer": PRICE.replace("total", "result"), "json": JSON}
    lines = PRICE.strip().split("\n")
    for number, line in enumerate(lines):
        for at in range(len(line) - 3):
            found = origins(line[at:], "\n".join([*lines[:number], f"{line[:at]}<CURSOR>"]), **files)
            assert f"price.py:{number + 1}-{number + 1}" in lines_of(found), (line[:at], found)


def test_a_string_without_a_word_has_an_origin():
    found = origins(
        '"*"]', "def f(routes):\n    found = routes[<CURSOR>", star='def g(routes):\n    return routes["*"]\n'
    )
    assert lines_of(found) == ["star.py:2-2"] and found.is_whole


@pytest.mark.parametrize(
    ("text", "expected"), [('"" {', True), ("`*`", True), ("a", True), ('")', False), ('"""', False), ("():", False)]
)
def test_signs_are_no_content(text, expected):
    assert has_content(text) == expected
