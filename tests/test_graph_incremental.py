"""A snapshot after changes equals one built from scratch, and only what a change can affect is resolved again."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, FileGraph, parse_file, reachable_symbols
from weft.codegraph import graph as graph_module

PATHS = (
    "main.py",
    "pkg/__init__.py",
    "pkg/a.py",
    "pkg/b.py",
    "pkg/sub/__init__.py",
    "pkg/sub/a.py",
    "src/other/__init__.py",
    "src/other/b.py",
    "tests/run.py",
    "b.py",
)
LINES = (
    "from pkg.a import load_all, Store",
    "from pkg import *",
    "from .a import *",
    "from .b import *",
    "from . import a, b",
    "from .sub import Store as Base",
    "from ..a import Store",
    "from other import b",
    "from other.b import Store, open_store",
    "import pkg.sub.a",
    "import b",
    "from pkg.sub.a import Base",
    "try:\n    from pkg.b import load_all\nexcept ImportError:\n    from b import load_all",
    "def load_all(): ...",
    "def load_all() -> Base: ...",
    "def open_store() -> Store: ...",
    "class Base:\n    def close_down(self): ...",
    "class Base(Store):\n    def __init__(self): self.inner = open_store()",
    "class Store:\n    def load_all(self): ...\n    def again(self) -> 'Store': ...",
    "class Store(Base):\n    held: Base\n    def load_all(self):\n        self.close_down()\n        super().again()",
    "class Store(b.Store):\n    def run_it(self):\n        self.inner.close_down()\n        self.held.load_all()",
    "shared = open_store()",
    "Store = Base",
    "Base = Store",
    "def use(s: Store):\n    s.load_all()\n    s.again().close_down()\n    s.inner.load_all()",
    "def use_it(x):\n    x.close_down()\n    x.run_it()\n    load_all()\n    open_store().load_all()",
    "Store()",
    "pkg.sub.a.Base()",
    "b.open_store()",
    "a.load_all()",
    "shared.load_all()",
)

texts = st.lists(st.sampled_from(LINES), max_size=7).map("\n".join)
states = st.dictionaries(st.sampled_from(PATHS), texts, max_size=len(PATHS))
# Each step gives some files new texts, deletes some (None), and so renames some as well.
steps = st.lists(st.dictionaries(st.sampled_from(PATHS), st.none() | texts, min_size=1, max_size=3), max_size=5)

# The same for modules that manifests name.
MODULE_PATHS = (
    "package.json",
    "pnpm-workspace.yaml",
    "tsconfig.json",
    "tsconfig.base.json",
    "app/tsconfig.json",
    "app/package.json",
    "app/main.ts",
    "app/deep/index.ts",
    "app/deep.ts",
    "lib/package.json",
    "lib/deno.json",
    "lib/src/index.ts",
    "lib/src/pay.tsx",
    "lib/code/lib-pay.js",
    "lib/deep/package.json",
    "lib/deep/pay.ts",
    "go.mod",
    "go.work",
    "kit/go.mod",
    "main.go",
    "kit/kit.go",
    "kit/coin/coin.go",
    "vendor/example.com/kit/v.go",
    "build/compile_commands.json",
    "src/main.cc",
    "one/run.h",
    "two/run.h",
    "two/run.cc",
)
WEB_LINES = (
    *(
        f'import {{ payAll }} from "{module}";\npayAll();'
        for module in ("./deep", "./deep.js", "../lib", "../lib/dist", "..", "@me/lib", "@me/lib/pay", "@me/lib/deep")
    ),
    *(
        f'import {{ payAll }} from "{module}";\npayAll();'
        for module in ("@me/lib/x", "@/deep", "~pay", "#pay", "lib/src/pay", "/deep", "mapped/pay", "@me/app")
    ),
    'export * from "@me/lib";',
    'export { payAll } from "./pay";',
    "export function payAll() {}",
    "export function payOthers() { payAll(); }",
)
GO_LINES = (
    'import "example.com/shop/kit"\nfunc useOne() { kit.PayAll() }',
    'import "example.com/kit"\nfunc useTwo() { kit.PayAll() }',
    'import "example.com/kit/coin"\nfunc useThree() { coin.PayAll() }',
    'import "example.com/shop"\nfunc useFour() { shop.PayAll() }',
    "func PayAll() {}",
)
CPP_LINES = (
    '#include "run.h"\nvoid use_one() { pay_all(); }',
    "#include <one/run.h>\nvoid use_two() { pay_all(); }",
    "void pay_all();",
    "inline void pay_all() {}",
)
COMPILE_COMMANDS = (
    "[]",
    '[{"directory": "/me/shop/build", "command": "c++ -I../one", "file": "/me/shop/src/main.cc"}]',
    '[{"directory": "/me/shop/build", "command": "c++ -I../two -I..", "file": "/me/shop/two/run.cc"}]',
    '[{"directory": "/me/shop/build", "command": "c++ -I../one", ',
)
PACKAGES = (
    "{}",
    '{"name": "@me/lib"}',
    '{"name": "@me/lib", "main": "dist/index.js", "imports": {"#pay": "./src/pay.js"}}',
    '{"name": "@me/lib", "main": "./code/lib-pay.js", "exports": {"./*": "./dist/*.js"}}',
    '{"name": "@me/lib", "exports": {".": "./dist/pay.js", "./pay": null, "./x": "./deep"}}',
    '{"name": "@me/lib", "exports": {"./p*": "./code/lib-p*.js", "./*": "./*/index.js"}}',
    '{"name": "@me/app", "main": "deep", "workspaces": ["lib", "app"], "imports": {"#*": "./dist/*.js"}}',
    '{"name": "@me/lib", ',
)
CONFIGS = (
    "{}",
    '{"compilerOptions": {"baseUrl": "."}}',
    '{"compilerOptions": {"paths": {"@/*": ["./app/*", "./*"], "~pay": ["lib/src/pay.ts"]}}}',
    '{"compilerOptions": {"paths": {"~pay": ["./lib", "../lib/dist"], "#*": ["lib/code/lib-*"]}}}',
    '{"extends": "./tsconfig.base.json"}',
    '{"extends": ["../tsconfig.base", "@me/lib"], "include": ["deep"]}',
    '{"files": [], "references": [{"path": "./tsconfig.base.json"}, {"path": "app"}]}',
    '{"compilerOptions": ',
)
GO_MODULES = (
    "module example.com/shop\n",
    "module example.com/shop\nreplace example.com/kit => ./kit\n",
    "module example.com/kit\n",
    "go 1.22\n",
)
CONTENTS = {
    "package.json": st.sampled_from(PACKAGES),
    "deno.json": st.just('{"name": "@me/lib", "exports": "./src/pay.tsx", "imports": {"mapped/": "./src/"}}'),
    "pnpm-workspace.yaml": st.just("packages:\n  - lib\n"),
    "tsconfig.json": st.sampled_from(CONFIGS),
    "tsconfig.base.json": st.sampled_from(CONFIGS),
    "compile_commands.json": st.sampled_from(COMPILE_COMMANDS),
    "go.mod": st.sampled_from(GO_MODULES),
    "go.work": st.sampled_from(("use ./kit\n", "use (\n.\n./kit\n)\nreplace example.com/kit => ./kit/coin\n")),
}


def content_of(path: str) -> st.SearchStrategy[str]:
    name = path.rpartition("/")[2]
    if name in CONTENTS:
        return CONTENTS[name]
    start, lines = "", CPP_LINES if name.endswith((".h", ".cc")) else WEB_LINES
    if name.endswith(".go"):
        start, lines = "package p\n", GO_LINES
    return st.lists(st.sampled_from(lines), max_size=4).map(lambda found: start + "\n".join(found))


module_states = st.fixed_dictionaries({}, optional={path: content_of(path) for path in MODULE_PATHS})
module_steps = st.lists(
    st.lists(
        st.sampled_from(MODULE_PATHS).flatmap(lambda path: st.tuples(st.just(path), st.none() | content_of(path))),
        min_size=1,
        max_size=3,
    ).map(dict),
    max_size=5,
)


# The same for languages with declared packages, open types, extensions and implicit objects.
DECLARING = {
    ("a/Shop.java", "a/Cart.java", "b/Shop.java", "b/Till.java"): (
        "package a;",
        "package b;",
        "import a.*;",
        "import b.Shop;",
        "import static b.Shop.payAll;",
        "class Shop { Shop() {} static Cart payAll() { return null; } }",
        "class Shop extends Till { Till held; void run() { payAll(); held.closeDown(); super.closeDown(); } }",
        "class Till { void closeDown() {} class Inner { void openUp() { closeDown(); } } }",
        "interface Cart { void payAll(); }",
        "class Wide implements Cart { public void payAll() { new Shop().run(); Shop.payAll().payAll(); } }",
        "class Use { void go(Shop s, Cart c) { s.run(); c.payAll(); s.held.closeDown(); new a.Shop(); } }",
    ),
    ("a/Shop.cs", "a/Shop.Part.cs", "b/Till.cs", "Global.cs"): (
        "namespace A.B;",
        "using A;",
        "using A.B;",
        "global using A.B;",
        "namespace A { class Till { public void CloseDown() {} } }",
        "namespace A.B { partial class Shop { public Till Held; public void Run() { PayAll(); Held.CloseDown(); } } }",
        "partial class Shop : Till { void PayAll() { base.CloseDown(); this.Run(); } }",
        "static class Exts { public static Shop AddUp(this Shop s) { return s; } }",
        "class Use { void Go(Shop s) { s.AddUp().Run(); s.Held.CloseDown(); new Shop(); B.Exts.AddUp(s); } }",
    ),
    ("a/Shop.java", "a/Till.java", "b/Use.java", "b/Main.java"): (
        "package a;",
        "package a.b;",
        "import a.*;",
        "import a.Shop;",
        "import static a.Shop.*;",
        "import static a.b.Shop.openUp;",
        "class Till { Shop held; void closeDown() {} Till(int n) {} }",
        "class Till<T extends Shop> extends Shop { T held; void closeDown() { super.payAll(); held.go(); } }",
        "interface Payable { void payAll(); default void addUp() { payAll(); } }",
        "class Shop extends Till implements Payable { static Shop openUp() { return null; } public void payAll() {} }",
        "record Shop(Till till) { void payAll() { till().closeDown(); till.closeDown(); } }",
        "enum Shop { OPEN { void payAll() { closeDown(); } }; void payAll() {} void closeDown() { OPEN.payAll(); } }",
        "class Use { void go(Shop s) { s.payAll(); openUp().addUp(); new Shop(); a.Shop.openUp(); s.held.addUp(); } }",
        "class More extends Shop { Payable p = new Payable() { public void payAll() { closeDown(); p.addUp(); } }; }",
    ),
    ("a/Shop.scala", "a/Till.scala", "b/Use.scala", "b/Main.java"): (
        "package a",
        "package b",
        "import a._",
        "import b.Shop",
        "import Shop._",
        "import till._",
        "class Till(held: Shop) { def closeDown() = held.payAll; def payAll: Shop = held }",
        "trait Payable { def payAll: Shop; def addUp() = payAll.addUp() }",
        "class Shop extends Till(null) with Payable { def payAll: Shop = this; val till = new Till(this) }",
        "object Shop { def apply(n: Int): Shop = openUp(); def openUp(): Shop = new Shop }",
        "object Ext { implicit class Rich(val s: Shop) { def twice = s.payAll } }",
        "extension (s: Shop) def thrice(): Shop = s.payAll",
        "object Use { def go(s: Shop) = { s.twice.payAll; s.thrice().closeDown(); Shop(1).till.addUp(); addUp() } }",
    ),
    ("a/Shop.kt", "a/Cart.kt", "b/Use.kt", "b/Main.java"): (
        "package a",
        "package b",
        "import a.*",
        "import a.Shop",
        "import a.addUp as add",
        "open class Till { fun closeDown() {} }",
        "class Shop(val held: Till) : Till() { fun payAll() = closeDown(); companion object { fun open() = Shop(x) } }",
        "fun Shop.addUp(): Shop { payAll(); return this }",
        "fun Shop(build: Shop.() -> Unit): Shop = TODO()\nfun shop() = Shop { payAll() }",
        "class Use { fun go(s: Shop) { s.addUp().held.closeDown(); Shop.open().payAll(); s.apply { payAll() } } }",
        "class Main { void go(a.Shop s) { s.payAll(); new a.Till().closeDown(); } }",
    ),
    ("Sources/Shop.swift", "Sources/Till.swift", "Tests/Use.swift"): (
        "class Till { func closeDown() {} }",
        "class Shop: Till { let held = Till()\n func payAll() { closeDown(); held.closeDown() } }",
        "extension Shop: Payer { func addUp() -> Shop { payAll(); return self } }",
        "protocol Payer { func payAll() }",
        "extension Payer { func payTwice() { payAll() } }",
        "func go(s: Shop, p: Payer) { s.addUp().held.closeDown(); p.payAll(); s.payTwice() }",
    ),
    ("shop.h", "shop.cc", "till.h", "src/main.cc"): (
        '#include "shop.h"',
        "using namespace a;",
        "namespace a { class Shop { public: void payAll(); Till* held_; }; }",
        "namespace a { void Shop::payAll() { held_->closeDown(); closeDown(); } }",
        "void a::Shop::payAll() { closeDown(); }",
        "class Till { public: virtual void closeDown() {} };",
        "void closeDown() {}",
        "static int go(a::Shop* s) { s->payAll(); Shop t; t.payAll(); a::Shop::payAll(); return 0; }",
    ),
    ("shop.rb", "lib/loud.rb", "use.rb"): (
        "module Loud\n  def shout; volume_up; end\n  def self.make_it; Shop.new; end\nend",
        "class Shop\n  include Loud\n  attr_reader :line_item\n  def volume_up; line_item.total_price; end\nend",
        "class LineItem\n  def total_price; end\n  attr_accessor :volume_up\nend",
        "class Wide < Shop\n  def volume_up; super; end\nend",
        "def use(line_item)\n  line_item.total_price\n  Loud.make_it.shout\n  x.volume_up\n  total_price\nend",
        "class Other\n  def go; volume_up; total_price; @line_item.total_price; end\nend",
        "module Extra\n  class LineItem < Shop\n    def total_price; end\n  end\nend",
    ),
    ("shop.rb", "shop/till.rb", "lib/cart.rb", "use.rb"): (
        "module Shop\n  class Till\n    def close_down; end\n  end\nend",
        "module Shop\n  class Cart < Till\n    def add_up\n      close_down\n      @till = Till.new\n    end\n  end\n"
        "end",
        "module Shop\n  module Payable\n    def pay_all; add_up; end\n  end\nend",
        "class Shop::Cart\n  include Shop::Payable\n  def go; pay_all; @till.close_down; super; end\nend",
        "Shop::Cart.new.pay_all",
        "def use(x)\n  c = Shop::Cart.new\n  c.add_up\n  c.go\n  x.close_down\nend",
    ),
}


@st.composite
def declared_states(draw: st.DrawFn) -> tuple[dict[str, str], list[dict[str, str | None]]]:
    """The files of a repository in one of the languages, and changes of them."""
    paths = draw(st.sampled_from(sorted(DECLARING)))
    content = st.lists(st.sampled_from(DECLARING[paths]), max_size=4).map("\n".join)
    state = draw(st.fixed_dictionaries({}, optional=dict.fromkeys(paths, content)))
    step = st.dictionaries(st.sampled_from(paths), st.none() | content, min_size=1, max_size=2)
    return state, draw(st.lists(step, max_size=4))


def everything(graph: CodeGraph) -> dict[str, object]:
    """All that a reader can learn of a graph about calls, in both directions."""
    return {
        path: (
            file,
            graph.call_edges(path),
            [graph.callers(path, definition.qualified_name) for definition in file.definitions],
            [graph.calling_files(path, definition.qualified_name) for definition in file.definitions],
            set(reachable_symbols(graph, path, file.n_lines)),
        )
        for path, file in graph.files.items()
    }


def changed(graph: CodeGraph, step: dict[str, str | None], *, settles: bool = True) -> CodeGraph:
    files = [parse_file(path, text) for path, text in step.items() if text is not None]
    return graph.with_changes(files, [path for path, text in step.items() if text is None], settles=settles)


def check_calls(graph: CodeGraph) -> None:
    """All resolved calls exist and lead to definitions that exist; those on some lines are among them."""
    for path, file in graph.files.items():
        edges = graph.call_edges(path)
        assert graph.calls_on(path, range(file.n_lines)) == [(file.calls[edge.call].line, edge) for edge in edges]
        for edge in edges:
            assert file.calls[edge.call].callee
            assert graph.definition(edge.path, edge.qualified_name) is not None


@settings(max_examples=40, deadline=None)
@given(states)
def test_the_calling_files_of_a_definition_are_those_of_its_callers(state):
    graph = CodeGraph.build(parse_file(path, text) for path, text in state.items())
    for path, file in graph.files.items():
        for definition in file.definitions:
            callers = graph.callers(path, definition.qualified_name)
            found = graph.calling_files(path, definition.qualified_name)
            assert found == tuple(dict.fromkeys(caller.path for caller in callers))


@settings(max_examples=80, deadline=None)
@given(states, steps)
def test_changes_give_what_a_build_from_scratch_gives(state, changes):
    graph = CodeGraph.build(parse_file(path, text) for path, text in state.items())
    for step in changes:
        before = everything(graph)
        new = changed(graph, step)
        assert everything(new) == everything(CodeGraph.build(new.files.values()))
        assert everything(graph) == before
        graph = new


@settings(max_examples=150, deadline=None)
@given(states, steps, st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_calls_that_are_resolved_later_are_those_of_a_build_from_scratch(state, changes, slices):
    graph = CodeGraph.build(parse_file(path, text) for path, text in state.items())
    for step, n_slices in zip(changes, slices, strict=False):
        graph = changed(graph, step, settles=False)
        check_calls(graph)
        everything(graph)  # what a reader has looked up is no longer valid in the next snapshot
        for _ in range(n_slices):
            before = everything(graph)
            n_left = len(graph.unresolved())
            new = graph.settled(lambda: True)
            assert len(new.unresolved()) == max(0, n_left - 1)
            assert everything(graph) == before
            check_calls(new)
            graph = new
    new = graph.settled()
    assert new.is_settled and everything(new) == everything(CodeGraph.build(new.files.values()))
    assert new.settled() is new


def test_calls_that_an_edit_moves_stay_resolved_until_they_are_resolved_again():
    before = "def pay(): ...\ndef log(): ...\npay()\nlog()\n"
    graph = CodeGraph.build([parse_file("a.py", before)])
    new = graph.with_changes([parse_file("a.py", before.replace("pay()\nlog", "pay()\nopen()\nlog"))], settles=False)
    assert [(edge.call, edge.qualified_name) for edge in new.call_edges("a.py")] == [(0, "pay"), (2, "log")]


def test_a_call_of_a_definition_that_is_gone_leads_nowhere_before_it_is_resolved_again():
    graph = CodeGraph.build([parse_file("a.py", "def pay(): ..."), parse_file("b.py", "from a import pay\npay()")])
    new = graph.with_changes([parse_file("a.py", "def sell(): ...")], settles=False)
    assert graph.call_edges("b.py") and not new.call_edges("b.py")
    assert new.callers("a.py", "pay") == () and new.calling_files("a.py", "pay") == ()
    assert new.unresolved() == {"a.py", "b.py"}


@settings(max_examples=150, deadline=None)
@given(module_states, module_steps)
def test_changes_of_manifests_give_what_a_build_from_scratch_gives(state, changes):
    graph = CodeGraph.build(parse_file(path, text) for path, text in state.items())
    for step in changes:
        new = changed(graph, step)
        assert everything(new) == everything(CodeGraph.build(new.files.values()))
        graph = new


@settings(max_examples=150, deadline=None)
@given(declared_states())
def test_changes_of_declared_packages_give_what_a_build_from_scratch_gives(drawn):
    state, changes = drawn
    graph = CodeGraph.build(parse_file(path, text) for path, text in state.items())
    for step in changes:
        new = changed(graph, step)
        assert everything(new) == everything(CodeGraph.build(new.files.values()))
        for path, text in step.items():
            if text is not None and path in graph.files:
                file = parse_file(path, text)
                assert graph.overlay(file).call_edges(path) == graph.with_changes([file]).call_edges(path)
        graph = new


@settings(max_examples=40, deadline=None)
@given(states, st.sampled_from(PATHS), texts)
def test_an_overlay_resolves_its_file_as_an_edit_would(state, path, text):
    graph = CodeGraph.build(parse_file(path, text) for path, text in (state | {path: "x = 1"}).items())
    before = everything(graph)
    file = parse_file(path, text)
    overlay, edited = graph.overlay(file), graph.with_changes([file])
    names = {definition.qualified_name for definition in file.definitions}
    assert overlay.files[path] is file
    assert overlay.call_edges(path) == edited.call_edges(path)
    for other in graph.files.keys() - {path}:
        kept = tuple(e for e in graph.call_edges(other) if e.path != path or e.qualified_name in names)
        assert overlay.call_edges(other) == kept
    for edge in overlay.call_edges(path):
        assert (path, edge.call) in {c[:2] for c in overlay.callers(edge.path, edge.qualified_name)}
    assert everything(graph) == before


@settings(max_examples=20, deadline=None)
@given(states, steps)
def test_a_stored_graph_goes_on_as_before(state, changes):
    graph = CodeGraph.build(parse_file(path, text) for path, text in state.items())
    stored = pickle.loads(pickle.dumps(graph, protocol=5))
    assert everything(stored) == everything(graph)
    for step in changes:
        stored, graph = changed(stored, step), changed(graph, step)
    assert everything(stored) == everything(graph)


# What is resolved again

SHOP = {
    "main.py": "from shop import Store, pay\n\ndef run(s: Store):\n    pay()\n    s.load()\n",
    "child.py": "from shop import Store\n\nclass Child(Store):\n    def go(self):\n        self.load()\n",
    "shop.py": "from base import Base\n\ndef pay():\n    x = 1\n\nclass Store(Base):\n    pass\n",
    "base.py": "class Base:\n    def load(self):\n        pass\n    def other(self):\n        pass\n",
    "alone.py": "def run(thing):\n    thing.settle_account()\n",
}


@pytest.fixture
def resolved(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are resolved from here on."""
    paths: list[str] = []
    original = graph_module.resolve_calls

    def spy(sources: CodeGraph, file: FileGraph):
        paths.append(file.path)
        return original(sources, file)

    monkeypatch.setattr(graph_module, "resolve_calls", spy)
    return paths


@pytest.mark.parametrize(
    ("path", "old", "new", "again"),
    [
        ("shop.py", "x = 1", "x = 1\n    print(x)", []),  # a body
        ("base.py", "class Base", "import os\n\nclass Base", []),  # lines move
        ("base.py", "def other", "def another", []),  # nobody dependencies for it
        ("base.py", "def load", "def unload", ["child.py", "main.py"]),  # found through Store in both
        ("shop.py", "class Store(Base)", "class Store", ["child.py", "main.py"]),
        ("shop.py", "class Store(Base):", "class Store(Base):\n    def load(self): ...", ["child.py", "main.py"]),
        ("shop.py", "def pay", "def repay", ["main.py"]),
        ("shop.py", "def pay()", "def pay() -> Store", []),  # main.py never looked at what it returns
        ("base.py", "def other", "def settle_account", ["alone.py"]),  # a unique name appears
    ],
)
def test_an_edit_resolves_only_files_whose_questions_have_other_answers(resolved, path, old, new, again):
    graph = CodeGraph.build(parse_file(path, text) for path, text in SHOP.items())
    resolved.clear()
    graph.with_changes([parse_file(path, SHOP[path].replace(old, new))])
    assert sorted(resolved) == sorted([path, *again])


def test_a_created_module_is_found_by_those_who_import_it(resolved):
    graph = CodeGraph.build(parse_file(path, text) for path, text in SHOP.items() if path != "base.py")
    resolved.clear()
    graph = graph.with_changes([parse_file("base.py", SHOP["base.py"])])
    assert sorted(resolved) == ["base.py", "child.py", "main.py"]  # shop.py calls nothing
    assert [edge.how for edge in graph.call_edges("child.py")] == ["inherited"]


def test_an_unrelated_created_file_resolves_nothing_else(resolved):
    graph = CodeGraph.build(parse_file(path, text) for path, text in SHOP.items())
    resolved.clear()
    graph.with_changes([parse_file("tools/extra.py", "def helper(): ...\n")])
    assert resolved == ["tools/extra.py"]


def test_an_overlay_resolves_nothing_but_its_file(resolved):
    graph = CodeGraph.build(parse_file(path, text) for path, text in SHOP.items())
    resolved.clear()
    overlay = graph.overlay(parse_file("shop.py", "from base import Base\n\nclass Store(Base):\n    pass\n"))
    for path in overlay.files:
        overlay.call_edges(path)
    assert resolved == ["shop.py"]
    assert [edge.qualified_name for edge in overlay.call_edges("main.py")] == ["Base.load"]
    assert overlay.callers("shop.py", "pay") == ()
    assert len(graph.callers("shop.py", "pay")) == 1


def test_an_overlay_takes_no_changes():
    graph = CodeGraph.build([parse_file("main.py", "x = 1\n")])
    with pytest.raises(TypeError, match="snapshot"):
        graph.overlay(parse_file("main.py", "")).with_changes()


MODULES = {
    "package.json": '{"workspaces": ["lib"]}',
    "lib/package.json": '{"name": "@me/lib", "main": "dist/pay.js"}',
    "lib/src/pay.ts": "export function payAll() {}\n",
    "lib/src/index.ts": "export function payAll() {}\n",
    "main.ts": 'import { payAll } from "@me/lib";\npayAll();\n',
    "near.ts": 'import { payAll } from "./lib/src/index.js";\npayAll();\n',
    "go.mod": "module example.com/shop\n",
    "main.go": 'package main\nimport "example.com/shop/kit"\nfunc run() { kit.PayAll() }\n',
    "kit/kit.go": "package kit\nfunc PayAll() {}\n",
}


@pytest.mark.parametrize(
    ("path", "text", "again", "target"),
    [
        ("lib/package.json", '{"name": "@me/lib", "main": "dist/index.js"}', ["main.ts"], "lib/src/index.ts"),
        ("lib/package.json", '{"name": "@me/lib", "main": "dist/pay.js", "version": "2"}', [], "lib/src/pay.ts"),
        ("lib/package.json", '{"name": "@me/lib", "main": ', ["main.ts"], None),
        ("lib/package.json", None, ["main.ts"], None),
        ("lib/src/pay.ts", None, ["main.ts"], "lib/src/index.ts"),
        ("lib/dist/pay.js", "export function payAll() {}\n", ["main.ts"], "lib/dist/pay.js"),
        ("lib/src/other.ts", "", [], "lib/src/pay.ts"),
        ("tsconfig.json", '{"compilerOptions": {"paths": {"@other/*": ["lib/*"]}}}', [], "lib/src/pay.ts"),
        ("tsconfig.json", '{"compilerOptions": {"paths": {"@me/*": ["*/src"]}}}', ["main.ts"], "lib/src/index.ts"),
        ("go.mod", "module example.com/other\n", ["main.go"], "lib/src/pay.ts"),
        ("go.work", "use .\n", [], "lib/src/pay.ts"),
    ],
)
def test_a_manifest_resolves_only_files_whose_imports_it_changes(resolved, path, text, again, target):
    graph = CodeGraph.build(parse_file(path, text) for path, text in MODULES.items())
    resolved.clear()
    graph = changed(graph, {path: text})
    assert sorted(resolved) == sorted([*again, *([path] if text is not None else [])])
    assert [edge.path for edge in graph.call_edges("main.ts")] == ([target] if target else [])
