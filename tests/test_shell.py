"""Shell scripts: facts of a text, sourced files and calls, also in texts that end at a cursor."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, FileGraph, parse_file
from weft.codegraph.modules import ModuleIndex, ModuleQuery


def parsed(text: str) -> FileGraph:
    return parse_file("a.sh", textwrap.dedent(text))


def facts(text: str) -> tuple[list[str], list[str]]:
    """The definitions, and the calls with their scopes."""
    file = parsed(text)
    scopes = [d.qualified_name for d in file.definitions]
    calls = [f"{scopes[c.scope]}: {c.callee}" if c.scope >= 0 else c.callee for c in file.calls]
    return scopes, calls


def test_functions_and_commands():
    text = """
        pay() { local a=1; total "$a" | log::write; x=$(rate 1); }
        function total { if is-open; then pay; fi; }
        (
          trap 'clean_up' EXIT
        )
        ./run.sh
        "$tool" x
        FOO=1 pay || exit 1
    """
    scopes, calls = facts(text)
    assert scopes == ["pay", "total"]
    assert sorted(calls) == sorted(
        ["pay: total", "pay: log::write", "pay: rate", "total: is-open", "total: pay", "clean_up", "pay", "exit"]
    )


@pytest.mark.parametrize(
    ("line", "module"),
    [
        ("source lib/x.sh", "lib/x.sh"),
        (". ./x.sh", "./x.sh"),
        ("source 'lib/x.sh'", "lib/x.sh"),
        ('source "lib/x.sh"', "lib/x.sh"),
        ('source "$DIR/lib/x.sh" a', "lib/x.sh"),
        ('. "$(dirname "$0")/x.sh"', "x.sh"),
        ("source ${DIR}/x.sh", "x.sh"),
        ('source "$file"', None),
        ("source", None),
    ],
)
def test_sourced_files(line: str, module: str | None):
    assert [(item.module, item.name) for item in parsed(line + "\n").imports] == ([(module, "*")] if module else [])


@pytest.mark.parametrize(
    ("text", "scopes"),
    [
        ("a() {\n  x 1\n}\npay() {\n  total\n  if b; then\n    y=$(rate\n", ["a", "pay"]),
        ("function pay {\n  for i in a; do\n    case $i in\n      a) total ;;\n      b) ", ["pay"]),
        ("pay() {\n  total\n", ["pay"]),
    ],
)
def test_a_text_that_ends_in_a_body_has_the_facts_above(text: str, scopes: list[str]):
    found, calls = facts(text)
    assert found == scopes
    assert "pay: total" in calls and "pay" not in calls


@pytest.mark.parametrize(
    ("files", "directory", "module", "expected"),
    [
        ("lib/x.sh", "", "lib/x.sh", "lib/x.sh"),
        ("bin/x.sh", "bin", "./x.sh", "bin/x.sh"),
        ("lib/x.sh", "bin", "../lib/x.sh", "lib/x.sh"),
        ("a/lib/x.sh b/lib/x.sh", "b/bin", "lib/x.sh", "b/lib/x.sh"),
        ("lib/x.sh", "bin", "y.sh", None),
    ],
)
def test_modules(files: str, directory: str, module: str, expected: str | None):
    found = ModuleIndex(files.split()).find(ModuleQuery("source", directory, module))
    assert found == ((expected,) if expected else ())


def test_calls():
    files = {
        "bin/main.sh": """
            . "$(dirname "$0")/../lib/x.sh"
            main() { pay; total; echo 1; local_one; set_up_world; }
            local_one() { :; }
        """,
        "lib/x.sh": "source y.sh\npay() { total; }\n",
        "lib/y.sh": "total() { :; }\n",
        "other/z.sh": "total() { :; }\nset_up_world() { :; }\necho() { :; }\n",
    }
    graph = CodeGraph.build(parse_file(path, text) for path, text in files.items())
    calls = graph.files["bin/main.sh"].calls
    found = [f"{calls[e.call].callee} -> {e.path}::{e.qualified_name}" for e in graph.call_edges("bin/main.sh")]
    assert sorted(found) == [
        "local_one -> bin/main.sh::local_one",
        "pay -> lib/x.sh::pay",
        "set_up_world -> other/z.sh::set_up_world",
        "total -> lib/y.sh::total",
    ]


LINES = (
    "source lib/pay.sh",
    ". ./pay.sh",
    '. "$DIR/rate.sh"',
    "pay_all() { rate_all; echo 1; }",
    "rate_all() { pay_all; }",
    "pay_all",
    "rate_all",
)
PATHS = ("run.sh", "lib/pay.sh", "lib/rate.sh", "pay.sh")
contents = st.lists(st.sampled_from(LINES), max_size=5).map("\n".join)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.sampled_from(PATHS), contents),
    st.lists(st.dictionaries(st.sampled_from(PATHS), st.none() | contents, min_size=1, max_size=2), max_size=4),
)
def test_changes_give_what_a_build_from_scratch_gives(state: dict[str, str], changes: list[dict[str, str | None]]):
    graph = CodeGraph.build(parse_file(path, text) for path, text in state.items())
    for step in changes:
        files = [parse_file(path, text) for path, text in step.items() if text is not None]
        graph = graph.with_changes(files, [path for path, text in step.items() if text is None])
        again = CodeGraph.build(graph.files.values())
        assert {path: graph.call_edges(path) for path in graph.files} == {p: again.call_edges(p) for p in again.files}
