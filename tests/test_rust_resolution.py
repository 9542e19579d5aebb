"""Rust: which file is a module, and which definition does a call lead to? Small crates as text, one rule each."""

from __future__ import annotations

import json
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, parse_file, reachable_symbols
from weft.codegraph.modules import ModuleIndex, ModuleQuery, manifest_style, names_affected_by, read_manifest

# Manifests


def facts(text: str) -> dict[str, object]:
    found, problems = read_manifest("Cargo.toml", textwrap.dedent(text))
    assert not problems
    return json.loads(found)


def test_a_cargo_toml_names_crates_and_dependencies():
    assert manifest_style("crates/a/Cargo.toml") == "rust"
    assert manifest_style("Cargo.lock") == ""
    assert facts("""
        [package]
        name = "my-shop"
        autotests = false
        [lib]
        name = "shop"
        path = "lib/root.rs"
        [[bin]]
        name = "till"
        path = "bins/till.rs"
        [[test]]
        name = "all"
        path = "tests/all.rs"
        [dependencies]
        serde = "1"
        pay-core = { path = "../pay", version = "1" }
        money = { package = "real-money", version = "2" }
        till = { workspace = true }
        [dev-dependencies]
        helper.path = "helper"
        [target.'cfg(unix)'.dependencies]
        unix-pay = { path = "unix" }
        [workspace]
        members = ["crates/*"]
        [workspace.dependencies]
        till = { path = "crates/till" }
    """) == {
        "name": "my-shop",
        "crate": "shop",
        "library": "lib/root.rs",
        "targets": ["bins/till.rs", "tests/all.rs"],
        "manual": ["tests"],
        "dependencies": {
            "pay_core": {"path": "../pay"},
            "money": {"package": "real-money"},
            "till": {"workspace": True},
            "helper": {"path": "helper"},
            "unix_pay": {"path": "unix"},
        },
        "shared": {"till": {"path": "crates/till"}},
    }


def test_values_of_other_types_are_ignored():
    assert facts('package = 1\nlib = [2]\nbin = "x"\ndependencies = ["a"]\n[workspace]\ndependencies = 3\n') == {}


@pytest.mark.parametrize("text", ["[package\nname = 1", "x = " + "[" * 3000, "= 2"])
def test_a_broken_cargo_toml_is_named_once(text: str):
    found, (problem,) = read_manifest("a/Cargo.toml", text)
    assert found == ""
    assert problem.startswith("`a/Cargo.toml` is n") and problem.endswith("not used. Correct the file.")


# Files of modules


def modules(files: str, manifests: dict[str, str] | None = None) -> ModuleIndex:
    found = {path: read_manifest(path, text)[0] for path, text in (manifests or {}).items()}
    return ModuleIndex([*files.split(), *found], manifests={path: text for path, text in found.items() if text})


def package(name: str, rest: str = "") -> str:
    return f'[package]\nname = "{name}"\n{rest}'


@pytest.mark.parametrize(
    ("files", "path", "module", "expected"),
    [
        ("src/lib.rs src/a.rs", "src/lib.rs", "self::a", "src/a.rs"),
        ("src/lib.rs src/a/mod.rs", "src/lib.rs", "self::a", "src/a/mod.rs"),
        ("src/lib.rs src/a.rs src/a/b.rs", "src/a.rs", "self::b", "src/a/b.rs"),
        ("src/lib.rs src/a/mod.rs src/a/b.rs", "src/a/mod.rs", "self::b", "src/a/b.rs"),
        ("src/lib.rs src/a.rs src/a/b.rs", "src/a/b.rs", "crate::a", "src/a.rs"),
        ("src/lib.rs src/a.rs src/a/b.rs", "src/lib.rs", "crate::a::b", "src/a/b.rs"),
        ("src/lib.rs src/a.rs src/a/b.rs", "src/a/b.rs", "crate", "src/lib.rs"),
        ("src/lib.rs src/a.rs src/a/b.rs", "src/a/b.rs", "super", "src/a.rs"),
        ("src/lib.rs src/a/mod.rs src/a/b/mod.rs", "src/a/b/mod.rs", "super", "src/a/mod.rs"),
        ("src/main.rs src/a.rs", "src/a.rs", "super", "src/main.rs"),
        ("src/lib.rs src/a.rs src/a/b.rs", "src/a/b.rs", "super::super", "src/lib.rs"),
        ("src/lib.rs src/a.rs src/a/b.rs", "src/a/b.rs", "super::c", None),
        ("src/lib.rs src/a.rs", "src/lib.rs", "super", None),
        ("src/lib.rs src/a.rs", "src/a.rs", "self::", "src/a.rs"),
        ("src/lib.rs src/a.rs", "src/lib.rs", "a", "src/a.rs"),
        ("src/lib.rs src/a.rs", "src/a.rs", "std::io", None),
        ("src/lib.rs x/y.rs", "src/lib.rs", "../x/y.rs", "x/y.rs"),
        ("src/lib.rs src/tests/mod.rs src/tests/a.rs", "src/tests/a.rs", "super", "src/tests/mod.rs"),
        ("src/lib.rs src/bin/go.rs src/bin/go/x.rs", "src/bin/go.rs", "crate", "src/bin/go.rs"),
        ("src/lib.rs src/bin/go/main.rs src/bin/go/x.rs", "src/bin/go/x.rs", "crate", "src/bin/go/main.rs"),
        ("src/lib.rs tests/a.rs tests/common/mod.rs", "tests/a.rs", "self::common", "tests/common/mod.rs"),
        ("src/lib.rs tests/a.rs", "tests/a.rs", "crate", "tests/a.rs"),
    ],
)
def test_modules_of_a_crate(files: str, path: str, module: str, expected: str | None):
    for manifests in ({}, {"Cargo.toml": package("shop")}):
        found = modules(files, manifests).find(ModuleQuery("rust", path, module))
        assert found == (() if expected is None else (expected,))


def test_crates_of_a_workspace():
    found = modules(
        "app/src/main.rs app/tests/t.rs crates/pay/src/lib.rs crates/pay/src/x.rs crates/till/code/root.rs",
        {
            "Cargo.toml": '[workspace]\nmembers = ["app"]\n[workspace.dependencies]\nshared.path = "crates/till"\n',
            "app/Cargo.toml": package(
                "app",
                '[dependencies]\npay-core = { path = "../crates/pay" }\ncash = { path = "../crates/till" }\n'
                'shared.workspace = true\nother = { package = "pay-core" }\n',
            ),
            "crates/pay/Cargo.toml": package("pay-core"),
            "crates/till/Cargo.toml": package("till", '[lib]\nname = "my_till"\npath = "code/root.rs"\n'),
        },
    )
    for module, expected in (
        ("pay_core", "crates/pay/src/lib.rs"),
        ("pay_core::x", "crates/pay/src/x.rs"),
        ("other", "crates/pay/src/lib.rs"),
        ("cash", "crates/till/code/root.rs"),
        ("shared", "crates/till/code/root.rs"),
        ("my_till", "crates/till/code/root.rs"),
        ("app", None),
        ("serde", None),
    ):
        assert found.find(ModuleQuery("rust", "app/src/main.rs", module)) == ((expected,) if expected else ())


def test_the_roots_of_tests_that_a_manifest_names():
    manifest = package("shop", 'autotests = false\n[[test]]\nname = "all"\npath = "tests/all.rs"\n')
    found = modules("src/lib.rs tests/all.rs tests/a.rs", {"Cargo.toml": manifest})
    assert found.find(ModuleQuery("rust", "tests/a.rs", "crate")) == ("tests/all.rs",)
    assert found.find(ModuleQuery("rust", "tests/a.rs", "shop")) == ("src/lib.rs",)


# Calls


def repository(text: str) -> CodeGraph:
    files: dict[str, list[str]] = {}
    for line in textwrap.dedent(text).strip("\n").split("\n"):
        if line.startswith("#- "):
            files[line[3:].strip()] = []
        else:
            files[list(files)[-1]].append(line)
    return CodeGraph.build(parse_file(path, "\n".join(lines) + "\n") for path, lines in files.items())


def check(text: str, *expected: str, path: str = "src/main.rs") -> None:
    """The calls of `path` resolve to exactly these edges."""
    graph = repository(text)
    calls = graph.files[path].calls
    found = [f"{calls[e.call].callee} -> {e.path}::{e.qualified_name} ({e.how})" for e in graph.call_edges(path)]
    assert sorted(found) == sorted(expected)


SHOP = """
    #- src/shop.rs
    use crate::till::Till;
    pub mod deep;
    pub struct Shop { pub till: Option<Box<Till>>, tills: Vec<Till>, names: Vec<String> }
    impl Shop {
        pub fn new() -> Self { Self::build(1) }
        fn build(n: u8) -> Self { Shop {} }
        pub fn till(&self) -> &Till { self.till.as_ref().unwrap() }
        pub fn open(&self) -> Result<Till, Error> {}
    }
    pub fn pay() {}
    #- src/shop/deep.rs
    pub fn dive() { super::pay(); }
    #- src/till.rs
    #[derive(Default)]
    pub struct Till(Coin);
    impl Till { pub fn close(&self) {} pub fn coin(&self) -> Coin { self.0.spin() } }
    pub struct Coin;
    impl Coin { pub fn spin(&self) -> Coin {} }
    pub enum Kind { Open(Till), Shut { till: Till }, Gone }
    impl Kind { pub fn is_open(&self) -> bool {} }
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("shop::pay();", ["shop.pay -> src/shop.rs::pay (module attribute)"]),
        ("crate::shop::pay();", ["crate.shop.pay -> src/shop.rs::pay (module attribute)"]),
        ("deep::dive();", ["deep.dive -> src/shop/deep.rs::dive (module attribute)"]),
        ("shop.till().close();",
         ["shop.till().close -> TILL.close (returned type)", "shop.till -> SHOP.till (typed local)"]),
        ("shop.till.unwrap().close();", ["shop.till.unwrap().close -> TILL.close (returned type)"]),
        ("if let Some(x) = &shop.till { x.close(); }", ["x.close -> TILL.close (typed local)"]),
        ("for x in shop.tills.iter() { x.close(); }", ["x.close -> TILL.close (typed local)"]),
        ("shop.tills.iter().filter(|x| x.close()).next().unwrap().close();",
         ["shop.tills.iter().filter().next().unwrap().close -> TILL.close (returned type)",
          "x.close -> TILL.close (typed local)"]),
        ("shop.names.iter().map(|x| x.close());", []),
        ("shop.open()?.close();",
         ["shop.open().close -> TILL.close (returned type)", "shop.open -> SHOP.open (typed local)"]),
        ("let shop = Shop::new(); shop.open();",
         ["Shop.new -> SHOP.new (class attribute)", "shop.open -> SHOP.open (typed local)"]),
        ("let x = Till::default(); x.close();",
         ["Till.default -> TILL (import)", "x.close -> TILL.close (typed local)"]),
        ("let x = Till(1); x.coin().spin();",
         ["Till -> TILL (import)", "x.coin().spin -> src/till.rs::Coin.spin (returned type)",
          "x.coin -> TILL.coin (typed local)"]),
        ("let k = Kind::Open(t); k.is_open();",
         ["Kind.Open -> src/till.rs::Kind (import)", "k.is_open -> src/till.rs::Kind.is_open (typed local)"]),
        ("match kind { Kind::Open(x) => x.close(), Kind::Shut { till } => till.coin(), Kind::Gone => {} }",
         ["x.close -> TILL.close (typed local)", "till.coin -> TILL.coin (typed local)"]),
        ("Kind::Gone.is_open();", ["Kind.Gone.is_open -> src/till.rs::Kind.is_open (typed attribute)"]),
        ("std::mem::swap(a, b); String::from(x).close(); unknown.close();", []),
        ("let pay = |x| 1; pay(2);", []),
    ],
)  # fmt: skip
def test_calls(body: str, expected: list[str]):
    head = "#- src/main.rs\nmod shop;\nmod till;\nuse shop::{Shop, deep};\nuse crate::till::{Coin, Kind, Till};\n"
    text = head + f"fn run(shop: &Shop, kind: Kind) {{\n{body}\n}}\n" + textwrap.dedent(SHOP)
    check(text, *(line.replace("SHOP", "src/shop.rs::Shop").replace("TILL", "src/till.rs::Till") for line in expected))


def test_calls_between_modules():
    check(SHOP, "super.pay -> src/shop.rs::pay (module attribute)", path="src/shop/deep.rs")
    check(
        SHOP,
        "Self.build -> src/shop.rs::Shop.build (self)",
        path="src/shop.rs",
    )
    check(SHOP, "self.0.spin -> src/till.rs::Coin.spin (typed attribute)", path="src/till.rs")


def test_a_field_and_a_method_of_one_name():
    check(
        """
        #- src/main.rs
        struct Shop { till: Till }
        impl Shop { fn till(&self) -> Coin { self.till.close(); self.till().spin() } }
        struct Till;
        impl Till { fn close(&self) {} fn spin(&self) {} }
        struct Coin;
        impl Coin { fn close(&self) {} fn spin(&self) {} }
        """,
        "self.till.close -> src/main.rs::Till.close (typed local)",
        "self.till().spin -> src/main.rs::Coin.spin (returned type)",
        "self.till -> src/main.rs::Shop.till (self)",
    )


def test_traits():
    text = """
        #- src/main.rs
        mod pay;
        mod shop;
        use pay::Pay;
        use shop::Shop;
        fn run<P: Pay>(p: P, q: &dyn Pay, s: Shop, t: Vec<u8>) {
            p.pay();
            q.twice();
            s.pay();
            s.twice();
            t.twice();
            P::make();
        }
        #- src/pay.rs
        pub trait Pay { fn pay(&self); fn twice(&self) { self.pay() } fn make() -> Self; }
        impl<T> Pay for Vec<T> { fn pay(&self) {} }
        #- src/shop.rs
        use crate::pay;
        pub struct Shop;
        impl pay::Pay for Shop { fn pay(&self) {} }
    """
    check(
        text,
        "p.pay -> src/pay.rs::Pay.pay (typed local)",
        "p.pay -> src/pay.rs::Vec.pay (implementation)",
        "p.pay -> src/shop.rs::Shop.pay (implementation)",
        "q.twice -> src/pay.rs::Pay.twice (typed local)",
        "s.pay -> src/shop.rs::Shop.pay (typed local)",
        "s.twice -> src/pay.rs::Pay.twice (inherited)",
        "t.twice -> src/pay.rs::Pay.twice (trait)",
        "Pay.make -> src/pay.rs::Pay.make (class attribute)",
    )


def test_impl_blocks_in_other_files():
    check(
        """
        #- src/lib.rs
        mod shop;
        mod more;
        #- src/shop.rs
        pub struct Shop { till: Till }
        pub struct Till;
        fn run(s: Shop) { s.more(); s.more().less(); }
        #- src/more.rs
        use super::shop::{Shop, Till};
        impl Shop { pub fn more(&self) -> Till { self.less(); self.till.less(); Self::less() } fn less(&self) {} }
        impl Till { pub fn less(&self) {} }
        """,
        "s.more -> src/more.rs::Shop.more (typed local)",
        "s.more().less -> src/more.rs::Till.less (returned type)",
        "s.more -> src/more.rs::Shop.more (typed local)",
        path="src/shop.rs",
    )


def test_reexports_stars_and_modules_that_share_a_name_with_a_function():
    check(
        """
        #- Cargo.toml
        [package]
        name = "app"
        [dependencies]
        kit = { path = "kit" }
        #- src/main.rs
        use kit::prelude::*;
        use kit::{Kind, serve};
        fn main() { Shop::new(); serve(); kit::serve(); Kind::Open(1); Shut(2); crate::main(); kit::Shop::new(); }
        use kit::Kind::*;
        #- kit/Cargo.toml
        [package]
        name = "kit"
        #- kit/src/lib.rs
        mod shop;
        pub mod serve;
        pub use self::{serve::serve, shop::*};
        pub mod prelude { pub use crate::shop::Shop; }
        #- kit/src/shop.rs
        pub struct Shop;
        impl Shop { pub fn new() -> Self {} }
        pub enum Kind { Open(u8), Shut(u8) }
        #- kit/src/serve.rs
        pub fn serve() {}
        """,
        "Shop.new -> kit/src/shop.rs::Shop.new (class attribute)",
        "serve -> kit/src/serve.rs::serve (import)",
        "kit.serve -> kit/src/serve.rs::serve (import)",
        "Kind.Open -> kit/src/shop.rs::Kind (re-export)",
        "crate.main -> src/main.rs::main (module attribute)",
        "kit.Shop.new -> kit/src/shop.rs::Shop.new (class attribute)",
    )


def test_variants_with_the_names_of_their_payloads():
    check(
        """
        #- src/main.rs
        struct Get;
        impl Get { fn apply(&self) {} }
        enum Command { Get(Get) }
        impl Command {
            fn run(self) {
                use Command::*;
                match self { Get(cmd) => cmd.apply() }
            }
            fn again(self) { if let Command::Get(cmd) = self { cmd.apply() } }
        }
        """,
        "cmd.apply -> src/main.rs::Get.apply (typed local)",
        "cmd.apply -> src/main.rs::Get.apply (typed local)",
    )


def test_inline_modules_see_the_file_around_them():
    check(
        """
        #- src/main.rs
        fn pay() {}
        struct Shop;
        impl Shop { fn open() -> Shop {} }
        mod tests {
            use super::*;
            use super::Shop as S;
            mod deep { pub fn pay() { super::pay(); super::super::pay(); } }
            fn pay() { super::pay(); deep::pay(); Shop::open(); S::open(); pay(); }
        }
        """,
        "self::.tests.pay -> src/main.rs::tests.pay (class attribute)",
        "self::.pay -> src/main.rs::pay (module attribute)",
        "self::.pay -> src/main.rs::pay (module attribute)",
        "deep.pay -> src/main.rs::tests.deep.pay (class attribute)",
        "Shop.open -> src/main.rs::Shop.open (class attribute)",
        "S.open -> src/main.rs::Shop.open (class attribute)",
        "pay -> src/main.rs::tests.pay (same file)",
    )


def test_macros_and_functions_of_the_repository():
    check(
        """
        #- src/main.rs
        mod help;
        fn run() { shout!(whisper()); whisper(); println!("{}", loud()); let loud: Loud = loud(); loud.cry(); }
        fn loud() -> Loud {}
        struct Loud;
        impl Loud { fn cry(&self) {} }
        #- src/help.rs
        macro_rules! shout { () => {} }
        fn whisper() {}
        """,
        "shout -> src/help.rs::shout (unique name)",
        "loud -> src/main.rs::loud (same file)",
        "loud -> src/main.rs::loud (same file)",
        "loud.cry -> src/main.rs::Loud.cry (typed local)",
    )


def test_names_in_macros_may_be_keywords_elsewhere():
    check(
        """
        #- src/main.rs
        struct Shop;
        impl Shop { fn default() -> Shop {} fn union(&self) {} fn gen() {} }
        fn run(s: Shop) { all![Shop::default(), s.union(), Shop::gen(), Shop::default().union()]; }
        """,
        "Shop.default -> src/main.rs::Shop.default (class attribute)",
        "s.union -> src/main.rs::Shop.union (typed local)",
        "Shop.gen -> src/main.rs::Shop.gen (class attribute)",
        "Shop.default -> src/main.rs::Shop.default (class attribute)",
        "Shop.default().union -> src/main.rs::Shop.union (returned type)",
    )


def test_a_wrapper_type_of_the_repository_has_the_methods_of_its_target():
    check(
        """
        #- src/main.rs
        struct Guard(Shop);
        impl std::ops::Deref for Guard { type Target = Shop; }
        struct Shop;
        impl Shop { fn pay(&self) {} }
        struct Shops;
        impl Iterator for Shops { type Item = Shop; fn next(&mut self) -> Option<Self::Item> {} }
        type Alias = Box<Shop>;
        fn run(g: Guard, mut all: Shops, a: Alias) {
            g.pay();
            for s in all { s.pay(); }
            all.next().unwrap().pay();
            a.pay();
        }
        """,
        "g.pay -> src/main.rs::Shop.pay (inherited)",
        "s.pay -> src/main.rs::Shop.pay (typed local)",
        "all.next().unwrap().pay -> src/main.rs::Shop.pay (inherited)",
        "all.next -> src/main.rs::Shops.next (typed local)",
        "a.pay -> src/main.rs::Shop.pay (inherited)",
    )


# Changes

LINES = (
    "mod kit;",
    "mod shop;",
    "pub use kit::Kit;",
    "pub use crate::shop::*;",
    "use super::*;",
    "use kit_core::{Kit, Pay};",
    "use kit_core::shop::PayAll as Pay;",
    "pub struct Kit { pub shop: Shop }",
    "pub struct Shop;",
    "impl Shop { pub fn pay_all(&self) -> Kit {} }",
    "impl Kit { pub fn new_kit() -> Self { Self::new_kit() } pub fn pay_all(&self) {} }",
    "impl Pay for Shop { fn pay_one(&self) {} }",
    "pub trait Pay { fn pay_one(&self); fn pay_two(&self) { self.pay_one() } }",
    "fn run(s: Shop, k: Kit) { s.pay_all().pay_all(); k.shop.pay_one(); s.pay_two(); }",
    "fn more(x: Other) { Kit::new_kit(); crate::shop::make(); x.pay_two(); kit_core::make(); shout!(); }",
    "pub fn make() -> Shop {}",
    "macro_rules! shout { () => {} }",
    "mod inner { use super::*; fn go(s: Shop) { super::make(); s.pay_all(); } }",
    "pub enum Kind { Open(Shop) }",
    "fn kind(k: Kind) { if let Kind::Open(s) = k { s.pay_all(); } }",
)
MANIFESTS = (
    '[package]\nname = "kit-core"\n',
    '[package]\nname = "app"\n[dependencies]\nkit_core = { path = "kit" }\n',
    '[package]\nname = "app"\n[lib]\nname = "kit_core"\npath = "src/shop.rs"\n',
    '[workspace]\nmembers = ["kit"]\n',
    "[package",
)
PATHS = (
    "Cargo.toml", "src/lib.rs", "src/main.rs", "src/kit.rs", "src/kit/mod.rs", "src/shop.rs", "src/kit/shop.rs",
    "tests/all.rs", "kit/Cargo.toml", "kit/src/lib.rs", "kit/src/shop.rs",
)  # fmt: skip


def content_of(path: str) -> st.SearchStrategy[str]:
    if path.endswith(".toml"):
        return st.sampled_from(MANIFESTS)
    return st.lists(st.sampled_from(LINES), max_size=7).map("\n".join)


states = st.fixed_dictionaries({}, optional={path: content_of(path) for path in PATHS})
steps = st.lists(
    st.lists(
        st.sampled_from(PATHS).flatmap(lambda path: st.tuples(st.just(path), st.none() | content_of(path))),
        min_size=1,
        max_size=3,
    ).map(dict),
    max_size=4,
)


def everything(graph: CodeGraph) -> dict[str, object]:
    return {
        path: (
            graph.call_edges(path),
            [graph.callers(path, definition.qualified_name) for definition in file.definitions],
            set(reachable_symbols(graph, path, file.n_lines)),
        )
        for path, file in graph.files.items()
    }


@settings(max_examples=150, deadline=None)
@given(states, steps)
def test_changes_give_what_a_build_from_scratch_gives(state: dict[str, str], changes: list[dict[str, str | None]]):
    graph = CodeGraph.build(parse_file(path, text) for path, text in state.items())
    for step in changes:
        files = [parse_file(path, text) for path, text in step.items() if text is not None]
        graph = graph.with_changes(files, [path for path, text in step.items() if text is None])
        assert everything(graph) == everything(CodeGraph.build(graph.files.values()))


MODULES = "crate crate::kit self::kit super super::shop kit kit_core kit_core::shop app crate::kit::shop self:: ../x.rs"
QUERIES = [ModuleQuery("rust", path, module) for path in PATHS if path.endswith(".rs") for module in MODULES.split()]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from([path for path in PATHS if path.endswith(".rs")]), min_size=1, unique=True),
    st.dictionaries(st.sampled_from(("Cargo.toml", "kit/Cargo.toml")), st.sampled_from(MANIFESTS[:4])),
)
def test_a_new_path_changes_only_queries_that_contain_an_affected_name(paths: list[str], manifests: dict[str, str]):
    before, after = modules(" ".join(paths[1:]), manifests), modules(" ".join(paths), manifests)
    names = names_affected_by(paths[0], before, after)
    for query in QUERIES:
        if not any(name in query.module or name in query.directory for name in names):
            assert before.find(query) == after.find(query)
