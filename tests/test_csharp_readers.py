"""Text in, facts of C# out: namespaces, usings, types, members and bindings, also in texts that end at a cursor."""

from __future__ import annotations

from textwrap import dedent

import pytest
from reader_facts import bindings, definitions, lines
from weft.codegraph import FileGraph, parse_file


def parsed(text: str) -> FileGraph:
    return parse_file("a.cs", dedent(text))


def check_definitions(text: str, expected: str) -> None:
    assert sorted(definitions(parsed(text))) == lines(expected)


def check_bindings(text: str, expected: str) -> None:
    assert sorted(bindings(parsed(text))) == lines(expected)


def in_method(statement: str) -> FileGraph:
    return parsed(f"class A\n{{\nvoid F()\n{{\n{statement}\n}}\n}}\n")


def check_local(statement: str, *expected: str) -> None:
    """The bindings of one statement in a method."""
    found = bindings(in_method(statement))
    assert [line.removeprefix("A.F | ") for line in found] == list(expected)


def callees(statement: str) -> list[str]:
    return [call.callee for call in in_method(statement).calls]


# Namespaces and usings


def test_a_namespace_of_the_file_is_its_package():
    file = parsed("using System;\nnamespace Acme.Shops;\nclass Shop { }\n")
    assert file.package == "Acme.Shops"
    assert definitions(file) == ["class Shop"]


def test_namespaces_with_a_body_are_definitions():
    file = parsed("namespace Acme.Shops { namespace Tills { class Till { } } }\n")
    assert file.package == ""
    assert definitions(file) == [
        "namespace Acme.Shops",
        "namespace Acme.Shops.Tills",
        "class Acme.Shops.Tills.Till",
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("using Acme.Shops;", ("", "Acme.Shops", "*")),
        ("using static Acme.Shops.Prices;", ("", "Acme.Shops.Prices", "*")),
        ("using static Acme.Prices<int>;", ("", "Acme.Prices", "*")),
        ("global using Acme;", ("global", "Acme", "*")),
        ("global using static Acme.Prices;", ("global", "Acme.Prices", "*")),
        ("using Till = Acme.Shops.Till<int>;", ("Till", "Acme.Shops", "Till")),
        ("using Till = global::Acme.Till;", ("Till", "Acme", "Till")),
        ("#if NET\nusing Acme;\n#endif", ("", "Acme", "*")),
    ],
)
def test_usings(written: str, expected: tuple[str, str, str]):
    (item,) = parsed(written + "\nclass A { }\n").imports
    assert (item.local_name, item.module, item.name) == expected


# Types


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Shop", "Shop"),
        ("Shop?", "Shop"),
        ("Acme.Shop", "Acme.Shop"),
        ("global::Acme.Shop", "Acme.Shop"),
        ("Shop<int>", "Shop"),
        ("Acme.Shop<int>.Till", "Acme.Shop.Till"),
        ("Task<Shop>", "Shop"),
        ("ValueTask<Shop?>", "Shop"),
        ("System.Threading.Tasks.Task<Shop>", "Shop"),
        ("Lazy<Shop>", "Shop"),
        ("Shop[]", "Shop[]"),
        ("List<Shop>", "Shop[]"),
        ("Task<IReadOnlyList<Shop>>", "Shop[]"),
        ("Dictionary<string, Shop>", "Shop[]"),
        ("IEnumerable<Acme.Shop>", "Acme.Shop[]"),
        ("List<List<Shop>>", ""),
        ("Shop[][]", ""),
        ("int", ""),
        ("String", ""),
        ("List<int>", ""),
        ("Task", "Task"),
        ("Func<Shop>", ""),
        ("(Shop a, Shop b)", ""),
        ("Expression<Func<Shop, int>>", ""),
    ],
)
def test_a_type_is_reduced_to_one_name(written: str, text: str):
    check_local(f"{written} x = y;", f"x: {text or 'object'}")
    returned = parsed(f"class A {{ {written} F() {{ }} }}").definitions[1]
    assert returned.returns == text


# Definitions


def test_types_have_members():
    check_definitions(
        """
        public partial class Shop<T>(Till till) : Base<T>(till), IShop, IEnumerable<Item> where T : Item
        {
            public Shop(int n) : this(null) { }
            [Fact]
            public async Task<Bill> Pay<U>(int x) where U : Item => Sum();
            void IShop.Close() { int Local() { return 1; } }
            public static Shop operator +(Shop a, Shop b) => a;
            public Item this[int i] { get { return all[i]; } }
            public Bill Total => Sum();
            public Bill Rest { get { return Sum(); } set; }
            public Bill Plain { get; set; } = new();
            enum Kind { Big, Small }
            delegate Bill Maker(int x);
            record struct Point(int X, Item Item);
        }
        interface IShop { Bill Pay(int x); int N { get; } }
        """,
        """
        class Shop(Base, IShop, Item[])
        constructor Shop.Shop
        method Shop.Pay -> Bill
        method Shop.Close
        function Shop.Close.Local
        method Shop.operator+ -> Shop
        method Shop.this[] -> Item
        method Shop.Total -> Bill
        method Shop.Rest -> Bill
        enum Shop.Kind
        type Shop.Maker
        method Shop.Maker.Invoke -> Bill
        record Shop.Point
        interface IShop
        method IShop.Pay -> Bill
        """,
    )


def test_a_definition_begins_at_its_attributes():
    (shop, pay) = parsed("[Serializable]\nclass Shop\n{\n  [Fact]\n  [Slow]\n  void Pay() { }\n}\n").definitions
    assert (shop.start_line, shop.header_line, pay.start_line, pay.header_line) == (0, 1, 3, 5)


def test_lambdas_that_are_bound_to_a_name_are_definitions():
    text = """
        class A
        {
            static readonly Func<Shop, Bill> Pay = s => s.Total();
            void F()
            {
                Func<Task<Bill>> make = async () => { var x = Load(); return x; };
                var open = (int n) => new Shop(n);
                Action<Shop, Till> both = (s, t) => t.Close(s);
            }
        }
        """
    check_definitions(
        text,
        """
        class A
        method A.Pay -> Bill
        method A.F
        function A.F.make -> Bill
        function A.F.open
        function A.F.both
        """,
    )
    check_bindings(
        text,
        """
        A.Pay | s = ?
        A.Pay | s: Shop
        A.F.make | x = Load()
        A.F.open | (): Shop
        A.F.open | n: object
        A.F.both | s: Shop
        A.F.both | t: Till
        A.F.both | s = ?
        A.F.both | t = ?
        """,
    )


def test_preprocessor_lines_hide_nothing():
    check_definitions(
        """
        #if NET
        namespace N
        {
        #region Shops
            class Shop
        #if X
                : Base
        #endif
            {
        #if Y
                void Pay() { }
        #else
                void Close() { }
        #endif
            }
        #endregion
        }
        #endif
        """,
        """
        namespace N
        class N.Shop(Base)
        method N.Shop.Pay
        method N.Shop.Close
        """,
    )


# Members


def test_fields_properties_and_events_are_bound():
    check_bindings(
        """
        class Shop(Till till, int n)
        {
            private readonly Store store = new(), other;
            public List<Item> Items { get; set; } = new();
            public Bill Total => store.Total();
            public int Count { get; }
            public event PaidHandler Paid;
        }
        enum Color { Red }
        record Bill(Shop Shop, string Name);
        """,
        """
        Shop | self.till: Till
        Shop | self.n: object
        Shop | self.store: Store
        Shop | self.other: Store
        Shop | self.Items: Item[]
        Shop | self.Total: Bill
        Shop | self.Count: object
        Shop | self.Paid: PaidHandler
        Color | self.Red: Color
        Bill | self.Shop: Shop
        Bill | self.Name: object
        """,
    )


def test_parameters_and_what_they_give_to_arguments_are_bound():
    check_bindings(
        """
        class A<T> where T : Item
        {
            void F<U>(Shop a, out Bill b, int n, Action<Till, Shop> act, params Item[] rest) where U : class, IThing { }
            A(Func<Shop, int> f) { }
            void H(params Action<Till>[] acts) { }
            void G(Expression<Func<Shop, Bill>> e, Func<int> g) { }
        }
        """,
        """
        A | T = Item
        A.F | U = IThing
        A.F | a: Shop
        A.F | b: Bill
        A.F | #1: Bill
        A.F | n: object
        A.F | act: object
        A.F | #3: Till
        A.F | #3#1: Shop
        A.F | rest: Item[]
        A.A | f: object
        A.A | #0: Shop
        A.H | acts: object
        A.H | #0: Till
        A.H | #1: Till
        A.H | #2: Till
        A.G | e: object
        A.G | #0: Shop
        A.G | g: object
        """,
    )


def test_an_extension_method_belongs_to_its_receiver():
    check_bindings(
        """
        namespace N
        {
            static class Exts
            {
                public static void Close(this Shop shop, Action<Till> act) { }
                public static void Shorten(this string text) { }
                public static void Sum(this IEnumerable<Shop> shops) { }
                public static void Any<T>(this T shop) where T : IShop { }
            }
        }
        static class More { static void Go(this N.Shop s) { } }
        """,
        """
        N.Exts.Close | shop: Shop
        N.Exts.Close | act: object
        N.Exts.Close | #0: Till
        N | Shop.Close = Exts.Close
        N | Shop[].Sum = Exts.Sum
        N.Exts.Shorten | text: object
        N | string.Shorten = Exts.Shorten
        N.Exts.Sum | shops: Shop[]
        N.Exts.Any | T = IShop
        N.Exts.Any | shop: T
        N | IShop.Any = Exts.Any
        More.Go | s: N.Shop
        N.Shop.Go = More.Go
        """,
    )


# Statements


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("var x = new Shop();", ["x: Shop"]),
        ("var x = new Acme.Shop<int>() { A = b };", ["x: Acme.Shop"]),
        ("Shop x = new();", ["x: Shop"]),
        ("var x = new List<Shop>();", ["x: Shop[]"]),
        ("var x = new Shop[3];", ["x: Shop[]"]),
        ("var x = Open();", ["x = Open()"]),
        ("var x = await till.Open();", ["x = till.Open()"]),
        ("var x = Get<Shop>();", ["x = Get()", "x: Shop"]),
        ("var x = all.OfType<Shop>();", ["x = all.OfType()", "x: Shop[]"]),
        ("var x = y?.Shop;", ["x = y.Shop"]),
        ("var x = shops[0];", ["x = shops[]"]),
        ("var x = (Shop)y;", ["x: Shop"]),
        ("var x = y as Shop;", ["x: Shop"]),
        ("var x = a ?? Open();", ["x = a", "x = Open()"]),
        ("var x = b ? new Shop() : null;", ["x: Shop"]),
        ("var x = y switch { 1 => new Shop(), _ => z };", ["x: Shop", "x = z"]),
        ("var x = y!;", ["x = y"]),
        ('var x = "text";', ["x: object"]),
        ("var (a, b) = (shop, Open());", ["a = shop", "b = Open()"]),
        ("var (a, b) = Open();", ["a = ?", "b = ?"]),
        ("foreach (var s in shops) { }", ["s = shops[]"]),
        ("foreach (var s in map.Values) { }", ["s = map[]"]),
        ("foreach (Shop s in shops) { }", ["s: Shop"]),
        ("foreach (var (k, v) in map) { }", ["k = ?", "v = ?"]),
        ("using (var x = Open()) { }", ["x = Open()"]),
        ("using var x = Open();", ["x = Open()"]),
        ("for (Shop s = a; ; ) { }", ["s: Shop"]),
        ("try { } catch (PayError e) { }", ["e: PayError"]),
        ("if (y is Shop s) { }", ["s: Shop"]),
        ("if (y is Shop { Till: Till t } s) { }", ["s: Shop", "t: Till"]),
        ("switch (y) { case Shop s when s.Ok: break; }", ["s: Shop"]),
        ("Try(1, out var x);", ["x = Try.#1", "x = ?"]),
        ("map.TryGetValue(k, out var x);", ["x = map[]", "x = map.TryGetValue.#1", "x = ?"]),
        ("Try(out Shop x);", ["x: Shop"]),
        ("shops.Where(s => s.Ok);", ["s = shops[]", "s = shops.Where.#0", "s = ?"]),
        ("new Till(t => t.Go());", ["t = Till.#0", "t = ?"]),
        ("Map(1, (a, b) => a);", ["a = Map.#1", "b = Map.#1#1", "a = ?", "b = ?"]),
        ("Map((Shop a) => a);", ["a: Shop"]),
        ("Go(delegate (Shop a) { });", ["a: Shop"]),
        ("var q = from s in shops let t = s.Till select t;", ["q = ?", "s = shops[]", "t = s.Till"]),
        ("x = new Shop();", []),
    ],
)
def test_a_statement_binds(statement: str, expected: list[str]):
    check_local(statement, *expected)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("a?.Pay()?.Close(x);", ["a.Pay().Close", "a.Pay"]),
        ("((Shop)x).Pay();", ["Shop().Pay"]),
        ("(x as Shop).Pay();", ["Shop().Pay"]),
        ("(await Open()).Pay();", ["Open().Pay", "Open"]),
        ("new Acme.Shop<int>(1).Pay();", ["Acme.Shop().Pay", "Acme.Shop"]),
        ("Shop x = new(1);", ["Shop"]),
        ("base.Pay(); this.Pay();", ["base.Pay", "this.Pay"]),
        ("global::Acme.Shop.Pay();", ["Acme.Shop.Pay"]),
        ("Shop<int>.Pay<Till>();", ["Shop.Pay"]),
        ("Go(nameof(x));", ["Go"]),
        ("x!.Pay();", ["x.Pay"]),
        (f"new Shop().With(a => {{ {'b(); ' * 60} }}).Pay();", ["Shop().With().Pay", "Shop().With", "Shop"]),
    ],
)
def test_a_callee_is_dotted(statement: str, expected: list[str]):
    found = callees(statement)
    assert [callee for callee in found if callee != "b"] == expected


def test_constructors_call_others():
    text = "class B : A { B() : base(1) { } B(int x) : this() { } }\nrecord C(int X) : D(X);\n"
    assert sorted(call.callee for call in parsed(text).calls) == ["B", "D", "base"]


def test_statements_at_the_top_level():
    file = parsed("using Acme;\nvar shop = new Shop();\nshop.Pay();\nvoid Go(Till t) { }\n")
    assert bindings(file) == ["shop: Shop", "Go | t: Till"]
    assert definitions(file) == ["function Go"]


# Texts that end at a cursor

_FILE = """\
using Acme;
namespace Acme.Shops
{
    public partial class Shop<T>(Till till) : Base<T>, IShop where T : Item
    {
        private readonly Store _store;
        public Bill Total
        {
            get
            {
                var total = Sum();
                return total;
            }
        }
        public Shop(Store store) : base(store)
        {
            _store = store;
        }
        public async Task<Bill> Pay<U>(Shop other, Action<Till> act)
            where U : Item
        {
            if (other is Small s && s.Try(out var bill))
            {
                foreach (var item in _store.Items)
                {
                    item.Pay();
                    _store.Map(1, (a, b) =>
                    {
                        using (var open = Open())
                        {
                            a.Go(
                                b.First(c => c.Done));
                        }
                    });
                }
            }
            try
            {
                Go();
            }
            catch (PayError error)
            {
                error.Log();
            }
            Func<Shop, Bill> make = x => x.Make();
            return make(this);
        }
        public Bill Rest => _store
            .Rest();
    }
}
"""


def test_facts_above_the_cursor_are_found():
    whole = parsed(_FILE)
    known = set(definitions(whole)), set(bindings(whole))
    all_lines = _FILE.splitlines(keepends=True)
    for cut in range(5, len(all_lines)):
        file = parsed("".join(all_lines[:cut]))
        above = {definitions(whole)[i] for i, d in enumerate(whole.definitions) if d.header_line < cut - 2}
        bound = {bindings(whole)[i] for i, b in enumerate(whole.bindings) if b.line < cut - 2}
        assert above <= set(definitions(file)), cut
        assert bound <= set(bindings(file)), cut
        assert set(definitions(file)) <= known[0], cut
        assert [i.module for i in file.imports] == ["Acme"]


def test_an_open_body_ends_with_the_text():
    file = parsed(
        "class Shop\n{\n    void Pay(Till till)\n    {\n        Go();\n        if (x)\n        {\n            till."
    )
    assert [(d.qualified_name, d.end_line) for d in file.definitions] == [("Shop", 8), ("Shop.Pay", 8)]
    assert [(c.callee, c.scope) for c in file.calls] == [("Go", 1)]
