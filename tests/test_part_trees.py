"""Trees of parts of a file have the nodes of a parse of all of it."""

import re
from itertools import pairwise

import pytest
from repository import ROOT
from weft.codegraph import parse_file
from weft.codegraph.syntax import SyntaxTree
from weft.server.symbols.part_trees import parts_at, tree_of

FILES = [
    "server/next_edit/renames.py",
    "codegraph/bound_names.py",
    "tests/test_next_edit_renames.py",
    "editors/vscode/src/extension.ts",
    "editors/vscode/src/client.ts",
    "benchmarks/repoeval/labels/golang.go",
    "benchmarks/repoeval/labels/javac.java",
]


def nodes_at(root, start, end):
    """The nodes around a place, but the root."""
    found, node = [], root.descendant_for_byte_range(start, end)
    while node is not None and node.parent is not None:
        found.append((node.type, node.start_byte, node.end_byte, node.start_point, node.end_point))
        node = node.parent
    return found


@pytest.mark.parametrize("name", FILES)
def test_nodes_of_parts_are_those_of_the_file(name):
    text = (ROOT / name).read_text()
    file, tree = parse_file(name, text), SyntaxTree.parse(name, text)
    assert file.is_harmless
    spans = [match.span() for match in re.finditer(rb"(?<![\w$])[A-Za-z_]\w{2,}", tree.source)][::7]
    parts = parts_at(file, tree.source, [start for start, _ in spans])
    assert len(set(parts)) > 3
    for (start, end), part in zip(spans, parts, strict=True):
        assert part.start <= start < end <= part.end
        assert nodes_at(tree_of(file.language, tree.source, part), start, end) == nodes_at(tree.root, start, end)


def test_parts_do_not_overlap_and_nodes_on_one_line_are_one_part():
    text = "import a; import b\nx = 1\n\n\ndef f():\n    return x\n"
    file = parse_file("a.py", text)
    offsets = [text.index(each) for each in ("import a", "import b", "x =", "return")]
    parts = parts_at(file, text.encode(), offsets)
    assert [(part.start_line, part.end_line) for part in parts] == [(0, 1), (0, 1), (1, 2), (4, 6)]
    assert all(one.end <= other.start for one, other in pairwise(dict.fromkeys(parts)))


@pytest.mark.parametrize("text", ["def f(:\n    x = 1\n", "x = (\n\ndef g(): pass\n"])
def test_a_file_with_errors_is_one_part(text):
    source = text.encode()
    (part,) = parts_at(parse_file("a.py", text), source, [1])
    assert (part.start, part.end) == (0, len(source))


def test_a_last_line_without_a_break_is_in_a_part():
    text = "a = 1\nb = a"
    (part,) = parts_at(parse_file("a.py", text), text.encode(), [10])
    node = tree_of("python", text.encode(), part).descendant_for_byte_range(10, 11)
    assert (node.type, node.start_point) == ("identifier", (1, 4))
