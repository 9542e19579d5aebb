"""Lua: facts of a text, modules and calls, also in texts that end at a cursor."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, FileGraph, parse_file, reachable_symbols
from weft.codegraph.file_graph import MODULE_SCOPE
from weft.codegraph.modules import ModuleIndex, ModuleQuery


def parsed(text: str) -> FileGraph:
    return parse_file("lua/a.lua", textwrap.dedent(text))


def definitions(text: str) -> list[str]:
    return [
        f"{d.kind} {d.qualified_name}{'(' + ', '.join(d.bases) + ')' if d.bases else ''}"
        for d in parsed(text).definitions
    ]


def bindings(text: str) -> list[str]:
    file = parsed(text)
    forms = {"annotation": "{}: {}", "call": "{} = {}()", "alias": "{} = {}", "unknown": "{} = ?"}
    return [
        ("" if b.scope == MODULE_SCOPE else f"{file.definitions[b.scope].qualified_name} | ")
        + forms[b.how].format(b.name, b.value)
        for b in file.bindings
    ]


def check(text: str, *expected: str, path: str = "lua/main.lua") -> None:
    """The calls of a file resolve to exactly these edges."""
    files: dict[str, list[str]] = {}
    for line in textwrap.dedent(text).strip("\n").split("\n"):
        if line.startswith("#- "):
            files[line[3:].strip()] = []
        else:
            files[list(files)[-1]].append(line)
    graph = CodeGraph.build(parse_file(path, "\n".join(lines) + "\n") for path, lines in files.items())
    calls = graph.files[path].calls
    found = [f"{calls[e.call].callee} -> {e.path}::{e.qualified_name} ({e.how})" for e in graph.call_edges(path)]
    assert sorted(found) == sorted(expected)


# Facts


def test_tables_with_functions_are_definitions():
    text = """
        local M = {}
        local cache = {}
        local Shop = setmetatable({}, { __index = Base })
        Till = Till or {}
        M.sub = {}
        Shop.__index = Shop
        function M.open(x) end
        function Shop:pay() end
        function Till.new() end
        M.sub.go = function() end
        local function helper() local inner = function() end end
        Kid = Shop:extend()
        Other = class("Other", Shop)
        return M
    """
    assert sorted(definitions(text)) == sorted(
        [
            "table M",
            "table M.sub",
            "table Shop(Base)",
            "table Till",
            "function M.open",
            "method Shop.pay",
            "function Till.new",
            "function M.sub.go",
            "function helper",
            "function helper.inner",
            "table Kid(Shop)",
            "table Other(Shop)",
        ]
    )
    assert bindings(text) == ["cache = ?", "M.open | x = ?", "default = M"]


def test_a_returned_table_is_the_export():
    text = "local function open() end\nreturn { open = open, close = function(x) end, n = 1 }\n"
    assert definitions(text) == ["function open", "table default", "function default.close"]
    assert sorted(bindings(text)) == ["default | self.n: number", "default | self.open = open", "default.close | x = ?"]


def test_a_metatable_gives_the_base_of_a_class():
    text = "local Shop = {}\nsetmetatable(Shop, { __index = Base })\nfunction Shop.new() end\n"
    assert definitions(text)[0] == "table Shop(Base)"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("local x = f(1)", ["x = f()"]),
        ("local x, y = a.b, c:d()", ["x = a.b", "y = c.d()"]),
        ("local x, y = f()", ["x = f()", "y = ?"]),
        ("local x = setmetatable({}, Shop)", ["x: Shop"]),
        ("local x = setmetatable({}, { __index = a.Shop })", ["x: a.Shop"]),
        ("local x = y or {}", ["x = y"]),
        ("local x = xs[1].y", ["x = xs[].y"]),
        ('local x = "s"', ["x: string"]),
        ("local x = {}", ["x = ?"]),
        ("local x = x", []),
        ("for i, x in ipairs(self.xs) do end", ["i = ?", "x = self.xs[]"]),
        ("for k in next, xs do end", ["k = ?"]),
        ("go(function(x) end)", ["x = ?"]),
    ],
)
def test_variables(statement: str, expected: list[str]):
    found = bindings(f"function f()\n{statement}\nend\n")
    assert [line.removeprefix("f | ") for line in found] == expected


def test_attributes_and_results():
    text = """
        local Shop = {}
        function Shop.new(name)
          local self = setmetatable({}, Shop)
          self.till = Till.new()
          self.n = 1
          return self
        end
        function Shop:copy() self.next = Shop.new() return setmetatable({}, Shop) end
    """
    assert bindings(text) == [
        "Shop.new | name = ?",
        "Shop.new | () = self",
        "Shop.new | self: Shop",
        "Shop.till = Till.new()",
        "Shop.n: number",
        "Shop.copy | (): Shop",
        "Shop.next = Shop.new()",
    ]


def test_calls_and_imports():
    file = parsed('local m = require("a.b")\nrequire "c/d".go(1)\nm.x:y "z".w {};\n("s"):rep(2);\nf()()\n')
    assert [call.callee for call in file.calls] == ["require/c/d.go", "m.x.y().w", "m.x.y", "string().rep", "f()", "f"]
    assert [(item.local_name, item.module, item.name) for item in file.imports] == [
        ("m", "a.b", "default"),
        ("require/c/d", "c.d", "default"),
    ]


# Texts that end at a cursor

WHOLE = """\
local M = {}
local shop = require("shop")

function M.open(a)
  local b = shop.new(a)
  if a then
    for i, c in ipairs(b.all) do
      b.each(function(d)
        d.go()
        local e = d.
"""


@pytest.mark.parametrize("end", range(4, 11))
def test_a_text_that_ends_in_a_body_has_the_facts_above(end: int):
    text = "\n".join(WHOLE.split("\n")[:end]) + "\n"
    assert definitions(text) == ["table M", "function M.open"]
    assert "M.open | a = ?" in bindings(text)
    assert end < 6 or "M.open | b = shop.new()" in bindings(text)
    assert [item.module for item in parsed(text).imports] == ["shop"]


def test_a_closed_function_is_no_scope_in_a_broken_text():
    text = "function a()\n  f(1)\nend\nfunction b()\n  if x then\n    g(\n"
    file = parsed(text)
    assert [(d.qualified_name, d.parent) for d in file.definitions] == [("a", -1), ("b", -1)]


# Modules


@pytest.mark.parametrize(
    ("files", "module", "expected"),
    [
        ("lua/a/b.lua", "a.b", "lua/a/b.lua"),
        ("lua/a/b/init.lua", "a.b", "lua/a/b/init.lua"),
        ("lua/a/b.lua", "a/b", "lua/a/b.lua"),
        ("src/a.lua lua/a.lua", "a", "lua/a.lua"),
        ("src/x/a.lua", "a", "src/x/a.lua"),
        ("src/a.lua", "b", None),
        ("src/a.lua", "", None),
    ],
)
def test_modules(files: str, module: str, expected: str | None):
    found = ModuleIndex(files.split()).find(ModuleQuery("lua", "lua", module))
    assert found == ((expected,) if expected else ())


# Calls


def test_modules_classes_and_globals():
    check(
        """
        #- lua/main.lua
        local shop = require("kit.shop")
        local Till = require("kit.till")
        local helpers = require("kit")
        local function run(x)
          shop.open()
          local t = Till.new()
          t:close()
          t.coin:spin()
          t:inherited()
          helpers.help()
          require("kit.shop").open()
          make_everything()
          string.format("%s", x:close())
          local run = 1
        end
        #- lua/kit/shop.lua
        local M = {}
        function M.open() M.helper() end
        M.helper = function() end
        return M
        #- lua/kit/till.lua
        local Base = require("kit.base")
        local Coin = {}
        Coin.__index = Coin
        function Coin.new() return setmetatable({}, Coin) end
        function Coin:spin() end
        local Till = setmetatable({}, { __index = Base })
        Till.__index = Till
        function Till.new()
          local self = setmetatable({}, Till)
          self.coin = Coin.new()
          return self
        end
        function Till:close() self:lock() end
        function Till:lock() end
        return Till
        #- lua/kit/base.lua
        local Base = {}
        function Base:inherited() end
        return Base
        #- lua/kit/init.lua
        return { help = function() end }
        #- other/globals.lua
        function make_everything() end
        """,
        "shop.open -> lua/kit/shop.lua::M.open (class attribute)",
        "Till.new -> lua/kit/till.lua::Till.new (class attribute)",
        "t.close -> lua/kit/till.lua::Till.close (typed local)",
        "t.coin.spin -> lua/kit/till.lua::Coin.spin (typed attribute)",
        "t.inherited -> lua/kit/base.lua::Base.inherited (inherited)",
        "helpers.help -> lua/kit/init.lua::default.help (class attribute)",
        "require/kit/shop.open -> lua/kit/shop.lua::M.open (class attribute)",
        "make_everything -> other/globals.lua::make_everything (unique name)",
    )


def test_calls_inside_of_a_class():
    check(
        """
        #- lua/main.lua
        local Shop = {}
        function Shop:pay() self:go() self.go() Shop.go() end
        function Shop:go() end
        return Shop
        """,
        "self.go -> lua/main.lua::Shop.go (self)",
        "self.go -> lua/main.lua::Shop.go (self)",
        "Shop.go -> lua/main.lua::Shop.go (class attribute)",
    )


@pytest.mark.parametrize(
    "text", ["f" + "()" * 3000, "x = " + "(" * 3000, "function a() " * 2000, "local x = {}\n" * 3000]
)
def test_long_texts_are_read(text: str):
    assert parsed(text).n_bytes == len(text)


# Changes

LINES = (
    'local shop = require("kit.shop")',
    'local shop = require("shop")',
    "local M = {}",
    "function M.open_all() M.close_all() end",
    "function M:close_all() self.open_all() make_everything() end",
    "local Till = setmetatable({}, { __index = shop })",
    "function Till.new() local self = setmetatable({}, Till) self.shop = shop.new() return self end",
    "function Till:pay_all() self.shop:open_all() Till.new():open_all() end",
    "function make_everything() shop.open_all() end",
    "return M",
    "return Till",
    "return { open_all = function() end }",
)
PATHS = ("main.lua", "lua/shop.lua", "lua/kit/shop.lua", "kit/shop/init.lua", "src/other.lua")
contents = st.lists(st.sampled_from(LINES), max_size=6).map("\n".join)


def everything(graph: CodeGraph) -> dict[str, object]:
    return {
        path: (graph.call_edges(path), set(reachable_symbols(graph, path, file.n_lines)))
        for path, file in graph.files.items()
    }


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
        assert everything(graph) == everything(CodeGraph.build(graph.files.values()))
