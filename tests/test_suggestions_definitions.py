"""Suggested definitions at a cursor: overrides, constructors, next cases and fields, accessors, tests, error checks."""

from __future__ import annotations

import textwrap

import pytest
from graph_at_cursor import CURSOR, facts_at
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, parse_file
from weft.codegraph.suggestions import GraphSuggestions, Suggested
from weft.codegraph.suggestions.cursor_facts import CursorFacts
from weft.codegraph.suggestions.definitions import definitions
from weft.languages import language_of


def suggested(path: str, code: str, written: str | None = None, **others: str) -> list[Suggested]:
    """What is suggested at the cursor in `code`; the text below it belongs to the indexed file only.

    `others` are further files of the repository, `shop_py="…"`. `written`: the beginning of the line, with lines below.
    """
    facts, line = facts_at(path, code, is_indexed=True, others=others)
    found = definitions(facts, line if written is None else written)
    assert sum(each.weight for each in found) <= 1.0 + 1e-9
    assert all(each.source == "definition" and each.text and each.weight > 0 for each in found)
    assert [each.weight for each in found] == sorted((each.weight for each in found), reverse=True)
    return found


def texts(path: str, code: str, written: str | None = None, **others: str) -> list[str]:
    return [each.text for each in suggested(path, code, written, **others)]


SHAPE = """
    class Shape:
        def __init__(self, name, size=1):
            self.name = name

        def area(self, scale: float = 1.0) -> float:
            raise NotImplementedError

        def title(self) -> str:
            return self.name
    """

OVERRIDES = [
    (
        "python",
        "b.py",
        "def",
        " area(self, scale: float = 1.0) -> float:\n",
        SHAPE,
        "class Box(Shape):\n    size = 2\n\n",
    ),
    (
        "python",
        "b.py",
        "def ",
        "area(self, scale: float = 1.0) -> float:\n",
        SHAPE,
        "class Box(Shape):\n    size = 2\n\n",
    ),
    (
        "rust",
        "b.rs",
        "fn",
        " area(&self, scale: f64) -> f64 {\n",
        "trait Shape {\n    fn area(&self, _scale: f64) -> f64;\n}\n",
        "struct Box2;\nimpl Shape for Box2 {\n",
    ),
    (
        "rust",
        "b.rs",
        "",
        "fn area(&self) -> impl Iterator<Item = u8> {\n",
        "trait Shape {\n    fn area(&self) -> impl Iterator<Item = u8>;\n}\n",
        "struct Box2;\nimpl Shape for Box2 {\n",
    ),
    (
        "kotlin",
        "B.kt",
        "override fun",
        " area(scale: Double): Double",
        "interface Shape {\n    fun area(scale: Double = 1.0): Double\n}\n",
        "class Box : Shape {\n",
    ),
    (
        "java",
        "B.java",
        "",
        "protected double area(int scale) {\n",
        "abstract class Shape {\n    protected abstract double area(int scale);\n}\n",
        "class Box extends Shape {\n    @Override\n",
    ),
    (
        "java",
        "B.java",
        "public",
        " double area(int scale) throws Bad {\n",
        "interface Shape {\n    double area(int scale) throws Bad;\n}\n",
        "class Box implements Shape {\n",
    ),
    (
        "csharp",
        "B.cs",
        "public override",
        " double Area(int scale)",
        "abstract class Shape {\n    public abstract double Area(int scale);\n}\n",
        "class Box : Shape {\n",
    ),
    (
        "swift",
        "B.swift",
        "override func",
        " area(scale: Int) -> Double {\n",
        "class Shape {\n    func area(scale: Int) -> Double { return 1 }\n}\n",
        "class Box: Shape {\n",
    ),
    (
        "scala",
        "B.scala",
        "override def",
        " area(scale: Int): Double =",
        "trait Shape {\n    def area(scale: Int): Double\n}\n",
        "class Box extends Shape {\n",
    ),
    (
        "php",
        "B.php",
        "public function",
        " area(int $scale): float\n",
        "<?php\ninterface Shape {\n    public function area(int $scale): float;\n}\n",
        "class Box implements Shape {\n",
    ),
    (
        "ruby",
        "b.rb",
        "def",
        " area(scale)\n",
        "class Shape\n    def area(scale)\n        1\n    end\nend\n",
        "class Box < Shape\n",
    ),
    (
        "typescript",
        "b.ts",
        "override",
        " area(scale: number): number {\n",
        "abstract class Shape {\n    abstract area(scale: number): number;\n}\n",
        "class Box extends Shape {\n",
    ),
]


@pytest.mark.parametrize(("language", "path", "line", "expected", "base", "below"), OVERRIDES)
def test_the_header_of_an_inherited_member(
    language: str, path: str, line: str, expected: str, base: str, below: str
) -> None:
    assert language_of(path).name == language
    code = textwrap.dedent(base) + "\n" + below + f"    {line}{CURSOR}"
    assert texts(path, code)[0] == expected


def test_a_method_of_an_interface_that_go_code_asserts() -> None:
    code = """
        type Shape interface {
        \tArea(scale int) float64
        \tTitle(string) string
        }
        type Box struct{}
        var _ Shape = (*Box)(nil)
        func (b *Box)<CURSOR>"""
    assert texts("b.go", code) == [" Area(scale int) float64 {\n", " Title("]


def test_the_base_may_be_in_another_file() -> None:
    code = "from shape import Shape\n\nclass Box(Shape):\n    def<CURSOR>"
    assert " area(self, scale: float = 1.0) -> float:\n" in texts("b.py", code, shape_py=SHAPE)


def test_a_defined_member_is_not_suggested_again() -> None:
    code = SHAPE + "\n    class Box(Shape):\n        def area(self):\n            return 1\n\n        def<CURSOR>"
    found = texts("b.py", code)
    assert not any(text.startswith(" area") for text in found)
    assert found[0] == " title(self) -> str:\n"


def test_what_other_subclasses_override_comes_first() -> None:
    subclasses = "".join(
        f"class Shape{number}(Shape):\n    def title(self) -> str:\n        return ''\n\n" for number in range(6)
    )
    code = textwrap.dedent(SHAPE) + "\n" + subclasses + "class Box(Shape):\n    size = 1\n\n    def<CURSOR>"
    assert texts("b.py", code)[0] == " title(self) -> str:\n"


def test_a_long_header_is_written_as_in_the_base() -> None:
    base = (
        "class Shape:\n    def area(\n"
        + "".join(f"        self_{n}: int,\n" for n in range(9))
        + "    ):\n        ...\n"
    )
    assert " area(\n" in texts("b.py", base + "\nclass Box(Shape):\n    x = 1\n\n    def<CURSOR>")


def test_no_override_in_an_unfinished_header() -> None:
    code = "trait T {\n    fn f(&self);\n}\nimpl T for A {\n    fn g(\n        <CURSOR>"
    assert texts("a.rs", code) == []


def test_the_next_parameter_is_stored() -> None:
    code = """
        class Box:
            def __init__(self, width: int, height, *, depth=1):
                self._width = width
                <CURSOR>"""
    assert texts("b.py", code)[:2] == ["self._height = height\n", "self._depth = depth\n"]
    assert texts("b.py", code, "        self")[0] == "._height = height\n"
    assert texts("b.py", code, "        self.")[0] == "_height = height\n"
    below = texts("b.py", code, "        self._height = height\n        ")
    assert below == ["self._depth = depth\n"]


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        (
            "b.ts",
            "class Box {\n  constructor(width: number, height: number) {\n    this.width = width;\n    <CURSOR>",
            "this.height = height;\n",
        ),
        (
            "b.ts",
            "class Box {\n  constructor(width: number, height: number) {\n    this.width = width\n    <CURSOR>",
            "this.height = height\n",
        ),
        (
            "B.java",
            "class Box {\n    private int width;\n    private int height;\n\n"
            "    Box(int width, int height) {\n        this.width = width;\n        <CURSOR>",
            "this.height = height;\n",
        ),
        (
            "B.cs",
            "class Box\n{\n    private int _width;\n    private int _height;\n\n"
            "    public Box(int width, int height)\n    {\n        _width = width;\n        <CURSOR>",
            "_height = height;\n",
        ),
        (
            "b.php",
            "<?php\nclass Box {\n    private $width;\n    private $height;\n"
            "    public function __construct($width, $height) {\n        $this->width = $width;\n        <CURSOR>",
            "$this->height = $height;\n",
        ),
        (
            "b.rb",
            "class Box\n  def initialize(width, height)\n    @width = width\n    <CURSOR>",
            "@height = height\n",
        ),
    ],
)
def test_the_next_parameter_is_stored_in_other_languages(path: str, code: str, expected: str) -> None:
    assert texts(path, code)[0] == expected


def test_the_constructor_of_the_base_is_called() -> None:
    code = SHAPE + "\n    class Box(Shape):\n        def __init__(self, name, size):\n            <CURSOR>"
    found = texts("b.py", code)
    assert found[:2] == ["super().__init__(name, size)\n", "super().__init__(name=name, size=size)\n"]


def test_an_argument_without_a_parameter_is_left_open() -> None:
    code = SHAPE + "\n    class Box(Shape):\n        def __init__(self, depth):\n            <CURSOR>"
    assert texts("b.py", code)[0] == "super().__init__("


def test_a_class_without_a_base_calls_no_constructor() -> None:
    assert texts("b.py", "class Box:\n    def __init__(self):\n        <CURSOR>") == []


def test_parameters_from_annotated_fields() -> None:
    code = "class Box:\n    width: int\n    _height: float\n\n    def __init__(<CURSOR>"
    assert "self, width: int, height: float) -> None:\n" in texts("b.py", code)


def test_a_literal_of_the_own_type() -> None:
    code = """
        struct Box2 { width: u32, height: u32 }
        impl Box2 {
            fn new(width: u32, height: u32) -> Self {
                Self {<CURSOR>"""
    assert texts("b.rs", code)[0] == " width, height }"


CASES = [
    ("b.py", "match c:\n    case Color.RED:\n        pass\n    ", "case Color.GREEN:\n"),
    ("b.py", "match c:\n    case Color.RED:\n        pass\n    case", " Color.GREEN:\n"),
]


@pytest.mark.parametrize(("path", "code", "expected"), CASES)
def test_the_next_case_of_an_enum_in_python(path: str, code: str, expected: str) -> None:
    enum = "from enum import Enum\n\nclass Color(Enum):\n    RED = 1\n    GREEN = 2\n    BLUE = 3\n\nc = Color.RED\n"
    assert texts(path, enum + code + CURSOR)[0] == expected


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        (
            "b.rs",
            "enum Color { Red, Green, Blue }\nfn f(c: Color) -> u8 {\n    match c {\n"
            "        Color::Red => 1,\n        ",
            "Color::Green =>",
        ),
        (
            "b.ts",
            "enum Color { Red, Green, Blue }\nfunction f(c: Color) {\n  switch (c) {\n    case Color.Red:\n"
            "      return 1\n    ",
            "case Color.Green:\n",
        ),
        (
            "B.java",
            "enum Color { RED, GREEN, BLUE }\nclass B {\n    int f(Color c) {\n        switch (c) {\n"
            "            case RED:\n                return 1;\n            ",
            "case GREEN:\n",
        ),
        (
            "B.kt",
            "enum class Color { RED, GREEN, BLUE }\nfun f(c: Color): Int {\n    return when (c) {\n"
            "        Color.RED -> 1\n        ",
            "Color.GREEN ->",
        ),
        (
            "b.go",
            "package b\n\ntype Color int\n\nconst (\n\tRed Color = iota\n\tGreen\n\tBlue\n)\n\n"
            "func f(c Color) int {\n\tswitch c {\n\tcase Red:\n\t\treturn 1\n\t",
            "case Green:\n",
        ),
        (
            "b.cpp",
            "enum class Color { Red, Green, Blue };\nint f(Color c) {\n  switch (c) {\n    case Color::Red:\n"
            "      return 1;\n    ",
            "case Color::Green:\n",
        ),
    ],
)
def test_the_next_case_of_an_enum(path: str, code: str, expected: str) -> None:
    assert texts(path, code + CURSOR)[0] == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("fn f(m: &Mode) {\n    match *m {\n        Mode::Fast => 1,\n        ", "Mode::Slow("),
        ("fn f(m: &Mode) {\n    match m {\n        Mode::Slow(n) => 1,\n        ", "Mode::Other {"),
        ("fn f(m: &Mode) {\n    match m {\n        Mode::Other { a } => 1,\n        ", "Mode::Last =>"),
        (
            "struct A { mode: Mode }\nimpl A {\n    fn f(&self) {\n        match self.mode {\n            ",
            "Mode::Fast =>",
        ),
        ("fn g() -> Mode { x }\nfn f() {\n    match g() {\n        ", "Mode::Fast =>"),
    ],
)
def test_cases_of_an_enum_of_another_file(code: str, expected: str) -> None:
    enum = "pub enum Mode { Fast, Slow(u8), Other { a: u8 }, Last }\n"
    files = {"src__mode_rs": enum, "src__lib_rs": "mod mode;\nmod b;\n"}
    assert texts("src/b.rs", f"use crate::mode::Mode;\n{code}{CURSOR}", **files)[0] == expected


def test_the_other_fields_of_a_literal_have_defaults() -> None:
    code = (
        "#[derive(Default)]\nstruct P {\n    a: u8,\n    b: u8,\n}\nfn f() {\n    let p = P {\n        a: 1,\n        "
    )
    assert texts("b.rs", code + CURSOR) == ["b:", "..Default::default()\n"]
    code += "..P::new()\n    };\n    let q = P {\n        a: 2,\n        "
    assert "..P::new()\n" in texts("b.rs", code + CURSOR)


def test_a_case_that_is_open_has_no_next_one() -> None:
    code = "enum C { A, B }\nfn f(c: C) {\n    match c {\n        C::A => {\n            g();\n        <CURSOR>"
    assert texts("b.rs", code) == []


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        (
            "b.go",
            "package b\n\ntype Box struct {\n\tWidth int\n\tHeight int\n\tDepth int\n}\n\n"
            "var b = Box{\n\tWidth: 1,\n\t",
            ["Height:", "Depth:"],
        ),
        (
            "b.go",
            "package b\n\ntype Box struct {\n\tWidth int\n\tHeight int\n}\n\nvar b = []Box{\n\t{\n\t\tWidth: 1,\n\t\t",
            ["Height:"],
        ),
        (
            "b_test.go",
            "package b\n\nfunc TestBox(t *testing.T) {\n"
            "\ttests := []struct {\n\t\tname string\n\t\targs []string\n\t}{\n"
            '\t\t{\n\t\t\tname: "x",\n\t\t\t',
            ["args:"],
        ),
        (
            "b.rs",
            "struct Box2 {\n    width: u32,\n    height: u32,\n}\nfn f(height: u32) -> Box2 {\n    Box2 {\n"
            "        width: 1,\n        ",
            ["height,\n", "height:"],
        ),
        (
            "b.ts",
            "interface Box {\n  width: number\n  height: number\n}\nconst b: Box = {\n  width: 1,\n  ",
            ["height:"],
        ),
    ],
)
def test_the_fields_that_a_literal_does_not_have_yet(path: str, code: str, expected: list[str]) -> None:
    assert texts(path, code + CURSOR) == expected


@pytest.mark.parametrize(
    "code",
    [
        "enum E { A, B }\nimpl E {\n    ",
        "struct P { a: u8 }\nfn f() -> P {\n    ",
        "struct P { a: u8 }\nimpl P {\n    ",
        "enum E { A, B }\nfn f(e: E) {\n    if e == E {\n        ",
    ],
)
def test_a_block_of_statements_has_no_fields(code: str) -> None:
    assert texts("b.rs", code + CURSOR) == []


def test_the_next_name_of_an_export_list() -> None:
    code = 'from .a import first, third\nfrom .b import second, _hidden\nimport os\n\n__all__ = [\n    "first",\n    '
    assert texts("pkg/__init__.py", code + CURSOR) == ['"second",\n', '"third",\n']


def test_names_of_a_star_import_in_an_export_list() -> None:
    code = "from .a import *\n\n__all__ = [\n    'first',\n    <CURSOR>"
    listed = "__all__ = ['first', 'second']\n\ndef first(): ...\ndef second(): ...\ndef helper(): ...\n"
    files = {"pkg/__init__.py": textwrap.dedent(code), "pkg/a.py": listed}
    prefix = files["pkg/__init__.py"].partition(CURSOR)[0]
    files["pkg/__init__.py"] = prefix
    graph = CodeGraph.build(parse_file(*file) for file in files.items())
    above = prefix[: prefix.rfind("\n") + 1]
    sources = {name: text.encode() for name, text in files.items()}
    facts = CursorFacts(
        graph, "pkg/__init__.py", above, language_of("a.py"), parse_file("pkg/__init__.py", above), sources
    )
    assert [each.text for each in definitions(facts, "    ")] == ["'second',\n"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("export {", " first"),
        ("export { ", "first"),
        ("export { first, ", "third"),
        ("export { first as one,", " third"),
        ("export {\n  ", "first,\n"),
        ("export {\n  first,\n  third,\n  ", "Fourth,\n"),
        ("export type { ", "Fourth"),
        ("export { first, third }\nexport { ", "Fourth"),
        ("export { first, third, Fourth, unused, Fifth, ", "used"),
        ("export { first, third, Fourth, unused, Fifth, used, ", None),
        ("export { first } from ", None),
        ("export { first", None),
        ("export {}\n  ", None),
        ("import { ", None),
        ("  export { ", None),
    ],
)
@pytest.mark.parametrize("path", ["a.ts", "a.tsx"])
def test_the_names_that_a_module_does_not_export_yet(path: str, line: str, expected: str | None) -> None:
    code = """
import { used, unused } from "./x"
const first = () => {
  const inner = 1
}
export const second = 2
function third() {}
class Fourth {}
let Fifth = used
Fifth()
"""
    assert texts(path, code + line + CURSOR)[:1] == ([expected] if expected is not None else [])


def test_all_names_of_an_export_list_on_one_line() -> None:
    assert "first, second }" in texts("a.js", f"const first = 1\nfunction second() {{}}\nexport {{ {CURSOR}")


def test_a_property_of_a_private_attribute_and_its_body() -> None:
    code = """
        class Box:
            def __init__(self, width):
                self._width = width

            @property
            def<CURSOR>"""
    assert " width(self)" in texts("b.py", code)
    body = code.replace("def<CURSOR>", "def width(self) -> int:\n                <CURSOR>")
    assert texts("b.py", body)[0] == "return self._width\n"
    assert texts("b.py", body.replace(CURSOR, f"return{CURSOR}"))[0] == " self._width\n"


def test_getters_and_setters_of_java() -> None:
    code = """
        class Box {
            private int width;
            private boolean open;

            public int getWidth() {
                return width;
            }

            <CURSOR>"""
    assert texts("B.java", code)[0] == "public boolean isOpen() {\n"
    getter = code.replace(CURSOR, f"public boolean isOpen() {{\n                {CURSOR}")
    assert texts("B.java", getter)[0] == "return open;\n"
    setter = code.replace(CURSOR, f"public void setWidth(int width) {{\n                {CURSOR}")
    assert texts("B.java", setter)[0] == "this.width = width;\n"


CSHARP = """class Box
{
    private int _width;
    private Other other;
    public override int Old => other.Old;
    public int Older
    {
        get => other.Older;
        set => other.Older = value;
    }
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("public int Width =>", [" _width;\n"]),
        ("public int Width => ", ["_width;\n"]),
        ("public override int New => ", ["other.New;\n"]),
        ("public int Width\n    {\n        get => ", ["_width;\n"]),
        ("public int Width\n    {\n        get => _width;\n        private set => ", ["_width = value;\n"]),
        ("public int Width\n    {\n        get { ", ["return _width; }\n"]),
        ("public int Width\n    {\n        get { return ", ["_width; }\n"]),
        ("public int Width\n    {\n        get { return _width; }\n        set { ", ["_width = value; }\n"]),
        ("public int Width\n    {\n        get\n        {\n            ", ["return _width;\n"]),
        ("public int New\n    {\n        get => ", ["other.New;\n"]),
        ("public int New\n    {\n        get => a.B;\n        set => ", ["a.B = value;\n"]),
        ("public int Width() => ", []),
        ("var x = y => ", []),
    ],
)
def test_values_of_properties_of_csharp(code: str, expected: list[str]) -> None:
    assert texts("Box.cs", f"{CSHARP}    {code}{CURSOR}") == expected


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("Box.kt", "val width: Int\n        get() = ", ["_width\n"]),
        ("Box.kt", "val width: Int get() =", [" _width\n"]),
        ("Box.kt", "val open: StateFlow<Int> = ", ["_open.asStateFlow()\n"]),
        ("Box.kt", "val other: Int\n        get() = ", []),
        ("box.swift", "var width: Int {\n        ", ["_width\n"]),
        ("box.swift", "var width: Int { ", ["_width }\n"]),
        ("box.swift", "var width: Int {\n        return ", ["_width\n"]),
        ("box.swift", "var width: Int {\n        get { _width }\n        set { ", ["_width = newValue }\n"]),
        ("box.swift", "func width() {\n        ", []),
    ],
)
def test_values_of_computed_properties(path: str, code: str, expected: list[str]) -> None:
    fields = "    private var _width: Int\n    private val _open = MutableStateFlow(1)\n"
    assert texts(path, f"class Box {{\n{fields}    {code}{CURSOR}") == expected


@pytest.mark.parametrize(
    ("path", "code", "store", "returned"),
    [
        (
            "Box.java",
            "class Box {\n    private int width;\n    Box withWidth(int width) {\n",
            "this.width = width;",
            "return this;",
        ),
        (
            "box.ts",
            "class Box {\n    private width: X;\n    withWidth(width: X): this {\n",
            "this.width = width;",
            "return this;",
        ),
        (
            "Box.cs",
            "class Box\n{\n    int _width;\n    public Box With(int width)\n    {\n",
            "_width = width;",
            "return this;",
        ),
        (
            "box.php",
            "<?php\nclass Box {\n    private $width;\n    function with($width): self {\n",
            "$this->width = $width;",
            "return $this;",
        ),
        (
            "box.rs",
            "struct Box2 { width: u8 }\nimpl Box2 {\n    fn width(mut self, width: u8) -> Self {\n",
            "self.width = width;",
            "self",
        ),
    ],
)
def test_a_builder_stores_its_parameter_and_returns_itself(path: str, code: str, store: str, returned: str) -> None:
    assert texts(path, f"{code}        {CURSOR}")[:1] == [f"{store}\n"]
    assert texts(path, f"{code}        {store}\n        {CURSOR}") == [f"{returned}\n"]


def test_a_builder_returns_as_the_others_do() -> None:
    code = """
        class Box {
            Box setWidth(int width) {
                this.width = width;
                return asThis();
            }
            Box setHeight(final int height) {
                this.height = height;
                <CURSOR>"""
    assert texts("Box.java", code) == ["return asThis();\n"]
    assert texts("Box.java", code.replace("Box setHeight", "void setHeight")) == []


def test_names_of_tests_that_are_missing() -> None:
    module = "def open_shop(): ...\ndef close_shop(): ...\ndef _hidden(): ...\n"
    code = "from shop import open_shop, close_shop\n\ndef test_open_shop():\n    assert open_shop()\n\ndef<CURSOR>"
    assert texts("test_shop.py", code, shop_py=module) == [" test_close_shop("]
    assert texts("other.py", code, shop_py=module) == []


def test_names_of_tests_in_go() -> None:
    module = "package shop\n\nfunc Open() {}\n\nfunc closeAll() {}\n"
    code = "package shop\n\nfunc TestOpen(t *testing.T) {\n}\n\nfunc<CURSOR>"
    graph = CodeGraph.build([parse_file("shop.go", module), parse_file("shop_test.go", code.replace(CURSOR, ""))])
    above = code[: code.rfind("\n") + 1]
    facts = CursorFacts(
        graph,
        "shop_test.go",
        above,
        language_of("a.go"),
        parse_file("shop_test.go", above),
        {"shop.go": module.encode()},
    )
    assert definitions(facts, "func")[0].text == " TestCloseAll(t *testing.T) {\n"


GO = "package b\n\nfunc f(a string) (int, string, *T, error) {\n\tx, err := g(a)\n"


def test_an_error_of_go_is_checked_and_returned() -> None:
    assert texts("b.go", GO + "\t<CURSOR>")[0] == "if err != nil {\n"
    assert texts("b.go", GO + "\tif err != nil {\n\t\t<CURSOR>")[0] == 'return 0, "", nil, err\n'
    assert texts("b.go", GO + "\tif err != nil {\n\t\treturn<CURSOR>")[0] == ' 0, "", nil, err\n'
    assert texts("b.go", GO, "\tif err != nil {\n\t\t")[0] == 'return 0, "", nil, err\n'


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("func f() error {", "return err\n"),
        ("func (t *T) f(g func(int) bool) (n int, err error) {", "return 0, err\n"),
        ("func f(a, b interface{}) (ok bool, list []string, err error) {", "return false, nil, err\n"),
        ("func f() (P, error) {", "return P{}, err\n"),
        ("func f() (I, error) {", "return nil, err\n"),
        ("func f() {", "return\n"),
    ],
)
def test_the_results_of_the_function_around_decide_what_is_returned(header: str, expected: str) -> None:
    types = "package b\n\ntype P struct{}\n\ntype I interface{}\n\n"
    assert texts("b.go", f"{types}{header}\n\tif err := g(); err != nil {{\n\t\t<CURSOR>")[0] == expected


def test_a_literal_of_a_function_has_results_of_its_own() -> None:
    code = "package b\n\nfunc f() int {\n\trun(func() error {\n\t\tif err := g(); err != nil {\n\t\t\t<CURSOR>"
    assert texts("b.go", code)[0] == "return err\n"


def test_tests_of_go_check_errors_as_above() -> None:
    body = "\tx, err := g()\n\trequire.NoError(t, err)\n\n" * 3
    code = f"package b\n\nfunc TestF(t *testing.T) {{\n{body}\ty, err := g()\n\t<CURSOR>"
    assert texts("b_test.go", code)[0] == "require.NoError(t, err)\n"


def test_no_check_where_no_error_is_bound() -> None:
    assert texts("b.go", "package b\n\nfunc f() {\n\tx := g()\n\t<CURSOR>") == []


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("Args:\n                width (int): The width.\n                ", "height ("),
        ("Args:\n                width: The width.\n                ", "height:"),
        (
            "Parameters\n            ----------\n            width : int\n                The width.\n            ",
            "height :",
        ),
        (":param width: The width.\n            ", ":param height:"),
    ],
)
def test_the_next_parameter_of_a_docstring(section: str, expected: str) -> None:
    code = f'class Box:\n    def f(self, width, height=1):\n        """Make.\n\n            {section}{CURSOR}'
    assert texts("b.py", code)[0] == expected


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("a.py", "x = 1\n"),
        ("a.py", "def"),
        ("a.py", "class A(A):\n    def"),
        ("a.py", "class A(Missing):\n    def"),
        ("a.py", "match c:\n    case Missing.RED:\n        pass\n    "),
        ("a.py", "__all__ = [\n    "),
        ("a.py", "def f(\n    "),
        ("a.py", "    @property\n    def"),
        ("a.go", "\t"),
        ("a.go", "\tif err != nil {\n\t\t"),
        ("a.go", "func f(\n\tx, err := g()\n\tif err != nil {\n\t\t"),
        ("a.go", "var _ Missing = (*T)(nil)\nfunc (t *T)"),
        ("a.rs", "impl T for P {\n    fn"),
        ("a.rs", "Self {"),
        ("a.java", "class A extends A {\n  @Override\n  "),
        ("a.ts", "constructor(\n  "),
        ("a.txt", "def"),
    ],
)
def test_nothing_is_known_about_broken_code(path: str, code: str) -> None:
    found = texts(path, code + CURSOR)
    assert found in ([], ["return\n"])


FRAGMENTS = st.sampled_from(
    [
        *("class A(B):", "def f(self, x", "self.x = x", "match c:", "case A.B:", "__all__ = [", "Args:", "@property"),
        *("impl T for P {", "fn f(", "x, err := g()", "if err != nil {", "func (t *T)", "switch (c) {", "case ", "A {"),
        *("{", "}", "(", ")", '"""', "@Override", "public ", "override fun ", "a: 1,", "é"),
        *("export {", "export { a, ", "get => ", "set => ", "get() = ", "int B => ", "this.x = x;", "=>"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["", "\t", "    ", "        "]), FRAGMENTS), max_size=8),
    st.sampled_from(["a.py", "a.go", "a.rs", "A.java", "a.ts", "A.kt", "A.cs", "a.swift", "a.php", "a.rb", "a.cpp"]),
)
def test_any_text_has_suggestions_or_none(lines: list[tuple[str, str]], path: str) -> None:
    text = "\n".join(indent + fragment for indent, fragment in lines)
    above, line = text[: text.rfind("\n") + 1], text[text.rfind("\n") + 1 :]
    graph = CodeGraph.build([parse_file(path, text)])
    facts = CursorFacts(graph, path, above, language_of(path), parse_file(path, above), {path: text.encode()})
    for end in range(len(line) + 1):
        found = definitions(facts, line[:end])
        assert sum(each.weight for each in found) <= 1.0 + 1e-9
        assert all(each.text for each in found)


def test_the_suggestions_of_a_cursor_have_definitions() -> None:
    above = "package b\n\nfunc f() error {\n\tx, err := g()\n"
    facts, written = facts_at("b.go", f"{above}\t{CURSOR}")
    source = GraphSuggestions(facts)
    assert ("definition", "if err != nil {\n") in [each[:2] for each in source.suggestions(written)]
