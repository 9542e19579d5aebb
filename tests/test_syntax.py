"""Text in, `FileGraph` out: every language's facts as lines of text, and the tree against a plain walk of its own."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tree_sitter import Node, Parser
from weft.codegraph import FileGraph, SyntaxTree, parse_file, syntax
from weft.codegraph.file_graph import MODULE_SCOPE
from weft.languages import PARSED, grammar, language_named, language_of
from weft.languages.dotted import class_of_annotation, dotted_name


def facts_of(file: FileGraph, only: str = "") -> list[str]:
    """What a file says, a line for each fact, lines counted from 1; `only` names one kind of facts."""

    def within(scope: int) -> str:
        return "" if scope == MODULE_SCOPE else f"{file.definitions[scope].qualified_name}: "

    def bound(value: str, how: str) -> str:
        return {"annotation": f": {value}", "call": f" = {value}()", "alias": f" = {value}", "unknown": " = ?"}[how]

    found = {
        "definitions": [
            f"{d.kind} {d.qualified_name}{'(' + ', '.join(d.bases) + ')' if d.bases else ''}"
            f"{' -> ' + d.returns if d.returns else ''} {d.start_line + 1}-{d.end_line}"
            for d in file.definitions
        ],
        "calls": [f"{within(c.scope)}call {c.callee}" for c in file.calls],
        "imports": [
            f"{within(i.scope)}import {i.name + ' from ' if i.name else ''}{'.' * i.level}{i.module}"
            f"{' as ' + i.local_name if i.local_name else ''}"
            for i in file.imports
        ],
        "bindings": [f"{within(b.scope)}{b.name}{bound(b.value, b.how)}" for b in file.bindings],
    }
    return found[only] if only else [line for lines in found.values() for line in lines]


def told(text: str, path: str = "a.py", only: str = "") -> list[str]:
    return facts_of(parse_file(path, dedent(text).strip("\n")), only)


def check(text: str, expected: str, path: str = "a.py", only: str = "") -> None:
    """The facts of a text are these, in any order."""
    assert sorted(told(text, path, only)) == sorted(dedent(expected).strip().splitlines())


# Python: definitions


def test_definitions_know_their_kind_bases_and_lines():
    check(
        """
        @dataclass(frozen=True)
        class Shop(Base[T], money.Till, metaclass=Meta):
            async def pay(self): ...

            @property
            def till(self):
                def count(): ...
        def open(): ...
        """,
        """
        class Shop(Base, money.Till) 1-7
        method Shop.pay 3-3
        method Shop.till 5-7
        function Shop.till.count 7-7
        function open 8-8
        call dataclass
        """,
    )


def test_header_line_is_the_one_with_the_name():
    (definition,) = parse_file("a.py", "@one\n@two\ndef f():\n    pass\n").definitions
    assert (definition.start_line, definition.header_line, definition.end_line) == (0, 2, 4)


@pytest.mark.parametrize(
    ("annotation", "name"),
    [
        ("Foo", "Foo"),
        ("m.n.Foo", "m.n.Foo"),
        ("'Foo'", "Foo"),
        ("Optional[Foo]", "Foo"),
        ("typing.Optional['m.Foo']", "m.Foo"),
        ("Foo | None", "Foo"),
        ("None | 'Foo'", "Foo"),
        ("Union[Foo, None]", "Foo"),
        ("Type[Foo]", "Foo"),
        ("type[Foo]", "Foo"),
        ("Annotated[Foo, Bar(1)]", "Foo"),
        ("ClassVar[Optional[Foo]]", "Foo"),
        ("List[Foo]", "Foo[]"),
        ("Optional[Dict[str, Foo]]", "Foo[]"),
        ("Callable[[A], B]", "Callable"),
        ("Union[Foo, Bar]", ""),
        ("Foo | Bar", ""),
        ("None", ""),
        ("", ""),
        ("[Foo]", ""),
        ("f(x)", ""),
        ("Optional[" * 300 + "]" * 300, ""),
    ],
)
def test_an_annotation_is_reduced_to_its_class(annotation: str, name: str):
    assert class_of_annotation(annotation) == name


def test_return_annotations_are_reduced_too():
    check("def f() -> Optional['m.Shop']: ...", "function f -> m.Shop 1-1")


# Python: calls


def test_callees_are_dotted_texts():
    check(
        """
        pay(); shop.pay(); self.store.load(1)
        super().load(); Shop(x).pay(y(z))
        (shop
           .till
           .count())
        items[0].pay(); "".join(x); (await load()).go(); -(a + b).neg()
        f()(); handlers[x]()
        """,
        """
        call pay
        call shop.pay
        call self.store.load
        call super().load
        call super
        call Shop().pay
        call Shop
        call y
        call shop.till.count
        call items[].pay
        call ?.join
        call load().go
        call load
        call ?.neg
        call handlers[]
        call f()
        call f
        """,
    )


def test_calls_stand_in_their_scope():
    check(
        """
        @route("/")
        def page(x=default()):
            return [item(i) for i in x] + f"{shown(x)}"
        class A:
            n = made()
        go(lambda: later())
        """,
        """
        call route
        page: call default
        page: call item
        page: call shown
        A: call made
        call go
        call later
        """,
        only="calls",
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a.b.c", "a.b.c"),
        ("a . b", "a.b"),
        ("std::vector<int>::of", "std.vector.of"),
        ("this->store->load", "this.store.load"),
        ("$this?->store", "this.store"),
        (r"\X\Foo", "X.Foo"),
        ("a?.b!.c", "a.b.c"),
        ("f(')').g", "f().g"),
        ("f(x, g(y))(z).h", "f()().h"),
        ("new Shop(1).pay", "Shop().pay"),
        ("f::<u8>", "f"),
        ("<Shop as Pay>::pay", "pay"),
        ("(*fp)", "fp"),
        ("a[0].b", "a[].b"),
        ("(a + b).c", "?.c"),
        ("a[0]", "a[]"),
        ("lambda: 1", ""),
        ("function () {}", ""),
        ("", ""),
        ("a.", ""),
        ("a" + "().a" * 12, "?.a"),
        ("x" + "(y)" * 500 + ".go", "?.go"),
        ("f(" * 500, "f()"),
    ],
)
def test_a_dotted_name_drops_arguments_and_sigils(text: str, name: str):
    assert dotted_name(text[:240] if text.startswith("f(f(") else text) == name


# Python: imports


def test_imports_of_every_form():
    check(
        """
        import a.b, c.d as e
        from . import f, g as h
        from ..m.n import (i, j as k,)
        from o import *
        def lazy():
            from p import q
        try:
            import r
        except ImportError:
            r = None
        if TYPE_CHECKING:
            from s . t import u
        """,
        """
        import a.b as a
        import c.d as e
        import f from . as f
        import g from . as h
        import i from ..m.n as i
        import j from ..m.n as k
        import * from o
        lazy: import q from p as q
        import r as r
        import u from s.t as u
        """,
        only="imports",
    )


# Python: bindings


def test_parameters_and_locals_know_their_type():
    check(
        """
        def pay(shop: "Shop", x, y=1, *rest: Item, till: Optional[m.Till] = None, **kw):
            a: List[int] = []
            b = Shop(x)
            c = shop.till
            d = await make().it()
            with open(x) as e, (lock() as f): ...
            if (g := find(x)): ...
            try: ...
            except m.Error as h: ...
        """,
        """
        pay: shop: Shop
        pay: x = ?
        pay: y = ?
        pay: rest = ?
        pay: till: m.Till
        pay: kw = ?
        pay: a: int[]
        pay: b = Shop()
        pay: c = shop.till
        pay: d = make().it()
        pay: e = open()
        pay: f = lock()
        pay: g = find()
        pay: h: m.Error
        """,
        only="bindings",
    )


def test_attributes_belong_to_the_class():
    check(
        """
        class Shop:
            till: Till
            log = make_log()
            def __init__(self, store, x=None):
                self.store = store
                self.cache: Cache = {}
                def later():
                    self.done = Done()
            @classmethod
            def of(cls):
                cls.one = Shop()
                other.two = Shop()
                self.till.deep = Shop()
        self.stray = Shop()
        """,
        """
        Shop: self.till: Till
        Shop: self.log = make_log()
        Shop.__init__: store = ?
        Shop.__init__: x = ?
        Shop: self.store = store
        Shop: self.cache: Cache
        Shop: self.done = Done()
        Shop: self.one = Shop()
        """,
        only="bindings",
    )


def test_every_side_that_a_value_may_come_from_is_noted():
    check(
        """
        a = store or Store()
        b = Store() if store is None else store
        c, (d, e) = f(), g()
        h = i = j()
        k = ready and Store()
        n = None
        o = [] or {}
        for p, (q, *r) in s: ...
        """,
        """
        a = store
        a = Store()
        b = Store()
        b = store
        c = f()
        d = ?
        e = ?
        h = j()
        i = j()
        k = Store()
        o = ?
        p = ?
        q = ?
        r = ?
        """,
        only="bindings",
    )


# Python: broken code


@pytest.mark.parametrize(
    "last_line",
    [
        "        self.sto",
        "        self.",
        "        x = (",
        "        pay(1,\n            2, ",
        "        for x in ",
        "        ",
    ],
)
def test_half_typed_code_keeps_what_stands_around_it(last_line: str):
    found = told(
        "from store import Store\nclass Shop(Base):\n    def close(self): ...\n"
        f"    def pay(self, till: Till):\n        till.open()\n{last_line}"
    )
    assert "import Store from store as Store" in found
    assert "Shop.pay: till: Till" in found
    assert "Shop.pay: call till.open" in found
    names = [line.rsplit(" ", 1)[0] for line in found if line.startswith(("class", "method"))]
    assert names == ["class Shop(Base)", "method Shop.close", "method Shop.pay"]


def test_an_open_bracket_does_not_end_the_class_around_it():
    check(
        """
        class Shop(Base):
            def close(self): ...
            def pay(self):
                x = [one(1),
           two(2),
                three(3),
        """,
        """
        class Shop(Base) 1-6
        method Shop.close 2-2
        method Shop.pay 3-6
        Shop.pay: call one
        Shop.pay: call two
        Shop.pay: call three
        """,
    )


def test_headers_in_broken_code_end_where_the_indentation_does():
    found = told(
        """
        class A:
            def f(self):
                x = (
            def g(self):
                y = [
        class B:
            def h(self):
                {(
        """,
        only="definitions",
    )
    assert [line.split()[1] for line in found] == ["A", "A.f", "A.g", "B", "B.h"]


def test_a_broken_place_is_a_problem_with_its_line():
    assert parse_file("a.py", "x = 1\nx = )\n").problems == ("syntax error on line 2",)
    assert parse_file("a.py", "def f(:\n").problems == ("a bracket or a name is missing",)
    assert parse_file("a.py", "x = 1\n").problems == ()


# Other languages


@pytest.mark.parametrize("path", ["a.js", "a.ts", "a.tsx"])
def test_javascript(path: str):
    check(
        """
        import one, {two as three} from './m.js';
        import * as all from "x";
        import 'side';
        const fs = require('fs'), {q, r: s} = require('./z');
        export {foo as bar} from './foo';
        export * from './star';
        export default class Shop extends base.Store {
          total = (a) => sum(a);
          constructor(db) { super(db); this.store = new Store(db); }
          async pay(x) {
            return this.store.load(x).then(y => y.go());
          }
        }
        const h = async x => { f?.(x) }, C = class extends D {};
        module.exports.run = function () {};
        Shop.prototype.stop = function () {};
        const o = { p() {}, t: () => items[0].t(), 'u-v': () => 1 };
        """,
        """
        class Shop(base.Store) 7-13
        method Shop.total 8-8
        method Shop.constructor 9-9
        method Shop.pay 10-12
        function h 14-14
        class C(D) 14-14
        function run 15-15
        function Shop.stop 16-16
        object o 17-17
        function o.p 17-17
        function o.t 17-17
        call require
        call require
        Shop.total: call sum
        Shop.constructor: call super
        Shop.constructor: call Store
        Shop.pay: call this.store.load().then
        Shop.pay: call this.store.load
        Shop.pay: call y.go
        h: call f
        o.t: call items[].t
        import default from ./m.js as one
        import two from ./m.js as three
        import x as all
        import fs as fs
        import q from ./z as q
        import r from ./z as s
        import foo from ./foo as bar
        import * from ./star
        default = Shop
        Shop.total: a = ?
        Shop.total: () = sum()
        Shop.constructor: db = ?
        Shop: self.store = Store()
        Shop.pay: x = ?
        Shop.pay: y = this.store.load()
        Shop.pay: y = ?
        Shop.pay: () = this.store.load().then()
        h: x = ?
        o.t: () = items[].t()
        """,
        path,
    )


def test_typescript():
    check(
        """
        import type { A } from './a';
        import x = require('y');
        export abstract class Shop<T> extends Base<T> implements I, m.J {
          private log = (s: string): void => write(s);
          abstract close(): void;
          pay<U>(x: number): Promise<Foo> { return this.store.load<number>(x)!; }
        }
        interface I extends K { go(x: string): Foo }
        type Alias = string | Foo;
        enum Color { Red }
        namespace N.M { export function g(): void {} }
        """,
        """
        class Shop(Base, I, m.J) 3-7
        method Shop.log 4-4
        method Shop.close 5-5
        method Shop.pay -> Foo 6-6
        interface I(K) 8-8
        method I.go -> Foo 8-8
        type Alias(Foo) 9-9
        enum Color 10-10
        namespace N.M 11-11
        function N.M.g 11-11
        Shop.log: call write
        Shop.pay: call this.store.load
        import A from ./a as A
        import y as x
        Shop.log: s = ?
        Shop.pay: x = ?
        """,
        "a.ts",
    )


@pytest.mark.parametrize("path", ["a.jsx", "a.tsx"])
def test_elements_call_their_components(path: str):
    check(
        "const App = () => <Shop.Page on={go()}><p/><Till/></Shop.Page>;",
        """
        App: call Shop.Page
        App: call Till
        App: call go
        """,
        path,
        only="calls",
    )


def test_go():
    check(
        """
        package shop
        import (
            "fmt"
            m "example.com/x/money"
            . "dot"
            _ "blank"
        )
        type Shop struct { store *Store }
        type Payer interface { Pay(x int) error }
        type Num int
        func (s *Shop) Pay(x int) (Foo, error) {
            go func() { s.store.Load(x) }()
            return m.New[int](x), nil
        }
        func (l List[T]) Len() int { return len(l.x) }
        func New() *Shop { return &Shop{} }
        """,
        """
        struct Shop 8-8
        interface Payer 9-9
        method Payer.Pay 9-9
        type Num 10-10
        method Shop.Pay -> Foo 11-14
        method List.Len 15-15
        function New -> Shop 16-16
        Shop.Pay: call s.store.Load
        Shop.Pay: call m.New
        List.Len: call len
        import fmt as fmt
        import example.com/x/money as m
        import * from dot
        Shop: self.store: Store
        Shop.Pay: s: Shop
        Shop.Pay: x = ?
        List.Len: l: List
        """,
        "a.go",
    )


def test_java():
    check(
        """
        package a.b;
        import java.util.List;
        import static a.b.C.run;
        import x.y.*;
        public class Shop<T> extends Base<T> implements I, J.K {
          private Store store = new Store();
          public Shop(Db db) { super(db); this.go(); }
          @Override public Foo pay(int x) {
            return store.load(x).then(y -> new a.Foo<>(y));
          }
          interface In { void m(); }
          enum E { A; void n() { items[0].go(); } }
          record R(int x) { R { check(x); } }
        }
        """,
        """
        class Shop(Base, I, J.K) 5-14
        constructor Shop.Shop 7-7
        method Shop.pay -> Foo 8-10
        interface Shop.In 11-11
        method Shop.In.m 11-11
        enum Shop.E 12-12
        method Shop.E.n 12-12
        record Shop.R 13-13
        method Shop.R.x 13-13
        constructor Shop.R.R 13-13
        Shop: call Store
        Shop.Shop: call super
        Shop.Shop: call this.go
        Shop.pay: call store.load().then
        Shop.pay: call store.load
        Shop.pay: call a.Foo
        Shop.E.n: call items[].go
        Shop.R.R: call check
        import List from java.util as List
        import run from a.b.C as run
        import * from x.y
        Shop: T = Object
        Shop: self.store: Store
        Shop.Shop: db: Db
        Shop.pay: x = ?
        Shop.pay: y = store.load().then.#0
        Shop.E: self.A: E
        """,
        "a.java",
    )


def test_rust():
    check(
        """
        use std::collections::HashMap;
        use crate::a::{b, c as d, e::*, self};
        use super::x as y;
        mod elsewhere;
        mod m { pub fn q() {} }
        pub struct Shop<T> { store: Store<T> }
        pub trait Pay: Base { fn pay(&self) -> Foo; }
        impl<T> Pay for Shop<T> {
            fn pay(&self) -> Foo { self.store.load(1).await?; Foo::new(f::<u8>(2)) }
        }
        fn main() -> Result<Foo, E> { println!("{}", g(self.till.count(), [h(1)])); }
        macro_rules! mm { () => {} }
        """,
        """
        module m 5-5
        function m.q 5-5
        struct Shop 6-6
        trait Pay(Base) 7-7
        method Pay.pay -> Foo 7-7
        impl Shop(Pay) 8-10
        method Shop.pay -> Foo 9-9
        function main -> Foo 11-11
        macro mm 12-12
        Shop.pay: call self.store.load
        Shop.pay: call Foo.new
        Shop.pay: call f
        main: call println
        main: call g
        main: call self.till.count
        main: call h
        import HashMap from std::collections as HashMap
        import b from crate::a as b
        import c from crate::a as d
        import * from crate::a::e
        import crate::a as a
        import x from super as y
        import self::elsewhere as elsewhere
        Shop: self.store: Store
        """,
        "a.rs",
    )


def test_c():
    check(
        """
        #include <stdio.h>
        #include "shop.h"
        #define MAX(a) ((a)+1)
        typedef struct { int x; } Item;
        struct Shop { struct Store *store; };
        enum E { A };
        static int *pay(struct Shop *s) {
            s->cb(load(MAX(2)));
            (*fp)(1);
            return 0;
        }
        int declared_elsewhere(int x);
        """,
        """
        macro MAX 3-3
        struct Item 4-4
        struct Shop 5-5
        enum E 6-6
        function pay(static) 7-11
        A: E
        E: self.A: E
        Item: self.x = ?
        Shop: self.store: Store
        pay: s: Shop
        pay: call s.cb
        pay: call load
        pay: call MAX
        pay: call fp
        import * from stdio.h
        import * from shop.h
        """,
        "a.c",
    )


def test_cpp():
    check(
        """
        namespace n::m {
        class Shop : public Base<int>, private x::Store {
         public:
          Shop(Db* db) : db_(db), q(make()) { go(); }
          ~Shop() {}
          int pay(int x) const override { return store_->load(x).then(); }
          int declared(int x);
          template <typename T> T get() { return T(); }
          bool operator==(const Shop& o) const { return same(o); }
        };
        }
        int n::m::Shop::declared(int x) { auto t = new x::Foo(1); return a::b::c(f<int>(x)); }
        Foo& Shop::ref() { return this->make(); }
        """,
        """
        namespace n.m 1-11
        class n.m.Shop(Base, x.Store) 2-10
        constructor n.m.Shop.Shop 4-4
        method n.m.Shop.~Shop 5-5
        method n.m.Shop.pay 6-6
        method n.m.Shop.get -> T 8-8
        method n.m.Shop.operator== 9-9
        declaration n.m.Shop.declared 7-7
        method n.m.Shop.declared 12-12
        method Shop.ref -> Foo 13-13
        n.m.Shop.Shop: db: Db
        n.m.Shop.pay: x = ?
        n.m.Shop.get: T = ?
        n.m.Shop.operator==: o: Shop
        n.m.Shop.declared: this: n.m.Shop
        n.m.Shop.declared: x = ?
        n.m.Shop.declared: t: x.Foo
        Shop.ref: this: Shop
        n.m.Shop.Shop: call make
        n.m.Shop.Shop: call go
        n.m.Shop.pay: call store_.load().then
        n.m.Shop.pay: call store_.load
        n.m.Shop.get: call T
        n.m.Shop.operator==: call same
        n.m.Shop.declared: call x.Foo
        n.m.Shop.declared: call a.b.c
        n.m.Shop.declared: call f
        Shop.ref: call this.make
        """,
        "a.hpp",
    )


def test_csharp():
    check(
        """
        using System;
        using X = A.B.C;
        namespace N.M {
          public class Shop<T> : Base<T>, I.J {
            public Shop(Db db) : base(db) { this.Go(); }
            public async Task<Foo> Pay(int x) {
              var q = new A.Foo();
              await store.Load(x).Then(y => Go(y));
              return a?.B<int>(x);
            }
            public int P { get { return G(); } }
            interface I { void M(); }
            struct S {}
            void Loc() { int L(int y) { return y; } L(1); }
          }
        }
        """,
        """
        namespace N.M 3-16
        class N.M.Shop(Base, I.J) 4-15
        constructor N.M.Shop.Shop 5-5
        method N.M.Shop.Pay -> Foo 6-10
        method N.M.Shop.P 11-11
        interface N.M.Shop.I 12-12
        method N.M.Shop.I.M 12-12
        struct N.M.Shop.S 13-13
        method N.M.Shop.Loc 14-14
        function N.M.Shop.Loc.L 14-14
        N.M.Shop.Shop: call base
        N.M.Shop.Shop: call this.Go
        N.M.Shop.Pay: call A.Foo
        N.M.Shop.Pay: call store.Load().Then
        N.M.Shop.Pay: call store.Load
        N.M.Shop.Pay: call Go
        N.M.Shop.Pay: call a.B
        N.M.Shop.P: call G
        N.M.Shop.Loc: call L
        import * from System
        import C from A.B as X
        N.M.Shop.Pay: x: object
        N.M.Shop.Pay: q: A.Foo
        N.M.Shop: self.P: object
        N.M.Shop.Loc.L: y: object
        N.M.Shop.Shop: db: Db
        N.M.Shop.Pay: y = store.Load().Then.#0
        N.M.Shop.Pay: y = ?
        """,
        "a.cs",
    )


def test_ruby():
    check(
        """
        require 'json'
        require_relative 'shop/item'
        module N
          class Shop < Base::Store
            def initialize(db)
              @store = Store.new(db)
            end
            def self.make(x) = build(x)
            def valid?
              @store.load(x).then { |y| go(y) }
              "#{f(1)}"
              A::B.call
              y&.z!
            end
          end
        end
        class A::B; end
        """,
        """
        module N 3-16
        class N.Shop(Base.Store) 4-15
        method N.Shop.initialize 5-7
        method N.Shop.make 8-8
        method N.Shop.valid? 9-14
        class A.B 17-17
        N.Shop.initialize: db = ?
        N.Shop.initialize: call Store.new
        N.Shop: self.@store = Store()
        N.Shop.make: x = ?
        N.Shop.make: call build
        N.Shop.make: () = build()
        N.Shop.valid?: call self.@store.load().then
        N.Shop.valid?: call self.@store.load
        N.Shop.valid?: y = self.@store.load()
        N.Shop.valid?: call x
        N.Shop.valid?: call go
        N.Shop.valid?: call f
        N.Shop.valid?: call A.B.call
        N.Shop.valid?: call y.z!
        import * from json
        import * from ./shop/item
        """,
        "a.rb",
    )


def test_php():
    check(
        r"""
        <?php
        namespace A\B;
        use X\Y;
        use X\Z as W;
        use X\{R, S as T};
        trait Tr { function t() {} }
        abstract class Shop extends Base implements I, J {
          public function __construct(private Db $db) { parent::__construct(); $this->store = new Store($db); }
          public static function pay(int $x): ?Foo {
            $this->store->load($x)->go();
            self::q(); Y::make(); $q = new \X\Foo(); $y?->z();
            return \X\g(f($x));
          }
        }
        function h() {}
        """,
        r"""
        trait Tr 6-6
        method Tr.t 6-6
        class Shop(Base, I, J) 7-14
        method Shop.__construct 8-8
        method Shop.pay -> Foo 9-13
        function h 15-15
        Shop.__construct: call parent.__construct
        Shop.__construct: call Store
        Shop.pay: call this.store.load().go
        Shop.pay: call this.store.load
        Shop.pay: call self.q
        Shop.pay: call Y.make
        Shop.pay: call X.Foo
        Shop.pay: call y.z
        Shop.pay: call X.g
        Shop.pay: call f
        import Y from X as Y
        import Z from X as W
        import R from X as R
        import S from X as T
        Shop.__construct: db: Db
        Shop: self.db: Db
        Shop: self.store = Store()
        Shop.pay: x: object
        Shop.pay: q = X.Foo()
        """,
        "a.php",
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", "class Shop extends Base {\n close() { x(); }\n async pay(x) {\n  load(x);\n  if (x) {\n   this.sto"),
        ("a.ts", "class Shop extends Base {\n close(): void { x(); }\n pay(x: Foo): Bar {\n  load(x);\n  this.sto"),
        ("a.java", "class Shop extends Base {\n void close() { x(); }\n Foo pay(int x) {\n  load(x);\n  this.sto"),
        ("a.cs", "class Shop : Base {\n void close() { x(); }\n Foo pay(int x) {\n  load(x);\n  this.sto"),
        (
            "a.rs",
            "impl Base for Shop {\n fn close(&self) { x(); }\n fn pay(&self, x: Foo) -> Bar {\n  load(x);\n  self.sto",
        ),
        ("a.cpp", "class Shop : Base {\n void close() { x(); }\n int *pay(int x) {\n  load(x);\n  this->sto"),
        (
            "a.php",
            "<?php class Shop extends Base {\n function close() { x(); }\n function pay() {\n  load();\n  $this->sto",
        ),
    ],
)
def test_open_braces_do_not_end_what_stands_around_them(path: str, text: str):
    file = parse_file(path, text)
    assert [(d.qualified_name, d.bases) for d in file.definitions] == [
        ("Shop", ("Base",)),
        ("Shop.close", ()),
        ("Shop.pay", ()),
    ]
    assert [d.end_line for d in file.definitions] == [file.n_lines, 2, file.n_lines]
    assert facts_of(file, "calls") == ["Shop.close: call x", "Shop.pay: call load"]


def test_a_closed_brace_ends_a_mended_definition():
    check(
        """
        namespace a {
        struct Shop {
          int pay(int x) { load(
          }
        };
        int free_one(int x) { f(
        """,
        """
        namespace a 1-6
        struct a.Shop 2-5
        method a.Shop.pay 3-4
        function a.free_one 6-6
        """,
        "a.cpp",
        only="definitions",
    )


# Languages


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("a/b.PYI", "python"),
        ("a.mjs", "javascript"),
        ("a.jsx", "javascript"),
        ("a.d.ts", "typescript"),
        ("a.tsx", "tsx"),
        ("a.h", "cpp"),
        ("a.c", "c"),
        ("a.CC", "cpp"),
        ("lib/Rakefile", "ruby"),
        (r"lib\Gemfile", "ruby"),
        ("README.md", "markdown"),
        ("Makefile", "makefile"),
        ("a.kt", "kotlin"),
        ("notes.txt", ""),
        (".py", ""),
        ("py", ""),
        ("", ""),
    ],
)
def test_the_name_of_a_file_tells_its_language(path: str, language: str):
    assert language_of(path).name == language


def test_a_grammar_is_loaded_once():
    assert all(grammar(language) is grammar(language) for language in PARSED)


# Texts of every kind


@pytest.mark.parametrize(
    "text", ["", "one", "one\n", "one\n\ntwo", "one\r\ntwo\r\n", "one\rtwo", "a\x0cb\x0bc\u2028d\x85e\n"]
)
@pytest.mark.parametrize("path", ["a.py", "a.txt"])
def test_lines_end_at_line_breaks_only(path: str, text: str):
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    assert parse_file(path, text).n_lines == plain.count("\n") + (plain != "" and not plain.endswith("\n"))


def test_line_breaks_of_every_kind_give_the_same_lines():
    text = "import a\nclass A:\n    def f(self):\n        return a.b(\n            1)\n"
    unix = parse_file("a.py", text)
    for line_break in ("\r\n", "\r"):
        other = parse_file("a.py", text.replace("\n", line_break))
        assert facts_of(other) == facts_of(unix)
        assert (other.nodes[:3] == unix.nodes[:3]).all()


def test_a_text_in_no_language_is_one_closed_node():
    file = parse_file("notes.txt", "über\nzwei\n")
    assert file.nodes.tolist() == [[-1], [0], [2], [11], [0]]
    assert file.language == ""


@pytest.mark.parametrize("language", [*PARSED, ""])
@pytest.mark.parametrize(
    "text",
    [
        *("", "\n\n", "\0", "\ufeffx", "\ud800 = '\udfff'", "\t\t\\", "é😀(" * 50),
        *("{" * 2000, "(" * 2000, "a.b(" * 2000, "class A {" * 1000, "def f():" * 1000, "module A\n" * 1000),
        *("x = " + "y or " * 2000, "x = " * 2000, "f()" + ".g()" * 2000),
    ],
)
def test_no_text_is_too_much(language: str, text: str):
    path = f"a.{language_named(language).suffixes.split()[0]}" if language else "a"
    assert language_of(path).name == language
    file = parse_file(path, text)
    assert file.n_bytes == len(text.encode("utf-8", "replace"))
    assert file.n_nodes >= 1


# The tree


def walked(text: str):
    """The listed nodes of Python text and its call nodes, by a plain reading of the contract."""
    source = text.encode("utf-8", "replace")
    listed: list[list[int]] = []
    calls: list[tuple[int, int]] = []

    def lines(node: Node) -> tuple[int, int]:
        (first, _), (row, column) = node.start_point, node.end_point
        return first, row + 1 if column else row

    def visit(node: Node, parent: int, depth: int, above: int) -> None:
        first, beyond = lines(node)
        opens = depth == 0 and beyond - first > 1
        if depth == 0:
            above = len(listed)
            listed.append([parent, first, beyond, node.end_byte - node.start_byte, int(opens)])
        if node.type == "call" and dotted_name(source[node.start_byte : node.children[0].end_byte].decode()):
            calls.append((above, depth))
        for child in node.named_children:
            visit(child, above, 0 if opens else depth + 1, above)

    visit(Parser(grammar("python")).parse(source).root_node, -1, 0, 0)
    return listed, calls


PIECES = [
    *("def ", "class ", "f", "Shop", "x", "(", ")", "[", "]", ":", "=", ",", ".", "'", '"""', "\n", "\n    "),
    *("import ", "from ", " as ", "return ", "if ", "else:", "for ", " in ", "with ", "await ", "@", "lambda ", "*"),
    *("self.store", "g(y)", "pass\n", "a = b\n", "\n\n", "\r\n", "\t", "é", "😀", "\\\n", " or ", ":=", "{", "}"),
    *("\n        ", "f'{", "#", "function ", "fn f(x) {", "f(int x) {", "impl A for B {", "};", "<?php ", "end\n"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@settings(max_examples=150, deadline=None)
@given(texts)
def test_nodes_and_places_follow_the_contract(text: str):
    file = parse_file("a.py", text)
    listed, calls = walked(text)
    assert file.nodes.T.tolist() == listed
    assert sorted((call.node, call.depth) for call in file.calls) == sorted(calls)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["a.py", "a.tsx", "a.cpp", "a.rs", "a.java", "a.go", "a.rb", "a.php"]), texts)
@example("a.py", "def \nf'{")
def test_facts_of_any_text_point_at_each_other(path: str, text: str):
    file = parse_file(path, text)
    starts = [definition.start_line for definition in file.definitions]
    assert starts == sorted(starts)
    for index, definition in enumerate(file.definitions):
        assert MODULE_SCOPE <= definition.parent < index
        assert definition.start_line <= definition.header_line < definition.end_line <= file.n_lines
        assert definition.node < file.n_nodes
    for fact in (*file.calls, *file.imports, *file.bindings):
        assert MODULE_SCOPE <= fact.scope < len(file.definitions)
        assert fact.line < file.n_lines


# Open buffers

BUFFER = """\
import os

class Shop(Base):
    def pay(self, till: Till):
        till.open(self.store)
        if x:
            return [one(1), two("é😀")]

def main():
    Shop().pay(Till())
"""


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 30), texts), min_size=1, max_size=4))
def test_after_any_edits_a_tree_equals_one_from_scratch(edits: list[tuple[int, int, str]]):
    text, tree = BUFFER, SyntaxTree.parse("a.py", BUFFER)
    for at, removed, inserted in edits:
        at = min(at, len(text))
        text = text[:at] + inserted + text[at + removed :]
        removed = len(tree.text) - len(text) + len(inserted)
        known = tree.edited(text, changed=(at, at + removed, at + len(inserted)))
        tree = tree.edited(text)
        assert tree.text == known.text == text
        assert tree.file_graph() == known.file_graph() == parse_file("a.py", text)


@pytest.mark.parametrize("path", ["a.js", "a.rs", "a.cpp", "a.rb", "a.php", "a.vue", "a.txt"])
def test_edits_in_any_language_are_followed(path: str):
    text, tree = BUFFER, SyntaxTree.parse(path, BUFFER)
    for at in range(0, len(BUFFER), 7):
        text = text[:at] + "(é{" + text[at + 2 :]
        tree = tree.edited(text)
        assert tree.file_graph() == parse_file(path, text)


def test_a_text_with_errors_is_parsed_once_after_an_edit(monkeypatch: pytest.MonkeyPatch):
    tree, parses = SyntaxTree.parse("a.py", "def pay(:\n    pass\n"), []
    parse = syntax._parse
    monkeypatch.setattr(syntax, "_parse", lambda *given: parses.append(given) or parse(*given))
    assert tree.edited("def pay(n:\n    pass\n").has_errors
    assert len(parses) == 1
    mended = tree.edited("def pay(n):\n    pass\n")
    assert len(parses) == 2
    assert mended.file_graph() == parse_file("a.py", mended.text)


def test_imports_are_found_by_their_local_name():
    text = "import a.b as c\nfrom m import c, d as e\nclass K(c, e): pass\ndef c(): import c\nx = ['c', c]\n"
    file = parse_file("a.py", text)
    for name in ("a", "c", "d", "e", "K", "", '"c'):
        assert file.imports_as(name) == tuple(item for item in file.imports if item.local_name == name)
    assert [item.module for item in file.imports_as("c")] == ["a.b", "m", "c"]


def test_an_edit_leaves_the_old_tree_as_it_was():
    tree = SyntaxTree.parse("a.py", BUFFER)
    before = tree.file_graph()
    tree.edited(BUFFER.replace("pay", "give"))
    tree.edited("")
    assert tree.file_graph() == before == parse_file("a.py", BUFFER)


def test_a_tree_can_be_cut_at_every_cursor():
    tree = SyntaxTree.parse("a.py", BUFFER)
    for line, text in enumerate(BUFFER.split("\n")):
        for character in range(len(text) + 1):
            prefix = BUFFER[: sum(len(above) + 1 for above in BUFFER.split("\n")[:line]) + character]
            assert tree.edited(prefix).file_graph() == parse_file("a.py", prefix)
