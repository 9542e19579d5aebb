"""TypeScript and JavaScript: types, bindings, objects, exports, imports, calls, unfinished files and components."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import FileGraph, SyntaxTree, parse_file
from weft.codegraph.file_graph import MODULE_SCOPE
from weft.languages.embedded import ScriptBlocks
from weft.languages.web.types import TypeText, alias_bases, type_of
from weft.server.workspace.text import Cursor, TextLines


def facts_of(file: FileGraph, only: str = "") -> list[str]:
    """What a file says, a line for each fact, lines counted from 1; `only` names one kind of facts."""

    def within(scope: int) -> str:
        return "" if scope == MODULE_SCOPE else f"{file.definitions[scope].qualified_name}: "

    forms = {"annotation": "{}: {}", "call": "{} = {}()", "alias": "{} = {}", "unknown": "{} = ?"}
    found = {
        "definitions": [
            f"{d.kind} {d.qualified_name}{'(' + ', '.join(d.bases) + ')' if d.bases else ''}"
            f"{' -> ' + d.returns if d.returns else ''} {d.start_line + 1}-{d.end_line}"
            for d in file.definitions
        ],
        "calls": [f"{within(c.scope)}call {c.callee}" for c in file.calls],
        "imports": [
            f"import {i.name + ' from ' if i.name else ''}{i.module}{' as ' + i.local_name if i.local_name else ''}"
            for i in file.imports
        ],
        "bindings": [within(b.scope) + forms[b.how].format(b.name, b.value) for b in file.bindings],
    }
    return found[only] if only else [line for lines in found.values() for line in lines]


def check(text: str, expected: str, path: str, only: str = "") -> None:
    """The facts of a text are these, in any order."""
    found = facts_of(parse_file(path, dedent(text).strip("\n")), only)
    assert sorted(found) == sorted(dedent(expected).strip().splitlines())


def bindings(text: str, expected: str, path: str = "a.ts") -> None:
    check(text, expected, path, only="bindings")


def known(text: str, path: str = "a.ts") -> list[str]:
    """The bindings with a value, as lines."""
    return [line for line in facts_of(parse_file(path, dedent(text).strip("\n")), "bindings") if not line.endswith("?")]


# Type texts


@pytest.mark.parametrize(
    ("text", "how", "value"),
    [
        ("Shop", "annotation", "Shop"),
        (": ns.Shop", "annotation", "ns.Shop"),
        ("Shop | null | undefined", "annotation", "Shop"),
        ("| Shop | null", "annotation", "Shop"),
        ("string | Shop", "annotation", "Shop"),
        ("Promise<Shop | undefined>", "annotation", "Shop"),
        ("Readonly<Partial<Shop>>", "annotation", "Shop"),
        ("NonNullable<Awaited<Shop>>", "annotation", "Shop"),
        ("Store<Shop>", "annotation", "Store"),
        ("readonly Shop[]", "annotation", "Shop[]"),
        ("Array<Shop | null>", "annotation", "Shop[]"),
        ("Set<Shop>", "annotation", "Shop[]"),
        ("Map<string, Shop>", "annotation", "Shop[]"),
        ("Record<Key<A, B>, Shop>", "annotation", "Shop[]"),
        ("AsyncIterable<Shop>", "annotation", "Shop[]"),
        ("[Shop, Shop]", "annotation", "Shop[]"),
        ("Shop[][]", "", ""),
        ("typeof shop.till", "alias", "shop.till"),
        ("ReturnType<typeof makeShop>", "call", "makeShop"),
        ("Awaited<ReturnType<typeof makeShop>>", "call", "makeShop"),
        ("InstanceType<typeof Shop>", "annotation", "Shop"),
        ('Shop["till"]', "alias", "Shop.till"),
        ("(typeof shops)[number]", "alias", "shops[]"),
        ("{ a: Till } & Shop", "annotation", "Shop"),
        ("this", "annotation", "this"),
        ("?Shop", "annotation", "Shop"),
        ("Array.<Shop>", "annotation", "Shop[]"),
        ("Shop | Till", "", ""),
        ("string", "", ""),
        ("'a' | 'b'", "", ""),
        ("x is Shop", "", ""),
        ("asserts x is Shop", "", ""),
        ("(x: Shop) => Till", "", ""),
        ("Promise<() => Shop>", "", ""),
        ("T extends Shop ? A : B", "", ""),
        ("{ shop: Shop }", "", ""),
        ("keyof Shop", "", ""),
        ("", "", ""),
        ("Promise<" * 300, "", ""),
        ("(" * 300 + "Shop" + ")" * 300, "", ""),
    ],
)
def test_a_type_is_reduced_to_its_class(text: str, how: str, value: str):
    assert type_of(text) == TypeText(how, value)


@pytest.mark.parametrize(
    ("text", "bases"),
    [
        ("Shop & Till<X> & { a: B }", ("Shop", "Till")),
        ("Partial<Shop>", ("Shop",)),
        ("Shop | null", ("Shop",)),
        ("Shop | Till", ()),
        ("() => Shop & Till", ()),
    ],
)
def test_an_alias_has_the_types_that_it_names_as_bases(text: str, bases: tuple[str, ...]):
    assert alias_bases(text) == bases


def test_type_parameters_stand_for_their_constraint():
    bindings(
        """
        class Box<T extends Shop, U> { }
        function open<T extends Till | null, U = Shop>() {}
        """,
        """
        Box: T = Shop
        open: T = Till
        open: U = Shop
        """,
    )


# Bindings


def test_parameters():
    bindings(
        """
        function pay(shop: Shop, till?: m.Till, x, n = 1, made = new Cart(), ...rest: Item[]): void {}
        const go = async (a: Promise<A>, { b, c: d, e = 1, f: { g } }: Deps, [h]: H[]): Promise<void> => {}
        function self(this: Shop, { i, j: k, ...l }: { i: I; j: J[] }, { m }): void {}
        """,
        """
        pay: shop: Shop
        pay: till: m.Till
        pay: x = ?
        pay: n = ?
        pay: made = Cart()
        pay: rest: Item[]
        go: a: A
        go: b = Deps.b
        go: d = Deps.c
        go: e = Deps.e
        go: g = Deps.f.g
        go: h = H[][]
        self: this: Shop
        self: i: I
        self: k: J[]
        self: l = ?
        self: m = ?
        """,
    )


def test_fields_and_parameter_properties_belong_to_the_class():
    bindings(
        """
        class Shop {
          private till: Till | null = null;
          #log!: Log;
          static cache = new Cache<Key>();
          made = make(); same = other.value; n = 1;
          constructor(private readonly store: Store, protected x = new X(), public n = 1, y: Y) {
            this.y = y;
            this.later = () => { this.done = new Done() };
            this.z = this.x ?? makeZ();
          }
          get total(): Money { return this.sum }
        }
        """,
        """
        Shop: self.till: Till
        Shop: self.log: Log
        Shop: self.cache = Cache()
        Shop: self.made = make()
        Shop: self.same = other.value
        Shop.constructor: store: Store
        Shop: self.store: Store
        Shop.constructor: x = X()
        Shop: self.x = X()
        Shop.constructor: n = ?
        Shop.constructor: y: Y
        Shop: self.y = y
        Shop: self.done = Done()
        Shop: self.z = this.x
        Shop: self.z = makeZ()
        Shop: self.total: Money
        """,
    )


def test_properties_of_types():
    bindings(
        """
        interface Shop { till?: Till; items: Item[]; n: number; nested: { x: X }; on: (x: X) => Y }
        type Deps = { shop: Shop } & { till: Till };
        """,
        """
        Shop: self.till: Till
        Shop: self.items: Item[]
        Deps: self.shop: Shop
        Deps: self.till: Till
        """,
    )


def test_variables():
    bindings(
        """
        const a: Shop = get(), b = new ns.Shop<T>(1), c = await load(), d = c.till!, e = x as Shop;
        let f = y satisfies Till, g = <Shop>z, h = a ?? new Shop(), i = ok ? a : b.make(), j;
        const k = 1, l: number = f(), m = (await go()).x, n = new Map<string, Shop>(), o = fetchJson<Shop>("x");
        const p = x as any, q = ready && a, r = useMemo(() => new Shop(), []);
        j = makeJ();
        """,
        """
        a: Shop
        b = ns.Shop()
        c = load()
        d = c.till
        e: Shop
        f: Till
        g: Shop
        h = a
        h = Shop()
        i = a
        i = b.make()
        j = ?
        k = ?
        l = ?
        m = go().x
        n: Shop[]
        o = fetchJson()
        o: Shop
        p = ?
        q = a
        r = Shop()
        j = makeJ()
        """,
    )


def test_destructuring():
    bindings(
        """
        const { a, b: c, d = 1, e: { f }, ...g } = shop.till, { h }: Deps = x, { i } = await load(), { j } = 1;
        const [k, [l], ...m] = xs, [n, o] = await Promise.all([makeN(), p]), [q] = [new Q()];
        const [s, setS] = useState<Shop | null>(null), [t] = React.useState(shop), [u] = useState(0);
        """,
        """
        a = shop.till.a
        c = shop.till.b
        d = shop.till.d
        f = shop.till.e.f
        g = ?
        h = Deps.h
        i = load().i
        j = ?
        k = xs[]
        l = xs[][]
        m = ?
        n = makeN()
        o = p
        q = Q()
        s: Shop
        setS = ?
        t = shop
        u = ?
        """,
    )


def test_loops_and_handlers():
    bindings(
        """
        for (const a of shop.items) {}
        for await (const { b } of load()) {}
        for (const [c, d] of Object.entries(shops)) {}
        for (const [e, f] of map.entries()) {}
        for (const g of Object.values(shops)) {}
        for (const h in shop) {}
        try {} catch (i) {}
        """,
        """
        a = shop.items[]
        b = load()[].b
        c = ?
        d = shops[]
        e = ?
        f = map[]
        g = shops[]
        h = ?
        i = ?
        """,
    )


def test_callbacks_get_the_elements_of_their_collection():
    found = known(
        """
        shop.items.map((a) => a.go()).filter(function (b) {});
        xs.forEach(({ c }, i) => {}); xs.sort((d, e) => 1); xs.reduce((sum, f) => sum);
        xs.find((g: G) => g); Object.entries(xs).forEach(([k, v]) => {});
        load().then((h) => h.go()); other(j => j);
        """
    )
    expected = """
        a = shop.items[]
        b = shop.items.map()[]
        c = xs[].c
        d = xs[]
        e = xs[]
        f = xs[]
        g: G
        v = xs[]
        h = load()
        """
    assert sorted(found) == sorted(dedent(expected).strip().splitlines())


def test_variables_in_a_class_or_an_object_are_none_of_its_members():
    bindings(
        """
        function f() {
          class Shop { all = [1].map((x) => x); }
          const api = { go: wrap((y) => y), run() {} };
        }
        """,
        """
        f: x = ?
        f: y = ?
        f.api: self.go = wrap()
        """,
    )


def test_results_of_functions_without_a_return_annotation():
    found = known(
        """
        function a() { if (x) return new No(); return new Shop(); }
        const b = () => makeShop(), c = async () => { return await load() }, d = (): Till => new Shop();
        function e(): ReturnType<typeof load> {}
        class Shop { self() { return this } shop = () => this.till }
        function f(): string { return shop.name }
        function g() { return }
        """
    )
    assert found == [
        "a: () = Shop()",
        "b: () = makeShop()",
        "c: () = load()",
        "e: () = load()",
        "Shop.self: () = this",
        "Shop.shop: () = this.till",
    ]


def test_documented_types():
    check(
        """
        /**
         * @param {Shop} shop - to pay in
         * @param {Array<Item>} [items]
         * @returns {Promise<Receipt>}
         */
        export async function pay(shop, items = [], other) {}
        /** @type {Till} */
        const till = get();
        /** @param {Shop} shop */
        const go = (shop) => { shop.go(); };
        class Shop {
          /** @type {Till | null} */
          till = null;
          /** @return {Money} */
          get total() { return this.sum }
        }
        /** Nothing {@link here}. */
        function none() {}
        """,
        """
        function pay -> Receipt 6-6
        function go 10-10
        class Shop 11-16
        method Shop.total -> Money 15-15
        function none 18-18
        go: call shop.go
        call get
        pay: shop: Shop
        pay: items: Item[]
        pay: shop = ?
        pay: items = ?
        pay: other = ?
        till: Till
        go: shop: Shop
        go: shop = ?
        Shop: self.till: Till
        Shop: self.total: Money
        """,
        "a.js",
    )


# Definitions


def test_objects_that_hold_functions_are_definitions():
    check(
        """
        export const api: Api = {
          load, save: persist, made: make(), ...base, n: 1,
          run() { return 1 },
          deep: { go: () => 2, memo: useCallback(() => 3) },
        };
        const names = { load, save: persist };
        const data = { a: 1, b: { c: "x" } };
        function f() { const local = { load, n: 1 }; }
        """,
        """
        object api(Api, base) 1-5
        function api.run 3-3
        object api.deep 4-4
        function api.deep.go 4-4
        function api.deep.memo 4-4
        object names 6-6
        function f 8-8
        api: call make
        api.deep.memo: call useCallback
        api: self.load = load
        api: self.save = persist
        api: self.made = make()
        names: self.load = load
        names: self.save = persist
        data = ?
        f: local = ?
        """,
        "a.ts",
    )


def test_wrapped_functions_are_functions():
    check(
        """
        const A = memo(forwardRef<X, Y>(({ shop }: Props, ref) => null));
        const b = useCallback(async (x: X): Promise<Shop> => load(x), []);
        const c = createShop(() => 1), d = styled(() => 2), E = class extends D {};
        const F = defineComponent({ setup(props: Props) {} });
        """,
        """
        function A 1-1
        function b -> Shop 2-2
        class E(D) 3-3
        object F 4-4
        function F.setup 4-4
        """,
        "a.ts",
        only="definitions",
    )


def test_typescript_declarations():
    check(
        """
        declare function pay(x: Shop): Receipt;
        function go(x: A): B;
        function go(x: any) { return x }
        abstract class Shop<T> extends Base<T> implements I, m.J { abstract close(): Till; set x(v: V) {} }
        interface I extends K<T>, L { go(x: string): Promise<Foo>; }
        type T1 = A & Partial<B> & { run(): void };
        namespace N { export const inner = new Foo(); export enum Color { Red } }
        const { a } = N;
        """,
        """
        function pay -> Receipt 1-1
        function go -> B 2-2
        function go 3-3
        class Shop(Base, I, m.J) 4-4
        method Shop.close -> Till 4-4
        method Shop.x 4-4
        interface I(K, L) 5-5
        method I.go -> Foo 5-5
        type T1(A, B) 6-6
        function T1.run 6-6
        namespace N 7-7
        enum N.Color 7-7
        """,
        "a.ts",
        only="definitions",
    )


def test_functions_that_a_constructor_assigns_are_methods():
    check(
        """
        class Shop { constructor() { this.go = () => 1; this.till = class {}; } }
        function Old() { this.run = function () {}; }
        """,
        """
        class Shop 1-1
        method Shop.constructor 1-1
        method Shop.go 1-1
        class Shop.till 1-1
        function Old 2-2
        function Old.run 2-2
        """,
        "a.js",
        only="definitions",
    )


# Exports


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("export default shop;", ["default = shop"]),
        ("export default new Shop();", ["call Shop", "default = Shop()"]),
        ("export default class Shop {}", ["class Shop 1-1", "default = Shop"]),
        ("export default function pay() {}", ["function pay 1-1", "default = pay"]),
        ("export default class extends Base {}", ["class default(Base) 1-1"]),
        ("export default function () { return new Shop() }", ["function default 1-1", "default: call Shop"]),
        ("export default async () => {};", ["function default 1-1"]),
        ("export default { go() {} };", ["object default 1-1", "function default.go 1-1"]),
        ("export default memo(() => null);", ["function default 1-1", "default: call memo"]),
        ("export { a as b, c, d as default };", ["b = a", "default = d"]),
        ("export = Shop;", ["default = Shop"]),
        ("export const x = 1;", ["x = ?"]),
    ],
)
def test_exports(text: str, facts: list[str]):
    found = facts_of(parse_file("a.ts", text))
    assert [line for line in found if ": () =" not in line] == facts


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("module.exports = shop;", ["default = shop"]),
        ("module.exports = { a, b: c, d: make() };", ["call make", "b = c", "d = make()"]),
        ("module.exports = { go() {}, run: () => 1 };", ["function go 1-1", "function run 1-1"]),
        ("module.exports = class extends Base {};", ["class default(Base) 1-1"]),
        ("module.exports = function pay() {};", ["function pay 1-1", "default = pay"]),
        ("module.exports = function () {};", ["function default 1-1"]),
        ("exports.go = function () {};", ["function go 1-1"]),
        ("exports.go = go; exports.shop = new Shop();", ["call Shop", "shop = Shop()"]),
        ("module.exports = require('./a');", ["call require", "import * from ./a"]),
        ("exports.a = require('./a');", ["call require", "import ./a as a"]),
        ("module.exports = { ...require('./a') };", ["call require", "import * from ./a"]),
    ],
)
def test_commonjs_exports(text: str, facts: list[str]):
    assert facts_of(parse_file("a.js", text)) == facts


# Imports


def test_imports():
    check(
        """
        import type { A } from './a';
        import b, { type C, d as e } from "./b";
        import f, * as g from "./f";
        import h = require("./h");
        import I = N.I;
        import "./side";
        const j = await import("./j"), { k, l: m = 1 } = await import("./k");
        import("./n").then(({ o }) => o());
        const P = lazy(() => import("./p"));
        const q = require("./q"), { r, s: t } = require("./r"), u = require("./u").v;
        export { w as x, default as y, default } from "./w";
        export * from "./star";
        export * as z from "./z";
        export type * from "./types";
        """,
        """
        import A from ./a as A
        import default from ./b as b
        import C from ./b as C
        import d from ./b as e
        import default from ./f as f
        import ./f as g
        import ./h as h
        import ./j as j
        import k from ./k as k
        import l from ./k as m
        import o from ./n as o
        import default from ./p as P
        import ./q as q
        import r from ./r as r
        import s from ./r as t
        import v from ./u as u
        import w from ./w as x
        import default from ./w as y
        import default from ./w as default
        import * from ./star
        import ./z as z
        import * from ./types
        """,
        "a.ts",
        only="imports",
    )


# Calls


def test_calls():
    check(
        """
        tag`x`; a?.b(); f?.(1); new ns.Shop(); items[0].pay(); (await load()).go();
        (x as Shop).pay(); (a ?? b).go(); (x as any).run();
        app.get("/", (c) => {
          return "A chain of calls with long arguments is longer than the texts that are read as they are written, " +
            "but its names are read: the limit of two hundred and forty characters is for the text of one name." +
            "This is one more line of it."
        }).post();
        @Sealed @Injectable() class A extends B { constructor() { super(1); super.go(); this.run(); this.#own(); } }
        """,
        """
        call tag
        call a.b
        call f
        call ns.Shop
        call items[].pay
        call load().go
        call load
        call Shop().pay
        call a.go
        call x.run
        call app.get().post
        call app.get
        A: call Sealed
        A: call Injectable
        A.constructor: call super
        A.constructor: call super.go
        A.constructor: call this.run
        A.constructor: call this.own
        """,
        "a.ts",
        only="calls",
    )


def test_components():
    check(
        "const App = () => <Shop><ui.Price of={x.y()}/><div/><my-tag/></Shop>;",
        """
        App: call Shop
        App: call ui.Price
        App: call x.y
        """,
        "a.tsx",
        only="calls",
    )


# Files that end at the cursor


@pytest.mark.parametrize(
    ("path", "text", "facts"),
    [
        (
            "a.ts",
            """
            import { Store } from "./store";
            export class Shop<T extends Base> extends Till<T> {
              private store: Store = new Store();
              constructor(private readonly log: Log) { super(); }
              async pay(user: User, xs: Item[]): Promise<Receipt> {
                const cart = new Cart();
                for (const x of xs) {
                  x.
            """,
            """
            class Shop(Till) 2-8
            method Shop.constructor 4-4
            method Shop.pay -> Receipt 5-8
            Shop: call Store
            Shop.constructor: call super
            Shop.pay: call Cart
            import Store from ./store as Store
            Shop: T = Base
            Shop: self.store: Store
            Shop.constructor: log: Log
            Shop: self.log: Log
            Shop.pay: user: User
            Shop.pay: xs: Item[]
            Shop.pay: cart = Cart()
            Shop.pay: x = xs[]
            """,
        ),
        (
            "a.tsx",
            """
            export const useShop = (deps: Deps): Shop => {
              const [shop, setShop] = useState<Shop>(null);
              const load = useCallback(async (id: Id) => {
                const got = await deps.fetch(id);
                got.items.forEach((item) => {
                  item.
            """,
            """
            function useShop -> Shop 1-6
            function useShop.load 3-6
            useShop: call useState
            useShop.load: call deps.fetch
            useShop: deps: Deps
            useShop: shop: Shop
            useShop: setShop = ?
            useShop.load: id: Id
            useShop.load: got = deps.fetch()
            useShop.load: item = got.items[]
            useShop.load: item = ?
            """,
        ),
        (
            "a.ts",
            """
            export const api: Api = {
              load(x: Foo): Bar { return x.y() },
              deep: {
                save: async (y: Foo) => {
                  const z = y.b();
                  z.
            """,
            """
            object api(Api) 1-6
            function api.load -> Bar 2-2
            object api.deep 3-6
            function api.deep.save 4-6
            api.load: call x.y
            api.deep.save: call y.b
            api.load: x: Foo
            api.deep.save: y: Foo
            api.deep.save: z = y.b()
            """,
        ),
        (
            "a.tsx",
            """
            export default function App({ shop, a: { b } }: Props) {
              const till = useTill(shop);
              return (
                <div>
                  <Price of={till.
            """,
            """
            function App 1-5
            App: call useTill
            App: shop = Props.shop
            App: b = Props.a.b
            App: till = useTill()
            default = App
            """,
        ),
        (
            "a.ts",
            """
            export default {
              setup(props: Props) {
                try { go(); } catch (e) {
                  e.
            """,
            """
            object default 1-4
            function default.setup 2-4
            default.setup: call go
            default.setup: props: Props
            default.setup: e = ?
            """,
        ),
        (
            "a.js",
            """
            describe("x", () => {
              const app = new Hono();
              it("y", async function (done) {
                app.get("/", (c) => {
                  c.
            """,
            """
            call Hono
            app = Hono()
            done = ?
            c = ?
            """,
        ),
        (
            "a.ts",
            """
            export const guard = (deps: Deps) => async (request: Request): Promise<Shop> => {
              const shop = await open(async function* (x: X) {
                this.
            """,
            """
            function guard 1-3
            guard: deps: Deps
            guard: request: Request
            guard: shop = open()
            guard: x: X
            """,
        ),
        (
            "a.ts",
            """
            export default defineConfig({
              plugins: {
                load(id: Id) {
                  id.
            """,
            """
            object default 1-4
            object default.plugins 2-4
            function default.plugins.load 3-4
            default.plugins.load: id: Id
            """,
        ),
        (
            "a.ts",
            """
            interface Shop extends Base { till: Till; go(): Foo;
              x:
            """,
            """
            interface Shop(Base) 1-2
            method Shop.go -> Foo 1-1
            Shop: self.till: Till
            """,
        ),
        (
            "a.ts",
            """
            const load = async (id: Id): Promise<Shop> =>
              fetch(id).then((got: Got) => {
                const till = got.till;
                till.all.forEach((item) => item.
            """,
            """
            function load -> Shop 1-4
            load: call fetch
            load: id: Id
            load: got: Got
            load: till = got.till
            load: item = ?
            load: item = till.all[]
            """,
        ),
        (
            "a.ts",
            """
            const stream = async function* (source: Source) {
              const parts = source.open();
              for (;;) {
            """,
            """
            function stream 1-3
            stream: call source.open
            stream: source: Source
            stream: parts = source.open()
            """,
        ),
        (
            "a.ts",
            """
            const outer = (a: A) => {
              const run = async <T>(task: Task<T>): Promise<T> => {
                const done = task.start();
                if (done) {
            """,
            """
            function outer 1-4
            function outer.run -> T 2-4
            outer.run: call task.start
            outer: a: A
            outer.run: task: Task
            outer.run: done = task.start()
            """,
        ),
        (
            "a.ts",
            """
            export default async function pay(shop: Shop) {
              const till = shop.till;
              if (!till) {
            """,
            """
            function pay 1-3
            default = pay
            pay: shop: Shop
            pay: till = shop.till
            """,
        ),
    ],
)
def test_facts_above_the_cursor(path: str, text: str, facts: str):
    text = dedent(text).strip()
    expected = dedent(facts).strip().splitlines()
    assert sorted(facts_of(parse_file(path, text))) == sorted(expected)


def test_a_class_in_every_prefix_of_a_file_keeps_its_finished_fields():
    text = (
        "class Shop extends Base {\n  till: Till = new Till();\n"
        "  pay(a: A) {\n    const b = new B(a);\n    b.go();\n  }\n}\n"
    )
    for end in range(text.index("pay"), len(text)):
        found = facts_of(parse_file("a.ts", text[:end]))
        assert "Shop: self.till: Till" in found, text[:end]
        assert any(line.startswith("class Shop(Base)") for line in found), text[:end]
    for end in range(text.index("b.go"), len(text)):
        found = facts_of(parse_file("a.ts", text[:end]), "bindings")
        assert {"Shop.pay: a: A", "Shop.pay: b = B()"} <= set(found), text[:end]


@pytest.mark.parametrize(
    "text",
    [
        "x=>" * 3000,
        "class A { x = " * 500,
        "const a = {b:" * 500,
        "useMemo(() => " * 1000,
        "Array.from(" * 1000,
        "x as " * 2000,
        "const {a:" * 1000,
        "const [" * 1000,
        "const x = " + "(" * 3000,
        "/** @type {" * 500 + "*/ const x = 1",
        "a" + ".b(x => x)" * 500,
        "for (const x of " * 500,
        "class A { m() { this.x = 1; " * 300,
        "const f = memo(" * 500 + "() => 1",
    ],
)
@pytest.mark.parametrize("path", ["a.ts", "a.js"])
def test_nested_code_has_a_graph(path: str, text: str):
    assert parse_file(path, text).n_lines == 1


# Components


VUE = """
<template>
  <p @click="pay()">{{ `über` }} it's</p>
</template>
<script setup lang="ts" generic="T extends Shop<T>">
import { useShop } from "./shop";
const { shop }: Deps = useShop();
function pay(x: Till): Receipt { return shop.pay(x); }
</script>
<style>p { color: red }</style>
<script type="application/json">{"a": [1}</script>
<SCRIPT>
export default { methods: { go() { this.pay() } } };
</SCRIPT>
"""


@pytest.mark.parametrize("path", ["a.vue", "a.svelte"])
def test_the_scripts_of_a_component_are_read(path: str):
    file = parse_file(path, VUE.lstrip("\n"))
    assert file.problems == ()
    assert facts_of(file) == [
        "function pay -> Receipt 7-7",
        "object default 12-12",
        "object default.methods 12-12",
        "function default.methods.go 12-12",
        "call useShop",
        "pay: call shop.pay",
        "default.methods.go: call this.pay",
        "import useShop from ./shop as useShop",
        "shop = Deps.shop",
        "pay: x: Till",
    ]


def test_a_script_that_ends_at_the_cursor_is_read():
    text = "<script>\nclass Shop {\n  till = new Till();\n  go(a) {\n    a."
    assert "Shop: self.till = Till()" in facts_of(parse_file("a.vue", text))


def test_markup_alone_has_no_facts():
    file = parse_file(
        "a.vue", "<template>\n  <p>{{ pay() }}</p>\n</template>\n<script src='./a.ts'/>\n<p>if (x) {</p>\n"
    )
    assert facts_of(file) == []
    assert file.problems == ()
    assert file.n_lines == 5


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("<script>\nconst x = <CURSOR>\n</script>", "typescript"),
        ("<p>\n</p><script setup>\nconst x = <CURSOR>", "typescript"),
        ("<script><CURSOR></script>", "typescript"),
        ("<scr<CURSOR>ipt></script>", "vue"),
        ("<script></script>\n<template><p><CURSOR></p></template>", "vue"),
        ("<p><CURSOR></p>\n<script></script>", "vue"),
    ],
)
def test_the_language_of_a_cursor_in_a_component(text: str, language: str):
    before, after = text.split("<CURSOR>")
    lines = TextLines(before + after)
    cursor = Cursor("a.vue", lines, *lines.position(len(before)))
    assert cursor.language.name == language
    assert cursor.language.is_prose == (language == "vue")
    assert (cursor.language.grammar is None) == (language == "vue")
    assert cursor.file_language.name == "vue"


parts = st.sampled_from(
    ["<script>", "</script>", "<script lang='ts'>", "<p>", "é😀", "\n", "\r\n", "x = 1;", "class A {", "}"]
)


@settings(max_examples=150)
@given(st.lists(parts, max_size=12), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), parts), max_size=4))
def test_after_any_edits_a_component_equals_one_from_scratch(pieces: list[str], edits: list[tuple[int, int, str]]):
    text = "".join(pieces)
    tree = SyntaxTree.parse("a.vue", text)
    for start, n_deleted, inserted in edits:
        at = min(start, len(text))
        changed = (at, min(at + n_deleted, len(text)), at + len(inserted))
        text = text[:at] + inserted + text[at + n_deleted :]
        tree = tree.edited(text, changed=changed)
        assert tree.file_graph() == SyntaxTree.parse("a.vue", text).file_graph()


@given(st.lists(parts, max_size=12).map("".join))
def test_blanked_sources_keep_their_length_and_lines(text: str):
    source = text.encode()
    blanked = ScriptBlocks("typescript").blanked(source)
    assert len(blanked) == len(source)
    assert [at for at, byte in enumerate(blanked) if byte in b"\r\n"] == [
        at for at, byte in enumerate(source) if byte in b"\r\n"
    ]
