"""Text in, facts of Rust out: types, paths, bindings and modules, also in texts that end at a cursor."""

from __future__ import annotations

from textwrap import dedent

import pytest
from reader_facts import bindings, definitions, lines
from weft.codegraph import FileGraph, parse_file


def parsed(text: str) -> FileGraph:
    return parse_file("src/a.rs", dedent(text))


def check_definitions(text: str, expected: str) -> None:
    assert sorted(definitions(parsed(text))) == lines(expected)


def check_bindings(text: str, expected: str) -> None:
    assert sorted(bindings(parsed(text))) == lines(expected)


def check_local(statement: str, *expected: str) -> None:
    """The bindings of one statement in a function."""
    found = bindings(parsed(f"fn f() {{\n{statement}\n}}\n"))
    assert [line.removeprefix("f | ") for line in found] == list(expected)


def callees(statement: str) -> list[str]:
    return [call.callee for call in parsed(f"fn f() {{\n{statement}\n}}\n").calls]


def imports(text: str) -> list[tuple[str, str, str]]:
    return [(item.local_name, item.module, item.name) for item in parsed(text).imports]


# Types


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Shop", "Shop"),
        ("&Shop", "Shop"),
        ("&'a mut Shop<'a, T>", "Shop"),
        ("*const Shop", "Shop"),
        ("a::b::Shop", "a.b.Shop"),
        ("crate::Shop", "crate.Shop"),
        ("super::Shop", "super.Shop"),
        ("super::super::Shop", "super::super.Shop"),
        ("self::Shop", "Shop"),
        ("Box<Shop>", "Shop"),
        ("Option<&Shop>", "Shop"),
        ("std::rc::Rc<std::cell::RefCell<Shop>>", "Shop"),
        ("Arc<Mutex<Shop>>", "Shop"),
        ("Result<Shop, Error>", "Shop"),
        ("io::Result<Shop>", "Shop"),
        ("CompileResult<'a, Shop>", "Shop"),
        ("CompileResult<'a>", ""),
        ("Cow<'a, Shop>", "Shop"),
        ("Vec<Shop>", "Shop[]"),
        ("&[Shop]", "Shop[]"),
        ("[Shop; 3]", "Shop[]"),
        ("Option<Vec<Box<Shop>>>", "Shop[]"),
        ("HashMap<String, Shop>", "Shop[]"),
        ("Vec<Vec<Shop>>", ""),
        ("Box<dyn Pay + Send>", "Pay"),
        ("&dyn Pay", "Pay"),
        ("impl Pay", "Pay"),
        ("impl Send + Pay + 'static", "Pay"),
        ("impl Iterator<Item = &'a Shop>", "Shop[]"),
        ("Pin<Box<dyn Future<Output = Shop> + Send>>", "Shop"),
        ("impl Into<Shop>", "Shop"),
        ("(Shop, Till)", "Shop"),
        ("impl Fn(Shop) -> Till", ""),
        ("fn(Shop) -> Till", ""),
        ("Self", "Self"),
        ("Option<Self>", "Self"),
        ("Vec<_>", ""),
        ("T", "Pay"),
        ("Vec<T>", "Pay[]"),
        ("U", ""),
        ("I", "Shop[]"),
        ("K", "a.Kind"),
    ],
)
def test_types_are_reduced_to_names(written: str, text: str):
    (function,) = parsed(
        f"fn f<T: Pay + Send, U, I: Iterator<Item = Shop>, K>() -> {written} where K: a::Kind {{}}\n"
    ).definitions
    assert function.returns == text


def test_a_type_that_is_cut_has_no_text():
    assert definitions(parsed("fn f() -> Option<")) in ([], ["function f"])


# Definitions


def test_impl_blocks_and_traits():
    check_definitions(
        """
        pub trait Pay: Base + Send { fn pay(&self) -> Till; fn default() {} }
        struct Shop<T> { x: T }
        impl<T> Shop<T> { pub fn new() -> Self {} }
        impl<T> money::Pay for Shop<T> { fn pay(&self) -> Till { fn inner() {} } }
        impl<T: Pay> Pay for &T {}
        impl std::fmt::Display for a::Shop { fn fmt(&self) {} }
        impl dyn Pay { fn ext(&self) {} }
        type Shops = Vec<Shop<u8>>;
        type Result<T> = std::result::Result<T, Error>;
        macro_rules! shop { () => {} }
        mod inner { pub fn g() {} }
        """,
        """
        trait Pay(Base)
        method Pay.pay -> Till
        method Pay.default
        struct Shop
        impl Shop
        method Shop.new -> Self
        impl Shop(money.Pay)
        method Shop.pay -> Till
        function Shop.pay.inner
        impl T(Pay)
        impl a.Shop
        method a.Shop.fmt
        impl Pay
        method Pay.ext
        type Shops(Shop[])
        type Result
        macro shop
        module inner
        function inner.g
        """,
    )


def test_an_impl_of_an_iterator_or_a_pointer_has_the_associated_type_as_its_base():
    check_definitions(
        """
        impl Iterator for Shops { type Item = Shop; }
        impl<'a> IntoIterator for &'a Till { type Item = &'a Shop; type IntoIter = X; }
        impl Deref for Guard { type Target = Shop; }
        impl IntoFuture for Request { type Output = Answer; }
        impl Clone for Shop {}
        """,
        """
        impl Shops(Shop[])
        type Shops.Item(Shop)
        impl Till(Shop[])
        type Till.Item(Shop)
        type Till.IntoIter(X)
        impl Guard(Shop)
        type Guard.Target(Shop)
        impl Request(Answer)
        type Request.Output(Answer)
        impl Shop
        """,
    )


# Fields, variants, constants


def test_fields_and_variants():
    check_bindings(
        """
        struct Shop<T: Pay> { till: Box<Till>, pub all: Vec<T>, n: u8 }
        struct Pair(pub Till, Option<Shop>);
        enum Kind { Empty, Full(Shop, u8), Named { till: Till } }
        const A: Shop = f();
        static B: Lazy<Till> = g();
        impl Shop { const C: Kind = Kind::Empty; }
        """,
        """
        Shop | self.till: Till
        Shop | self.all: Pay[]
        Shop | self.n: u8
        Pair | self.0: Till
        Pair | self.1: Shop
        Kind | self.Empty: Kind
        Kind | self.Full: Kind
        Kind | self.Full#0: Shop
        Kind | self.Full#1: u8
        Kind | self.Named: Kind
        Kind | self.Named#till: Till
        A: Shop
        B: Till
        Shop | self.C: Kind
        """,
    )


def test_parameters():
    check_bindings(
        """
        impl<T: Pay> Shop<T> {
            fn f<U>(&mut self, mut a: &mut T, (b, c): (Till, Vec<Shop>), State(d): State<Arc<Till>>, e: U, _: u8) {}
        }
        """,
        """
        Shop | T = Pay
        Shop.f | a: Pay
        Shop.f | b: Till
        Shop.f | c: Shop[]
        Shop.f | d: Till
        Shop.f | e = ?
        """,
    )


# Variables


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("let x: Shop = y;", "x: Shop"),
        ("let mut x = Shop::new(1)?;", "x = Shop.new()"),
        ("let x = Shop { till: 1 };", "x: Shop"),
        ("let x = &mut a.b;", "x = a.b"),
        ("let x = f().await?;", "x = f()"),
        ("let x = f::<u8>();", "x = f()"),
        ("let x = a.b()?.c;", "x = a.b().c"),
        ("let x = xs[1];", "x = xs[]"),
        ("let x = &xs[1..];", "x = xs"),
        ("let x = y as Shop;", "x: Shop"),
        ("let x = Arc::new(Mutex::new(Shop::new()));", "x = Shop.new()"),
        ("let x = Some(y);", "x = y"),
        ("let x = Arc::clone(&y);", "x = y"),
        ("let x = std::mem::take(&mut self.a);", "x = self.a"),
        ("let x = Kind::Full(1);", "x: Kind"),
        ("let x = a::Kind::Full(1);", "x: a.Kind"),
        ("let x = Kind::Empty;", "x = Kind.Empty"),
        ("let x = Vec::<Shop>::new();", "x: Shop[]"),
        ("let x = Self::new();", "x = Self.new()"),
        ("let x = crate::a::f();", "x = crate.a.f()"),
        ("let x = super::f();", "x = super.f()"),
        ("let x = <Shop as Pay>::f();", "x = Shop.f()"),
        ("let x = <Self as Pay>::f();", "x = Pay.f()"),
        ('let x = "a";', "x: str"),
        ("let x = vec![1];", "x: Vec"),
        ("let x = if a { b() } else { c() };", "x = b()"),
        ("let x = unsafe { f() };", "x = f()"),
        ("let x = |y: Shop| y.pay();", "x = ?\ny: Shop"),
        ("let x;", "x = ?"),
        ("let x = x();", ""),
        ("let x = x;", ""),
        ("let (a, b) = (f(), g.h);", "a = f()\nb = g.h"),
        ("let (a, b) = f();", "a = f()\nb = ?"),
        ("let Some(x) = y else { return };", "x = y"),
        ("if let Ok(x) = f() {}", "x = f()"),
        ("if let Err(x) = f() {}", "x = ?"),
        ("if let Some(x) = y && let Some(z) = x.w {}", "x = y\nz = x.w"),
        ("while let Some(x) = it.next() {}", "x = it.next()"),
        ("let Shop { till, all: Some(y), .. } = z;", "till = Shop.till\ny = Shop.all"),
        ("let Pair(a, _) = z;", "a = Pair.0"),
        ("if let Kind::Full(x, ref y) = z {}", "x = Kind.Full#0\ny = Kind.Full#1"),
        ("if let a::Kind::Named { till } = z {}", "till = a.Kind.Named#till"),
        ("match y { Some(x) => {}, None => {}, o => {} }", "x = y\no = y"),
        ("match y { n @ Kind::Full(m) => {} }", "n = y\nm = Kind.Full#0"),
        ("for x in &xs {}", "x = xs[]"),
        ("for x in self.all.iter() {}", "x = self.all.iter()[]"),
        ("for (i, x) in xs.iter().enumerate() {}", "i = ?\nx = xs.iter()[]"),
        ("for (k, v) in &map {}", "k = ?\nv = map[]"),
        ("for (a, b) in xs.iter().zip(ys) {}", "a = xs.iter()[]\nb = ys[]"),
        ("for i in 0..3 {}", "i = ?"),
        ("xs.iter().for_each(|x| x.pay());", "x = xs.iter()[]\nx = ?"),
        ("opt.map(|x| x.pay());", "x = opt[]\nx = opt\nx = ?"),
        ("opt.and_then(|x: Shop| x.pay());", "x: Shop"),
        ("xs.fold(0, |n, x| n);", "x = xs[]\nn = ?\nx = ?"),
        ("xs.sort_by(|a, b| a.cmp(b));", "a = xs[]\nb = xs[]\na = ?\nb = ?"),
        ("opt.map_or_else(|| 1, |x| x.pay());", "x = opt\nx = ?"),
        ("go(|dir: Dir| dir);", "dir: Dir"),
        ("go!(|dir: Dir, mut cmd: &a::Cmd| {});", "dir: Dir\ncmd: a.Cmd"),
        ("go! { let x = dir.f()?; let y: Shop = z; }", "x = dir.f()\ny: Shop"),
    ],
)  # fmt: skip
def test_variables(statement: str, expected: str):
    check_local(statement, *[line for line in expected.split("\n") if line])


def test_patterns_of_variants_that_a_star_import_brings():
    text = "use std::io::*;\nfn f(k: Kind) { use crate::a::Kind::*; match k { Full(x) => {} } }\n"
    assert bindings(parsed(text)) == ["f | k: Kind", "f | x = crate.a.Kind.Full#0", "f | x = Full.0"]


# Calls


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("a.b()?.c().await.d();", ["a.b().c().d", "a.b().c", "a.b"]),
        ("self.0.pay();", ["self.0.pay"]),
        ("Shop { a: 1 }.pay();", ["Shop().pay"]),
        ("Shop::<T>::new();", ["Shop.new"]),
        ("Vec::<Shop>::new();", ["Vec.new"]),
        ("a::b::f::<u8>();", ["a.b.f"]),
        ("::a::f();", ["a.f"]),
        ("(&mut *a).pay();", ["a.pay"]),
        ("xs.iter().map(|x| x).collect::<Vec<_>>();", ["xs.iter().map().collect", "xs.iter().map", "xs.iter"]),
        ('"a".parse();', ["str().parse"]),
        ("(1 + 2).pow();", ["?.pow"]),
        ("Arc::new(Shop::new()).pay();", ["Shop.new().pay", "Arc.new", "Shop.new"]),
        ("vec![f(1)];", ["vec", "f"]),
        ("assert!(Shop::new(1)?.pay(x));", ["assert", "Shop.new", "Shop.new().pay"]),
        ("assert!(self.a.b(), crate::q::w(2));", ["assert", "self.a.b", "crate.q.w"]),
        ("crate::shop!();", ["crate.shop"]),
        ("#[cfg(any(unix))] f();", ["f"]),
        ("f()()();", ["f()()", "f()", "f"]),
    ],
)  # fmt: skip
def test_callees(statement: str, expected: list[str]):
    assert callees(statement) == expected


def test_a_type_parameter_calls_functions_of_its_bound():
    file = parsed("impl<T: Pay> Shop<T> { fn f<U: a::Kind>() { T::new(); U::go(); } }")
    assert [call.callee for call in file.calls] == ["Pay.new", "a.Kind.go"]


# Modules


def test_use_declarations():
    assert imports("use a::{b, c as d, e::*, self}; use x; use y as z; use ::q::r; pub use crate::m::Shop as _;") == [
        ("b", "a", "b"),
        ("d", "a", "c"),
        ("", "a::e", "*"),
        ("a", "a", ""),
        ("x", "x", ""),
        ("z", "y", ""),
        ("r", "q", "r"),
        ("_", "crate::m", "Shop"),
    ]


def test_modules_of_other_files():
    text = 'mod a;\n#[cfg(test)]\n#[path = "x/b.rs"]\nmod b;\nextern crate log as l;\nmod c { mod d; use super::f; }\n'
    assert imports(text) == [
        ("a", "self::a", ""),
        ("b", "x/b.rs", ""),
        ("l", "log", ""),
        ("d", "self::c::d", ""),
        ("f", "self", "f"),
    ]


def test_paths_in_an_inline_module_begin_at_the_file():
    text = "mod a { use super::*; mod b { use super::super::x::Y; use self::z; fn f() { %s } } }"
    file = parsed(text % "super::g(); super::super::h(); super::super::super::i();")
    assert [(item.module, item.name) for item in file.imports] == [("self", "*"), ("self::x", "Y"), ("self::a::b", "z")]
    assert [call.callee for call in file.calls] == ["self::.a.g", "self::.h", "super.i"]


# Texts that end at a cursor

WHOLE = """\
use a::Shop;

impl<T: Pay> Till<T> for Shop
where
    T: Send,
{
    const N: Shop = x;

    pub async fn pay<U: Kind>(&self, a: &Shop, b: T) -> Option<Till>
    where
        U: Send,
    {
        let c = a.go();
        for d in a.all.iter() {
            match d.kind() {
                Some(e) => {
                    if let Some(f) = e.till {
                        a.all.iter().map(|g| {
                            g.pay();
                        });
                    }
                }
                _ => {}
            }
        }
    }
}
"""


@pytest.mark.parametrize("end", range(13, 20))
def test_a_text_that_ends_in_a_body_has_the_facts_above(end: int):
    file = parsed("\n".join(WHOLE.split("\n")[:end]) + "\n")
    assert definitions(file) == ["impl Shop(Till)", "method Shop.pay -> Till"]
    expected = ["T = Pay", "self.N: Shop", "a: Shop", "b: Pay", "c = a.go()", "d = a.all.iter()[]", "e = d.kind()"]
    expected += ["f = e.till", "g = a.all.iter()[]"]
    found = [line.rpartition(" | ")[2] for line in bindings(file)]
    n_expected = {13: 5, 14: 6, 15: 6, 16: 7, 17: 8, 18: 9, 19: 9}[end]
    assert set(expected[:n_expected]) <= set(found)
    assert {call.callee for call in file.calls} >= {"a.go"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mod tests {\n    struct Shop {\n        a: Till,\n        b: ", ["module tests", "struct tests.Shop"]),
        ("trait Pay: Base {\n    fn pay(&self) -> Till;\n    fn go(x: Shop) {\n        x.",
         ["trait Pay(Base)", "method Pay.pay -> Till", "method Pay.go"]),
        ("impl Shop {\n    fn new() -> Self {\n        Self {\n            a: f(),\n            b: ",
         ["impl Shop", "method Shop.new -> Self"]),
        ("fn f() {\n    let x: Shop = ", ["function f"]),
    ],
)  # fmt: skip
def test_headers_of_unfinished_definitions(text: str, expected: list[str]):
    assert definitions(parsed(text)) == expected


def test_an_unfinished_variable_is_bound():
    assert bindings(parsed("fn f() {\n    let x: Shop = g(\n")) == ["f | x: Shop"]


@pytest.mark.parametrize(
    "text",
    ["f" + "()" * 3000, "let x = " + "Some(" * 3000, "match " * 2000, "fn f(" + "(" * 3000, "a::" * 3000 + "b()"],
)
def test_long_texts_are_read(text: str):
    assert parsed(f"fn g() {{ {text} }}").n_lines == 1
