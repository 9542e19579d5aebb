"""Which definition does a call lead to, and how was it found? Small repositories as text, one behaviour each."""

import textwrap

import pytest
from weft.codegraph import HOW, CodeGraph, parse_file, reachable_symbols, resolve
from weft.codegraph.file_graph import MODULE_SCOPE


def repository(text: str) -> CodeGraph:
    """Files under `#- path` headers. In other languages the header is the same."""
    files: dict[str, list[str]] = {}
    for line in textwrap.dedent(text).strip("\n").split("\n"):
        if line.startswith("#- "):
            files[line[3:].strip()] = []
        else:
            files[list(files)[-1]].append(line)
    return CodeGraph.build(parse_file(path, "\n".join(lines) + "\n") for path, lines in files.items())


def calls(graph: CodeGraph, path: str) -> list[str]:
    """The edges of a file as `pay -> shop.py::pay (import)`."""
    all_calls = graph.files[path].calls
    return [f"{all_calls[e.call].callee} -> {e.path}::{e.qualified_name} ({e.how})" for e in graph.call_edges(path)]


def check(text: str, *expected: str, path: str = "main.py") -> None:
    """The calls of `path` (main.py) resolve to exactly these edges."""
    assert calls(repository(text), path) == list(expected)


# Plain names


def test_a_function_of_the_same_file():
    check(
        """
        #- main.py
        def pay(): ...
        def run(): pay()
        """,
        "pay -> main.py::pay (same file)",
    )


def test_the_innermost_definition_wins():
    check(
        """
        #- main.py
        def pay(): ...
        def run():
            def pay(): ...
            pay()
        """,
        "pay -> main.py::run.pay (same file)",
    )


def test_a_method_is_no_plain_name_inside_its_class():
    check(
        """
        #- main.py
        class Shop:
            def pay(self): ...
            def run(self): pay()
        """
    )


def test_a_local_shadows_the_global_of_its_name():
    check(
        """
        #- main.py
        from shop import Shop, pay
        def run():
            pay = Shop()
            pay.total()
            pay()
        #- shop.py
        def pay(): ...
        class Shop:
            def total(self): ...
        """,
        "Shop -> shop.py::Shop (import)",
        "pay.total -> shop.py::Shop.total (typed local)",
    )


@pytest.mark.parametrize(
    "body",
    [
        "def run(pay): pay()",
        "def run():\n    pay = 1\n    pay()",
        "def run(x):\n    for pay in x: pay()",
        "def outer(pay):\n    def run(): pay()",
    ],
)
def test_a_local_of_unknown_value_shadows_too(body):
    assert calls(repository(f"#- main.py\n{body}\ndef pay(): ..."), "main.py") == []


def test_builtins_are_outside():
    check(
        """
        #- main.py
        print(sorted([]))
        #- noise.py
        class Noise:
            def sorted(self): ...
        """
    )


# Imports


@pytest.mark.parametrize(
    ("line", "call", "how"),
    [
        ("from shop.price import total", "total", "import"),
        ("from shop.price import total as t", "t", "import"),
        ("from shop import price", "price.total", "module attribute"),
        ("import shop.price", "shop.price.total", "module attribute"),
        ("import shop.price as p", "p.total", "module attribute"),
        ("from shop import total", "total", "re-export"),
        ("import shop", "shop.total", "module attribute"),
        ("from shop.price import *", "total", "import"),
    ],
)
def test_ways_to_import(line, call, how):
    check(
        f"""
        #- main.py
        {line}
        {call}()
        #- shop/__init__.py
        from .price import total
        #- shop/price.py
        def total(): ...
        """,
        f"{call} -> shop/price.py::total ({how})",
    )


def test_relative_imports_climb_by_their_dots():
    check(
        """
        #- pkg/__init__.py
        #- pkg/a/__init__.py
        #- pkg/a/main.py
        from . import near
        from .near import one
        from ..b.far import two
        near.one()
        one()
        two()
        #- pkg/a/near.py
        def one(): ...
        #- pkg/b/__init__.py
        #- pkg/b/far.py
        def two(): ...
        """,
        "near.one -> pkg/a/near.py::one (module attribute)",
        "one -> pkg/a/near.py::one (import)",
        "two -> pkg/b/far.py::two (import)",
        path="pkg/a/main.py",
    )


def test_a_relative_import_above_the_root_leads_nowhere():
    check(
        """
        #- main.py
        from ..far import two
        two()
        #- far.py
        def two(): ...
        """
    )


def test_chains_of_re_exports_and_stars():
    check(
        """
        #- main.py
        from pkg import pay
        pay()
        #- pkg/__init__.py
        from .inner import *
        #- pkg/inner/__init__.py
        from .deep import settle as pay
        #- pkg/inner/deep.py
        def settle(): ...
        """,
        "pay -> pkg/inner/deep.py::settle (re-export)",
    )


def test_a_star_brings_no_private_names():
    check(
        """
        #- main.py
        from shop import *
        _pay()
        #- shop.py
        def _pay(): ...
        """
    )


def test_cycles_of_imports_end():
    check(
        """
        #- main.py
        from a import *
        from a import lost
        lost()
        found()
        #- a.py
        from b import *
        from b import lost
        #- b.py
        from a import *
        from a import lost
        def found(): ...
        """,
        "found -> b.py::found (re-export)",
    )


def test_the_import_that_is_in_the_repository_wins():
    check(
        """
        #- main.py
        try:
            from fastpay import pay
        except ImportError:
            from slowpay import pay
        pay()
        #- slowpay.py
        def pay(): ...
        """,
        "pay -> slowpay.py::pay (import)",
    )


def test_imports_inside_functions_are_seen_there_only():
    check(
        """
        #- main.py
        def run():
            from shop import settle
            settle()
        settle()
        #- shop.py
        def settle(): ...
        """,
        "settle -> shop.py::settle (import)",
    )


def test_what_another_library_offers_is_never_guessed():
    check(
        """
        #- main.py
        import torch
        from torch import nn
        torch.settle_account()
        nn.settle_account()
        layer = nn.Linear()
        layer.settle_account()
        #- shop.py
        class Shop:
            def settle_account(self): ...
        """
    )


# Layouts


@pytest.mark.parametrize("root", ["", "src/", "lib/", "python/", "services/shop/src/"])
def test_package_roots_below_the_workspace(root):
    check(
        f"""
        #- tests/main.py
        from pkg.mod import pay
        pay()
        #- {root}pkg/__init__.py
        #- {root}pkg/mod.py
        def pay(): ...
        """,
        f"pay -> {root}pkg/mod.py::pay (import)",
        path="tests/main.py",
    )


def test_namespace_packages():
    check(
        """
        #- main.py
        import space.tools.mod
        from space import tools
        from space.tools import mod
        space.tools.mod.pay()
        tools.mod.pay()
        mod.pay()
        #- space/tools/mod.py
        def pay(): ...
        """,
        "space.tools.mod.pay -> space/tools/mod.py::pay (module attribute)",
        "tools.mod.pay -> space/tools/mod.py::pay (module attribute)",
        "mod.pay -> space/tools/mod.py::pay (module attribute)",
    )


def test_the_nearest_root_above_the_importing_file_wins():
    check(
        """
        #- a/main.py
        from utils import pay
        pay()
        #- a/utils.py
        def pay(): ...
        #- b/utils.py
        def pay(): ...
        """,
        "pay -> a/utils.py::pay (import)",
        path="a/main.py",
    )


def test_two_equally_far_modules_are_not_guessed_between():
    check(
        """
        #- main.py
        from utils import pay
        pay()
        #- a/utils.py
        def pay(): ...
        #- b/utils.py
        def pay(): ...
        """
    )


def test_a_module_inside_a_package_is_not_importable_by_its_last_name():
    check(
        """
        #- main.py
        from jax import grad
        grad()
        #- pkg/__init__.py
        #- pkg/jax.py
        def grad(): ...
        """
    )


def test_a_directory_of_the_name_does_not_hide_the_package():
    check(
        """
        #- tests/shop/main.py
        from shop import pay
        pay()
        #- shop/__init__.py
        def pay(): ...
        """,
        "pay -> shop/__init__.py::pay (import)",
        path="tests/shop/main.py",
    )


def test_a_script_in_a_package_imports_its_neighbour():
    check(
        """
        #- tools/main.py
        from helper import pay
        pay()
        #- tools/__init__.py
        #- tools/helper.py
        def pay(): ...
        """,
        "pay -> tools/helper.py::pay (import)",
        path="tools/main.py",
    )


# Receivers


SHOP = """
#- base.py
class Base:
    def close(self): ...
    def open_till(self): ...
#- store.py
from base import Base
class Store(Base):
    def load(self): ...
    def itself(self) -> "Store": ...
def open_store() -> Store: ...
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def run(s: Store): s.load()", "s.load -> store.py::Store.load (typed local)"),
        ("def run(s: Store): s.open_till()", "s.open_till -> base.py::Base.open_till (inherited)"),
        ("s = open_store()\ns.load()", "s.load -> store.py::Store.load (typed local)"),
        ("open_store().load()", "open_store().load -> store.py::Store.load (returned type)"),
        ("Store().load()", "Store().load -> store.py::Store.load (returned type)"),
        ("def run(s: Store): s.itself().load()", "s.itself().load -> store.py::Store.load (returned type)"),
        ("def run(s: Store): s.itself.load()", "s.itself.load -> store.py::Store.load (returned type)"),
        ("Store.load(1)", "Store.load -> store.py::Store.load (class attribute)"),
        ("with open_store() as s: s.load()", "s.load -> store.py::Store.load (typed local)"),
        ("def run(s: Store):\n    t = s\n    t.load()", "t.load -> store.py::Store.load (typed local)"),
        ("def run(s: 'Store | None'): s.load()", "s.load -> store.py::Store.load (typed local)"),
        (
            "class A:\n    s: Store\n    def f(self): self.s.load()",
            "self.s.load -> store.py::Store.load (typed attribute)",
        ),
        (
            "class A:\n    def __init__(self, s: Store): self.s = s\n    def f(self): self.s.load()",
            "self.s.load -> store.py::Store.load (typed attribute)",
        ),
        (
            "class A:\n    def __init__(self): self.s = open_store()\nclass B(A):\n    def f(self): self.s.load()",
            "self.s.load -> store.py::Store.load (typed attribute)",
        ),
    ],
)
def test_receivers_of_a_known_type(body, expected):
    graph = repository(f"#- main.py\nfrom store import *\n{body}\n{SHOP.strip()}")
    assert expected in calls(graph, "main.py")


def test_the_latest_value_of_a_local_counts():
    check(
        """
        #- main.py
        class A:
            def go(self): ...
        class B:
            def go(self): ...
        def run():
            x = A()
            x.go()
            x = B()
            x.go()
        """,
        "A -> main.py::A (same file)",
        "x.go -> main.py::A.go (typed local)",
        "B -> main.py::B (same file)",
        "x.go -> main.py::B.go (typed local)",
    )


def test_self_own_inherited_and_super_over_files():
    check(
        """
        #- main.py
        from base import Base
        class Shop(Base):
            def pay(self):
                self.total()
                self.close()
                super().pay()
                super().__init__()
            def total(self): ...
            @classmethod
            def make(cls):
                cls.total()
                cls()
        #- base.py
        from root import Root
        class Base(Root):
            def pay(self): ...
            def total(self): ...
        #- root.py
        class Root:
            def __init__(self): ...
            def close(self): ...
        """,
        "self.total -> main.py::Shop.total (self)",
        "self.close -> root.py::Root.close (inherited)",
        "super().pay -> base.py::Base.pay (super)",
        "super().__init__ -> root.py::Root.__init__ (super)",
        "cls.total -> main.py::Shop.total (self)",
        "cls -> main.py::Shop (self)",
        "cls -> root.py::Root.__init__ (constructor)",
    )


def test_a_shared_base_comes_after_both_branches():
    check(
        """
        #- main.py
        class Root:
            def go(self): ...
        class Left(Root): ...
        class Right(Root):
            def go(self): ...
        class Both(Left, Right):
            def run(self): self.go()
        """,
        "self.go -> main.py::Right.go (inherited)",
    )


def test_bases_in_a_circle_end():
    check(
        """
        #- main.py
        class A(B):
            def run(self): self.missing_thing()
        class B(A): ...
        """
    )


def test_a_class_call_leads_to_the_class_and_its_constructor():
    check(
        """
        #- main.py
        from shop import Shop
        Shop()
        #- shop.py
        class Shop:
            def __init__(self): ...
        """,
        "Shop -> shop.py::Shop (import)",
        "Shop -> shop.py::Shop.__init__ (constructor)",
    )


def test_an_instance_is_called_through_its_call_method():
    check(
        """
        #- main.py
        class Model:
            def __call__(self): ...
        def run(model: Model): model()
        """,
        "model -> main.py::Model.__call__ (typed local)",
    )


@pytest.mark.parametrize("written", ["cast(Shop, thing)", 'typing.cast("Shop", thing)', "thing and cast(Shop, thing)"])
def test_a_cast_says_the_type(written):
    check(
        f"""
        #- shop.py
        class Shop:
            def pay(self): ...
        #- main.py
        import typing
        from typing import cast
        from shop import Shop
        def run(thing):
            shop = {written}
            shop.pay()
        """,
        "shop.pay -> shop.py::Shop.pay (typed local)",
    )


def test_a_cast_of_a_value_to_a_column_type_says_nothing():
    check(
        """
        #- main.py
        from sqlalchemy import Integer, cast
        class Order:
            price = 1
            def pay(self): ...
        def run():
            total = cast(Order.price, Integer)
            total.pay()
        """
    )


# The last resort


def test_a_unique_method_is_found_behind_an_unknown_receiver():
    check(
        """
        #- main.py
        def run(thing):
            thing.settle_account()
            thing[0].settle_account()
        #- shop.py
        class Shop:
            def settle_account(self): ...
        """,
        "thing.settle_account -> shop.py::Shop.settle_account (unique name)",
        "thing[].settle_account -> shop.py::Shop.settle_account (unique name)",
    )


@pytest.mark.parametrize("name", ["pay", "get", "append", "forward", "build"])
def test_short_and_everyday_names_are_not_guessed(name):
    check(
        f"""
        #- main.py
        def run(thing): thing.{name}()
        #- shop.py
        class Shop:
            def {name}(self): ...
        """
    )


def test_a_method_of_an_unknown_receiver_has_its_few_definitions_nearest_first():
    check(
        """
        #- shop/main.py
        def run(thing): thing.settle()
        #- a.py
        class A:
            def settle(self): ...
        #- shop/b.py
        class B:
            def settle(self): ...
        """,
        "thing.settle -> shop/b.py::B.settle (same name)",
        "thing.settle -> a.py::A.settle (same name)",
        path="shop/main.py",
    )


def test_names_with_many_definitions_are_not_guessed():
    classes = "".join(f"class C{number}:\n    def settle(self): ...\n" for number in range(4))
    check(f"#- main.py\ndef run(thing): thing.settle()\n#- a.py\n{classes}")


def test_nothing_is_guessed_when_a_base_is_from_outside():
    check(
        """
        #- main.py
        from torch.nn import Module
        class Net(Module):
            def run(self): self.settle_account()
        #- shop.py
        class Shop:
            def settle_account(self): ...
        """
    )


# Other languages


def test_typescript_follows_relative_imports_and_index_files():
    check(
        """
        #- web/main.ts
        import { total } from "./price";
        import { pay } from "./shop";
        function run() { total(); pay(); own(); }
        function own() {}
        #- web/price.ts
        export function total() {}
        #- web/shop/index.ts
        export function pay() {}
        #- other/price.ts
        export function total() {}
        """,
        "total -> web/price.ts::total (import)",
        "pay -> web/shop/index.ts::pay (import)",
        "own -> web/main.ts::own (same file)",
        path="web/main.ts",
    )


def test_go_sees_its_package_and_imported_ones():
    check(
        """
        #- shop/main.go
        package shop
        import "example.com/repo/price"
        func run() { helper(); price.Total() }
        #- shop/helper.go
        package shop
        func helper() {}
        #- price/price.go
        package price
        func Total() {}
        #- other/other.go
        package other
        func helper() {}
        func Total() {}
        """,
        "helper -> shop/helper.go::helper (same package)",
        "price.Total -> price/price.go::Total (module attribute)",
        path="shop/main.go",
    )


def test_javascript_follows_re_exports_and_calls_constructors():
    check(
        """
        #- main.js
        import { Shop, pay } from "./lib";
        import * as price from "./lib/price";
        import React from "react";
        function run() { new Shop(); pay(); price.total(); React.settleAccount(); }
        #- lib/index.js
        export { Shop } from "./shop";
        export * from "./price";
        #- lib/shop.js
        export class Shop { constructor() {} settleAccount() {} }
        #- lib/price.js
        export function pay() {}
        export function total() {}
        """,
        "Shop -> lib/shop.js::Shop (re-export)",
        "Shop -> lib/shop.js::Shop.constructor (constructor)",
        "pay -> lib/price.js::pay (re-export)",
        "price.total -> lib/price.js::total (module attribute)",
        path="main.js",
    )


def test_java_follows_imports_its_package_and_this():
    check(
        """
        #- shop/Main.java
        package shop;
        import com.price.Price;
        class Main {
            void run() { Price.total(); Helper.help(); this.own(); own(); }
            void own() {}
        }
        #- shop/Helper.java
        package shop;
        class Helper { static void help() {} }
        #- com/price/Price.java
        package com.price;
        class Price { static int total() { return 1; } }
        #- com/other/Other.java
        package com.other;
        class Other { static int total() { return 1; } static void help() {} }
        """,
        "Price.total -> com/price/Price.java::Price.total (class attribute)",
        "Helper.help -> shop/Helper.java::Helper.help (class attribute)",
        "this.own -> shop/Main.java::Main.own (self)",
        "own -> shop/Main.java::Main.own (same file)",
        path="shop/Main.java",
    )


def test_c_follows_includes_to_the_source_beside_the_header():
    check(
        """
        #- main.c
        #include "price.h"
        void run() { total(); }
        #- price.h
        int total();
        #- price.c
        int total() { return 1; }
        #- other.c
        int total() { return 2; }
        """,
        "total -> price.c::total (same package)",
        path="main.c",
    )


def test_languages_do_not_call_each_other_by_name():
    check(
        """
        #- main.js
        function run(x) { x.settleAccount(); }
        #- shop.py
        class Shop:
            def settleAccount(self): ...
        """,
        path="main.js",
    )


# Names dependencies for directly


def test_any_dotted_name_is_resolved_from_a_scope():
    graph = repository(f"#- main.py\nfrom store import Store\ndef run(s: Store):\n    s\n{SHOP.strip()}")
    run = next(i for i, d in enumerate(graph.files["main.py"].definitions) if d.name == "run")
    assert resolve(graph, "main.py", run, "s.close")[0][:2] == ("base.py", "Base.close")
    assert resolve(graph, "main.py", run, "s")[0] == ("store.py", "Store", "typed local")
    assert resolve(graph, "main.py", MODULE_SCOPE, "s") == ()
    assert resolve(graph, "gone.py", MODULE_SCOPE, "s") == ()


def test_every_way_is_a_documented_word():
    graph = repository(f"#- main.py\nfrom store import *\ns = open_store()\ns.close()\nStore()\n{SHOP.strip()}")
    assert {edge.how for path in graph.files for edge in graph.call_edges(path)} <= set(HOW)


@pytest.mark.parametrize("dotted", ["", ".", "?", "?.x", "()", "a..b", "super()", "self", "a" * 10_000, "a()()" * 50])
def test_odd_names_resolve_to_nothing(dotted):
    graph = repository("#- main.py\nx = 1\n")
    assert resolve(graph, "main.py", MODULE_SCOPE, dotted) == ()


def test_endless_chains_are_cut():
    lines = ["def f(): ...", "a0 = f", *(f"a{i + 1} = a{i}" for i in range(3000)), "a3()", "a3000()"]
    graph = CodeGraph.build([parse_file("main.py", "\n".join(lines))])
    assert calls(graph, "main.py") == ["a3 -> main.py::f (same file)"]


# Reachable symbols


def reached(text: str, line: int, path: str = "main.py") -> dict[str, tuple[str, str, bool]]:
    """By expression: the definition, how it is reached, and whether the mention is near."""
    found = reachable_symbols(repository(text), path, line)
    return {r.name: (f"{r.path}::{r.definition.qualified_name}", r.how, r.near) for r in found}


def test_imports_and_their_members_are_in_reach():
    found = reached(f"#- main.py\nfrom store import Store, open_store\nimport base\nx = 1\n{SHOP.strip()}", 2)
    assert found["Store"] == ("store.py::Store", "import", True)
    assert found["Store.load"][1] == "class attribute"
    assert found["Store.close"] == ("base.py::Base.close", "inherited", True)
    assert found["open_store"][0] == "store.py::open_store"
    assert found["open_store().load"][1] == "returned type"
    assert found["base.Base"] == ("base.py::Base", "module attribute", True)


def test_self_typed_names_and_super_are_in_reach_inside_a_method():
    text = """
    #- main.py
    from store import Store
    from base import Base
    class Shop(Base):
        def __init__(self, store: Store):
            self.store = store
        def pay(self, other: Store):
            x = 1
    """
    found = reached(text + textwrap.indent(SHOP, "    "), 6)
    assert found["self.pay"] == ("main.py::Shop.pay", "self", True)
    assert found["self.close"][:2] == ("base.py::Base.close", "inherited")
    assert found["super().close"][:2] == ("base.py::Base.close", "super")
    assert found["self.store.load"] == ("store.py::Store.load", "typed attribute", True)
    assert found["other.load"] == ("store.py::Store.load", "typed local", True)


def test_nearest_mention_comes_first():
    graph = repository(
        """
        #- main.py
        from a import one
        from b import two
        def run():
            two()
            one()
            x = 1
        #- a.py
        def one(): ...
        #- b.py
        def two(): ...
        """
    )
    found = reachable_symbols(graph, "main.py", 5)
    assert [(r.name, r.distance) for r in found if r.how == "import"] == [("one", 1), ("two", 2)]


def test_a_blank_line_at_the_end_belongs_to_the_function_above():
    graph = repository(f"#- main.py\nfrom store import Store\ndef run(s: Store):\n    x = 1\n\n\n{SHOP.strip()}")
    cut = parse_file("main.py", "from store import Store\ndef run(s: Store):\n    x = 1\n\n")
    names = [r.name for r in reachable_symbols(graph.overlay(cut), "main.py", 4)]
    assert "s.load" in names


def test_mentions_after_the_line_do_not_count():
    text = "#- main.py\nfrom shop import settle\nx = 1\nx = 2\nsettle()\n#- shop.py\ndef settle(): ...\n"
    (found,) = reachable_symbols(repository(text), "main.py", 2)
    assert (found.name, found.distance) == ("settle", 2)


# A workspace that is a package itself


@pytest.mark.parametrize(
    ("root_name", "expected"),
    [("shop", ["total -> price/sums.py::total (re-export)", "tax -> price/taxes.py::tax (import)"]), ("store", [])],
)
def test_a_root_that_is_a_package_is_imported_by_its_own_name(root_name, expected):
    files = {
        "__init__.py": "",
        "main.py": "from shop.price import total\nfrom shop.price.taxes import tax\ntotal()\ntax()\n",
        "price/__init__.py": "from .sums import total\n",
        "price/sums.py": "def total(): ...\n",
        "price/taxes.py": "def tax(): ...\n",
    }
    parsed = [parse_file(path, text) for path, text in files.items()]
    assert calls(CodeGraph.build(parsed, root_name), "main.py") == expected
    one_by_one = CodeGraph(root_name)
    for file in reversed(parsed):
        one_by_one = one_by_one.with_changes([file])
    assert calls(one_by_one, "main.py") == expected
    assert calls(one_by_one.with_changes(removed=["__init__.py"]), "main.py") == []


def test_a_call_through_an_interface_reaches_its_implementations():
    check(
        """
        #- main.ts
        import type { Till } from "./till";
        export function pay(till: Till) { till.open(); }
        #- till.ts
        export interface Till { open(): void }
        #- drawer.ts
        import type { Till } from "./till";
        export class Drawer implements Till { open() {} }
        export class Door { open() {} }
        """,
        "till.open -> till.ts::Till.open (typed local)",
        "till.open -> drawer.ts::Drawer.open (implementation)",
        path="main.ts",
    )


def test_a_go_interface_is_implemented_by_the_types_with_all_its_methods():
    check(
        """
        #- shop/main.go
        package shop
        type Till interface { Open(); Shut() }
        func Pay(till Till) { till.Open() }
        #- drawer/drawer.go
        package drawer
        type Drawer struct{}
        func (d *Drawer) Open() {}
        func (d *Drawer) Shut() {}
        type Door struct{}
        func (d *Door) Open() {}
        """,
        "till.Open -> shop/main.go::Till.Open (typed local)",
        "till.Open -> drawer/drawer.go::Drawer.Open (implementation)",
        path="shop/main.go",
    )


def test_a_function_that_returns_itself_ends_the_search():
    check(
        """
        #- main.ts
        import { chain } from "./chain";
        chain.settleAccount();
        #- chain.ts
        export function chain() { return chain; }
        """,
        path="main.ts",
    )
