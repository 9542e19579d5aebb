"""Text in, facts of Go out: packages, types, bindings and embedding, also in texts that end at a cursor."""

from __future__ import annotations

from textwrap import dedent

import pytest
from reader_facts import bindings, definitions, lines
from weft.codegraph import FileGraph, parse_file
from weft.languages.known.go import package_name


def parsed(text: str) -> FileGraph:
    return parse_file("a.go", "package shop\n" + dedent(text))


def check_definitions(text: str, expected: str) -> None:
    assert sorted(definitions(parsed(text))) == lines(expected)


def check_bindings(text: str, expected: str) -> None:
    assert sorted(bindings(parsed(text))) == lines(expected)


def check_local(statement: str, *expected: str) -> None:
    """The bindings of one statement in a function."""
    found = bindings(parsed(f"func f() {{\n{statement}\n}}\n"))
    assert [line.removeprefix("f | ") for line in found] == list(expected)


def callees(statement: str) -> list[str]:
    return [call.callee for call in parsed(f"func f() {{\n{statement}\n}}\n").calls]


# Packages and imports


def test_the_package_is_read():
    assert parsed("").package == "shop"
    assert parse_file("a.go", "// no package yet\nfunc f() {").package == ""


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("fmt", "fmt"),
        ("net/http", "http"),
        ("example.com/x/money", "money"),
        ("gopkg.in/yaml.v3", "yaml"),
        ("gopkg.in/h2non/gock.v1", "gock"),
        ("github.com/cli/cli/v2", "cli"),
        ("github.com/cli/go-gh/v2", "gh"),
        ("math/rand/v2", "rand"),
        ("example.com/api/v1", "v1"),
        ("github.com/mattn/go-isatty", "isatty"),
        ("github.com/hashicorp/golang-lru", "lru"),
        ("github.com/opentracing/opentracing-go", "opentracing"),
        ("github.com/nats-io/nats.go", "nats"),
        ("github.com/x/foo.go", "foo"),
        ("github.com/json-iterator/go", "go"),
    ],
)
def test_a_package_without_an_alias_is_named_by_its_path(path: str, name: str):
    assert package_name(path) == name
    (item,) = parsed(f'import "{path}"\n').imports
    assert (item.local_name, item.module, item.name) == (name, path, "")


# Types


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Shop", "Shop"),
        ("*Shop", "Shop"),
        ("**Shop", "Shop"),
        ("(*Shop)", "Shop"),
        ("ns.Shop", "ns.Shop"),
        ("*ns.Shop", "ns.Shop"),
        ("List[T]", "List"),
        ("*ns.Map[K, V]", "ns.Map"),
        ("[]Shop", "Shop[]"),
        ("[]*ns.Shop", "ns.Shop[]"),
        ("[4]Shop", "Shop[]"),
        ("map[string]*Shop", "Shop[]"),
        ("chan Shop", "Shop[]"),
        ("<-chan *Shop", "Shop[]"),
        ("*[]Shop", "Shop[]"),
        ("[]List[T]", "List[]"),
        ("[][]Shop", ""),
        ("map[string][]Shop", ""),
        ("string", ""),
        ("error", ""),
        ("any", ""),
        ("[]byte", ""),
        ("func(Shop) Shop", ""),
        ("struct{ shop Shop }", ""),
        ("interface{ Pay() Shop }", ""),
    ],
)
def test_a_type_is_reduced_to_one_name(written: str, text: str):
    check_bindings(f"var x {written}", f"x: {text}" if text else "x = ?")
    assert [d.returns for d in parsed(f"func f() {written} {{ panic(1) }}").definitions] == [text]


# Definitions


def test_functions_and_methods_have_their_first_result():
    check_definitions(
        """
        func Open() *Shop { return nil }
        func Load() (*Shop, error) { return nil, nil }
        func Named() (shop *Shop, err error) { return }
        func Close() error { return nil }
        func Both() (int, Shop) { return 1, Shop{} }
        func Maker() func() *Shop { return nil }
        func (s *Shop) Pay() (n.Bill, error) { return n.Bill{}, nil }
        func (l List[T]) All() []T { return nil }
        func (Shop) Anonymous() {}
        """,
        """
        function Open -> Shop
        function Load -> Shop
        function Named -> Shop
        function Close
        function Both
        function Maker
        method Shop.Pay -> n.Bill
        method List.All -> T[]
        method Shop.Anonymous
        """,
    )


def test_embedded_types_are_bases_and_fields():
    text = """
        type Shop struct {
            Base
            *ns.Till
            List[int]
            a, b *Store
            stock map[string]Item
            pay func(x int) *Bill
            inner struct { x *Deep }
            name string `json:"name"`
        }
        """
    check_definitions(text, "struct Shop(Base, ns.Till, List)")
    check_bindings(
        text,
        """
        Shop | self.Base: Base
        Shop | self.Till: ns.Till
        Shop | self.List: List
        Shop | self.a: Store
        Shop | self.b: Store
        Shop | self.stock: Item[]
        Shop | self.pay = ?
        Shop | self.inner = ?
        Shop | self.name = ?
        """,
    )


def test_interfaces_have_methods_with_results_and_embedded_interfaces():
    check_definitions(
        """
        type Payer interface {
            ns.Closer
            Opener
            Pay(x int) (*Bill, error)
            Close()
        }
        type Number interface { ~int | Float }
        """,
        """
        interface Payer(ns.Closer, Opener)
        method Payer.Pay -> Bill
        method Payer.Close
        interface Number
        """,
    )


def test_a_type_that_is_another_one_has_it_as_base():
    check_definitions(
        """
        type A = ns.B
        type C D
        type E = *F
        type G []Shop
        type H int
        type (
            I J
            K struct{ L }
        )
        """,
        """
        type A(ns.B)
        type C(D)
        type E(F)
        type G
        type H
        type I(J)
        struct K(L)
        """,
    )


def test_function_literals_that_are_bound_to_a_name_are_definitions():
    text = """
        var Pay = func(s *Shop) *Bill { return s.pay() }
        var table = map[string]any{"x": func(t *Till) {}}
        func f() {
            open := func(n int) (*Shop, error) {
                shop := n.shop
                return shop, nil
            }
            run(func(c *Context) { d := c.Data() })
            x := Server{handle: func() {}}
        }
        """
    check_definitions(
        text,
        """
        function Pay -> Bill
        function f
        function f.open -> Shop
        """,
    )
    check_bindings(
        text,
        """
        Pay | s: Shop
        table = ?
        t: Till
        f.open | n = ?
        f.open | shop = n.shop
        f | c: Context
        f | d = c.Data()
        f | x: Server
        """,
    )
    assert [(c.callee, parsed(text).definitions[c.scope].name) for c in parsed(text).calls] == [
        ("s.pay", "Pay"),
        ("run", "f"),
        ("c.Data", "f"),
    ]


# Bindings


def test_receivers_parameters_and_named_results_are_bound():
    check_bindings(
        """
        func (s *Shop) Pay(a, b *Bill, n int, rest ...*ns.Item) (done *Done, err error) { return }
        func g(Shop, int) (Bill, error) { panic(1) }
        func h(_ *Shop, next func(x *Bill) error) {}
        """,
        """
        Shop.Pay | s: Shop
        Shop.Pay | a: Bill
        Shop.Pay | b: Bill
        Shop.Pay | n = ?
        Shop.Pay | rest: ns.Item[]
        Shop.Pay | done: Done
        Shop.Pay | err = ?
        h | next = ?
        """,
    )


def test_a_type_parameter_is_its_constraint():
    check_bindings(
        """
        func f[T Item, K comparable, U int | string](x T) {}
        type List[T ns.Item] struct { all []T }
        """,
        """
        f | T = Item
        f | K = ?
        f | U = ?
        f | x: T
        List | T = ns.Item
        List | self.all: T[]
        """,
    )


def test_variables_and_constants_of_a_package():
    check_bindings(
        """
        var shop *Shop = open()
        var a, b = one(), two.three
        var (
            c, d ns.Till
            e    = []*Item{}
            _    = ignored()
        )
        const limit = 3
        const (
            Red Color = iota
            Green
            Size = 1
            Other
        )
        """,
        """
        shop: Shop
        a = one()
        b = two.three
        c: ns.Till
        d: ns.Till
        e: Item[]
        limit = ?
        Red: Color
        Green: Color
        Size = ?
        Other = ?
        """,
    )


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x := NewShop(1)", ["x = NewShop()"]),
        ("x, err := ns.NewShop()", ["x = ns.NewShop()", "err = ?"]),
        ("x, n := open(), 3", ["x = open()", "n = ?"]),
        ("x := s.carts[0].open()", ["x = s.carts[].open()"]),
        ("x := ns.New[int](1)", ["x = ns.New()"]),
        ("x := New[K, V](a, b)", ["x = New()"]),
        ("x := Shop{a: 1}", ["x: Shop"]),
        ("x := &ns.Shop{}", ["x: ns.Shop"]),
        ("x := []*Shop{}", ["x: Shop[]"]),
        ("x := [...]Shop{{}}", ["x: Shop[]"]),
        ("x := map[string]Shop{}", ["x: Shop[]"]),
        ("x := List[int]{}", ["x: List"]),
        ("x := new(ns.Shop)", ["x: ns.Shop"]),
        ("x := make([]Shop, 3)", ["x: Shop[]"]),
        ("x := make(chan *Shop)", ["x: Shop[]"]),
        ("x := append(shops, s)", ["x = shops"]),
        ("x := y.(*Shop)", ["x: Shop"]),
        ("x, ok := y.(ns.Shop)", ["x: ns.Shop", "ok = ?"]),
        ("x := y.(string)", ["x = ?"]),
        ("x := Shop(y)", ["x = Shop()"]),
        ("x := (*Shop)(y)", ["x = Shop()"]),
        ("x := []Shop(y)", ["x: Shop[]"]),
        ("x := string(y)", ["x = ?"]),
        ("x := len(y)", ["x = ?"]),
        ("x := y", ["x = y"]),
        ("x := x", []),
        ("x := &y", ["x = y"]),
        ("x := *y", ["x = y"]),
        ("x := y.store.items[i]", ["x = y.store.items[]"]),
        ("x := shops[1:]", ["x = shops"]),
        ("x := <-ch", ["x = ch[]"]),
        ("x, ok := <-s.ch()", ["x = s.ch()[]", "ok = ?"]),
        ("x, ok := m[k]", ["x = m[]", "ok = ?"]),
        ("x := a + b", ["x = ?"]),
        ("x := !a", ["x = ?"]),
        ('x := "a"', ["x = ?"]),
        ("x := y.(*Parser).newMap()", ["x = Parser().newMap()"]),
        ("x := (&Shop{}).till", ["x = Shop().till"]),
        ("_, x := pair()", ["x = ?"]),
        ("x = y", []),
        ("var x = open()", ["x = open()"]),
        ("var x, err = open()", ["x = open()", "err = ?"]),
        ("for i, x := range xs { }", ["i = ?", "x = xs[]"]),
        ("for _, x := range s.all() { }", ["x = s.all()[]"]),
        ("for _, x := range []*Shop{a} { }", ["x: Shop"]),
        ("for x := range xs { }", ["x = ?"]),
        ("for i, x = range xs { }", []),
        ("for range xs { }", []),
        ("if x, ok := m[k]; ok { }", ["x = m[]", "ok = ?"]),
        ("if x := open(); x != nil { }", ["x = open()"]),
        ("select { case x, ok := <-ch: use(x) }", ["x = ch[]", "ok = ?"]),
        ("go func(s *Shop) { }(x)", ["s: Shop"]),
    ],
)
def test_a_local_is_bound_to_its_value(statement: str, expected: list[str]):
    check_local(statement, *expected)


def test_a_type_switch_binds_its_name_in_each_case():
    text = """
        func f(x any) {
            switch v := x.y.(type) {
            case *Shop:
                v.pay()
            case ns.Till, Bill:
                v.open()
            case string:
            default:
                v.close()
            }
        }
        """
    file = parsed(text)
    assert [(b.how, b.value, b.line) for b in file.bindings if b.name == "v"] == [
        ("annotation", "Shop", 4),
        ("alias", "x.y", 6),
        ("unknown", "", 8),
        ("alias", "x.y", 9),
    ]


# Calls


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("ns.New[int](x)", ["ns.New"]),
        ("ns.New[int](x, y)", ["ns.New"]),
        ("New[int]()", ["New"]),
        ("x.y.New[K, V]()", ["x.y.New"]),
        ("go s.run()", ["s.run"]),
        ("defer s.mu.Unlock()", ["s.mu.Unlock"]),
        ("defer func() { s.end() }()", ["s.end"]),
        ("Shop(x).Pay()", ["Shop().Pay", "Shop"]),
        ("(&Shop{}).Pay()", ["Shop().Pay"]),
        ("x.(*ns.Shop).Pay()", ["ns.Shop().Pay"]),
        ("a.b(c).d().e()", ["a.b().d().e", "a.b().d", "a.b"]),
        (f'a("{"x" * 300}").b().c()', ["a().b().c", "a().b", "a"]),
        ("(a + b).c()", ["?.c"]),
    ],
)
def test_callees_have_no_type_arguments_and_hold_types_as_conversions(statement: str, expected: list[str]):
    assert callees(statement) == expected


# Texts that end at a cursor

FILE = """
import "ns"

type Shop struct {
    ns.Base
    store *Store
}

func (s *Shop) Pay(a, b *Bill, rest ...int) (*Done, error) {
    bill := s.store.Load(a)
    for _, item := range bill.items {
        if x, ok := item.(*ns.Coin); ok {
            pay := func(c *Coin) *Cash {
                y := c.till
"""
IN_PAY = """
    Shop | self.Base: ns.Base
    Shop | self.store: Store
    Shop.Pay | s: Shop
    Shop.Pay | a: Bill
    Shop.Pay | b: Bill
    Shop.Pay | rest = ?
    Shop.Pay | bill = s.store.Load()
    Shop.Pay | item = bill.items[]
    Shop.Pay | x: ns.Coin
    Shop.Pay | ok = ?
    Shop.Pay.pay | c: Coin
    Shop.Pay.pay | y = c.till
"""


@pytest.mark.parametrize(
    "end", ["", "y.", "y.pay(", "y.pay(a, b.", "if y.", "return &Cash{a: ", "y = append(y, func() {\n"]
)
def test_a_method_around_the_cursor_is_kept_with_its_bindings(end: str):
    check_definitions(FILE + end, "struct Shop(ns.Base)\nmethod Shop.Pay -> Done\nfunction Shop.Pay.pay -> Cash")
    check_bindings(FILE + end, IN_PAY)
    file = parsed(FILE + end)
    assert file.package == "shop"
    assert [item.local_name for item in file.imports] == ["ns"]
    assert all(definition.end_line >= file.n_lines for definition in file.definitions[1:])


def test_an_argument_that_is_a_function_binds_its_parameters_in_the_function_around_it():
    text = """
        func New[T Item](f *Factory) *Command {
            cmd := &Command{
                Run: func(c *Command, args []string) error {
                    opts := f.Options()
                    return run(c, opts.
        """
    check_definitions(text, "function New -> Command")
    check_bindings(
        text,
        """
        New | T = Item
        New | f: Factory
        New | c: Command
        New | args = ?
        New | opts = f.Options()
        """,
    )


def test_a_struct_and_an_interface_around_the_cursor_are_kept():
    check_definitions("type Shop[T any] struct {\n*ns.Base\nstore *Store\n", "struct Shop(ns.Base)")
    check_bindings("type Shop[T any] struct {\nstore *Store\n", "Shop | T = ?\nShop | self.store: Store")
    check_definitions(
        "type Payer interface {\nCloser\nPay() *Bill\n", "interface Payer(Closer)\nmethod Payer.Pay -> Bill"
    )
    check_definitions("type (\nA int\nB struct {\nc *C\n", "type A\nstruct B")


def test_a_struct_without_a_name_is_no_definition():
    check_definitions("func f() {\ntests := []struct {\na *Shop\n}{\n{a: ", "function f")
    check_bindings("func f() {\nvar x struct {\na *Shop\n", "")


def test_a_type_switch_around_the_cursor_binds_its_name():
    file = parsed("func f(x any) {\nswitch v := x.(type) {\ncase *A:\nv.a()\ncase B, C:\nv.b()\ncase D:\nif v {\nv.c(")
    assert [(b.how, b.value, b.line) for b in file.bindings if b.name == "v"] == [
        ("annotation", "A", 3),
        ("alias", "x", 5),
        ("annotation", "D", 7),
    ]


def test_an_open_group_of_constants_and_variables_is_read():
    check_bindings("const (\nRed Color = iota\nGreen\n", "Red: Color\nGreen: Color")
    check_bindings("var (\na = open()\nb *Shop\n", "a = open()\nb: Shop")


def test_a_literal_at_the_top_level_names_the_function_around_the_cursor():
    check_definitions("var Pay = func(s *Shop) *Bill {\nif s.open {\ns.", "function Pay -> Bill")
    check_bindings("var Pay = func(s *Shop) *Bill {\nx := s.till\nif s.open {\ns.", "Pay | s: Shop\nPay | x = s.till")
