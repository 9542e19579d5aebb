"""Which definition does a call in C# lead to, and how was it found? Small repositories as text, one behaviour each."""

import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import CodeGraph, parse_file, reachable_symbols


def repository(text: str) -> CodeGraph:
    """Files under `#- path` headers."""
    parts = textwrap.dedent(text).strip("\n").split("#- ")[1:]
    files = (part.partition("\n")[::2] for part in parts)
    return CodeGraph.build(parse_file(path.strip(), content) for path, content in files)


def calls(graph: CodeGraph, path: str) -> list[str]:
    """The edges of a file as `shop.Pay -> Shop.cs::Shop.Pay (typed local)`."""
    all_calls = graph.files[path].calls
    return [f"{all_calls[e.call].callee} -> {e.path}::{e.qualified_name} ({e.how})" for e in graph.call_edges(path)]


def check(text: str, *expected: str, path: str = "Main.cs") -> None:
    """The calls of `path` resolve to exactly these edges, in any order."""
    assert sorted(calls(repository(text), path)) == sorted(expected)


SHOP = """
        #- Shop.cs
        namespace Acme.Shops;
        public class Shop { public Bill Pay(int x) { return null; } public static Shop Open() { return null; } }
        #- Bill.cs
        namespace Acme.Shops { public class Bill { public void Print() { } } }
"""


# Namespaces


@pytest.mark.parametrize(
    "head",
    [
        "using Acme.Shops;\nclass A {",
        "namespace Acme.Shops;\nclass A {",
        "namespace Acme.Shops.Deep;\nclass A {",
        "namespace Acme.Shops.Deep.Deeper {\nclass A {",
        "using Acme.Shops;\nnamespace Other {\nclass A {",
        "using Shop = Acme.Shops.Shop;\nclass A {",
        "namespace Acme.Other;\nusing Shops;\nclass A {",
        "namespace Acme.Other {\nusing Shops;\nclass A {",
        "global using Acme.Shops;\nclass A {",
    ],
)
def test_a_type_is_found_by_its_namespace(head: str):
    end = "}" * head.count("{")
    check(
        f"{SHOP}\n        #- Main.cs\n"
        + textwrap.indent(f"{head} void F(Shop s) {{ s.Pay(1).Print(); }} {end}", " " * 8),
        "s.Pay().Print -> Bill.cs::Acme.Shops.Bill.Print (returned type)",
        "s.Pay -> Shop.cs::Shop.Pay (typed local)",
    )


def test_a_type_of_another_namespace_is_not_found():
    check(f"{SHOP}\n        #- Main.cs\n        namespace Other; class A {{ void F(Shop s) {{ s.Pay(1); }} }}")


def test_a_name_may_begin_with_its_namespace():
    check(
        f"""{SHOP}
        #- Main.cs
        namespace Acme.Other;
        class A {{ void F() {{ Acme.Shops.Shop.Open(); Shops.Shop.Open(); new Shops.Shop(); }} }}
        """,
        "Acme.Shops.Shop.Open -> Shop.cs::Shop.Open (class attribute)",
        "Shops.Shop.Open -> Shop.cs::Shop.Open (class attribute)",
        "Shops.Shop -> Shop.cs::Shop (module attribute)",
    )


def test_static_usings_bring_members():
    check(
        f"""{SHOP}
        #- Main.cs
        using static Acme.Shops.Shop;
        class A {{ void F() {{ Open().Pay(1); }} }}
        """,
        "Open().Pay -> Shop.cs::Shop.Pay (returned type)",
        "Open -> Shop.cs::Shop.Open (import)",
    )


@pytest.mark.parametrize(
    ("path", "text", "is_found"),
    [
        ("src/Usings.cs", "global using Acme.Shops;", True),
        ("src/Deep/Usings.cs", "global using Acme.Shops;", True),
        ("tests/Usings.cs", "global using Acme.Shops;", False),
        ("src/A.csproj", '<Project><ItemGroup><Using Include="System;Acme.Shops"/></ItemGroup></Project>', True),
        ("tests/B.csproj", '<Project><ItemGroup><Using Include="Acme.Shops" /></ItemGroup></Project>', False),
        ("Directory.Build.props", '<Project><ItemGroup><Using Include="Acme.Shops"/></ItemGroup></Project>', True),
        ("src/A.csproj", '<Project><ItemGroup><Using Include="Acme.Shops"/>', False),
    ],
)
def test_global_usings_hold_for_their_project(path: str, text: str, is_found: bool):
    files = {
        "src/A.csproj": "<Project/>",
        "tests/B.csproj": "<Project/>",
        "src/Lib/Shop.cs": "namespace Acme.Shops; public class Shop { public void Pay() { } }",
        "src/Deep/Main.cs": "namespace Main; class A { void F(Shop s) { s.Pay(); } }",
    }
    graph = CodeGraph.build(parse_file(*item) for item in (files | {path: text}).items())
    found = ["s.Pay -> src/Lib/Shop.cs::Shop.Pay (typed local)"] if is_found else []
    assert calls(graph, "src/Deep/Main.cs") == found


# Members


def test_members_need_no_object():
    check(
        """
        #- Main.cs
        class A : Base
        {
            Till till = new();
            List<Item> Items => till.Items();
            Item Best { get { return till.Best(); } }
            void F()
            {
                Close();
                till.Open();
                this.till.Open();
                base.Close();
                Best.Show();
                foreach (var item in Items) item.Show();
                Items[0].Show();
                Inner.Go();
            }
            static class Inner { public static void Go() { Help(); } }
            static void Help() { }
        }
        #- Base.cs
        class Base { protected void Close() { } }
        class Item { public void Show() { } }
        #- Till.cs
        class Till { public void Open() { } public List<Item> Items() { } public Item Best() { } }
        """,
        "Till -> Till.cs::Till (same package)",
        "till.Items -> Till.cs::Till.Items (typed local)",
        "till.Best -> Till.cs::Till.Best (typed local)",
        "Close -> Base.cs::Base.Close (inherited)",
        "till.Open -> Till.cs::Till.Open (typed local)",
        "this.till.Open -> Till.cs::Till.Open (typed attribute)",
        "base.Close -> Base.cs::Base.Close (super)",
        "Best.Show -> Base.cs::Item.Show (returned type)",
        "item.Show -> Base.cs::Item.Show (typed local)",
        "Items[].Show -> Base.cs::Item.Show (typed local)",
        "Inner.Go -> Main.cs::A.Inner.Go (class attribute)",
        "Help -> Main.cs::A.Help (same file)",
    )


def test_the_parts_of_a_partial_class_are_one_class():
    check(
        """
        #- Main.cs
        namespace N; partial class A { void F() { Save(); till.Open(); Go(); } }
        #- A.Data.cs
        namespace N; partial class A : Base { Till till; void Save() { } }
        #- Base.cs
        namespace N { class Base { public void Go() { } } class Till { public void Open() { } } }
        """,
        "Save -> A.Data.cs::A.Save (self)",
        "till.Open -> Base.cs::N.Till.Open (typed attribute)",
        "Go -> Base.cs::N.Base.Go (inherited)",
    )


def test_constructors():
    check(
        """
        #- Main.cs
        class A : B
        {
            A(int x) : base(x) { }
            A() : this(1) { new Bill(1); Bill b = new(2); }
            Bill Make() => new(3);
        }
        class B { protected B(int x) { } }
        record Bill(int X);
        """,
        "base -> Main.cs::B (super)",
        "base -> Main.cs::B.B (constructor)",
        "A -> Main.cs::A (same file)",
        "A -> Main.cs::A.A (constructor)",
        "Bill -> Main.cs::Bill (same file)",
        "Bill -> Main.cs::Bill (same file)",
        "Bill -> Main.cs::Bill (same file)",
    )


def test_calls_of_an_interface_reach_its_implementations():
    check(
        """
        #- Main.cs
        class A { void F(IShop s) { s.Pay(); } }
        #- IShop.cs
        interface IShop { Bill Pay(); }
        #- Shop.cs
        class Shop : IShop { public Bill Pay() { } }
        record Small(int X) : IShop { public Bill Pay() { } }
        """,
        "s.Pay -> IShop.cs::IShop.Pay (typed local)",
        "s.Pay -> Shop.cs::Shop.Pay (implementation)",
        "s.Pay -> Shop.cs::Small.Pay (implementation)",
    )


def test_extension_methods():
    check(
        """
        #- Main.cs
        using Acme.Exts;
        class A { void F(Small s, string t, Color c) { s.Close().Open(); t.Shorten(); c.Paint(); Color.Red.Paint(); } }
        class Small : Shop { }
        #- Shop.cs
        class Shop { public void Open() { } }
        enum Color { Red }
        #- Exts.cs
        namespace Acme.Exts
        {
            static class Exts
            {
                public static Shop Close(this Shop s) { return s; }
                public static string Shorten(this string s) { return s; }
                internal static void Paint(this Color c) { }
            }
        }
        """,
        "s.Close().Open -> Shop.cs::Shop.Open (returned type)",
        "s.Close -> Exts.cs::Acme.Exts.Exts.Close (typed local)",
        "t.Shorten -> Exts.cs::Acme.Exts.Exts.Shorten (unique name)",
        "c.Paint -> Exts.cs::Acme.Exts.Exts.Paint (typed local)",
        "Color.Red.Paint -> Exts.cs::Acme.Exts.Exts.Paint (typed attribute)",
    )


def test_an_extension_method_may_return_its_receiver():
    check(
        """
        #- Main.cs
        class A
        {
            void F()
            {
                new ShopBuilder().With(1).With(2).Build();
                var b = new ShopBuilder().With(1);
                b.Build();
            }
        }
        class Builder { }
        class ShopBuilder : Builder { public void Build() { } }
        static class Exts { public static T With<T>(this T b, int x) where T : Builder => b; }
        """,
        "ShopBuilder -> Main.cs::ShopBuilder (same file)",
        "ShopBuilder -> Main.cs::ShopBuilder (same file)",
        "ShopBuilder().With -> Main.cs::Exts.With (typed attribute)",
        "ShopBuilder().With -> Main.cs::Exts.With (typed attribute)",
        "ShopBuilder().With().With -> Main.cs::Exts.With (typed attribute)",
        "ShopBuilder().With().With().Build -> Main.cs::ShopBuilder.Build (returned type)",
        "b.Build -> Main.cs::ShopBuilder.Build (typed local)",
    )


def test_an_extension_of_a_type_from_outside_gives_its_arguments():
    check(
        """
        #- Main.cs
        class A { void F(IServices services) { services.AddShop(shop => shop.Open()); } }
        class Shop { public void Open() { } }
        static class Exts { public static void AddShop(this IServices services, Action<Shop> act) { } }
        """,
        "services.AddShop -> Main.cs::Exts.AddShop (unique name)",
        "shop.Open -> Main.cs::Shop.Open (typed local)",
    )


# Values


@pytest.mark.parametrize(
    "statement",
    [
        "var s = Open(); s.Pay();",
        "var s = await OpenAsync(); s.Pay();",
        "(await OpenAsync().ConfigureAwait(false)).Pay();",
        "if (x is Shop s) s.Pay();",
        "switch (x) { case Shop s: s.Pay(); break; }",
        "var s = x as Shop; s.Pay();",
        "((Shop)x).Pay();",
        "foreach (var s in All()) s.Pay();",
        "All().First().Pay();",
        "All().Where(s => s != null).ToList()[0].Pay();",
        "All().Any(s => s.Pay() != null);",
        "foreach (var pair in Map()) pair.Value.Pay();",
        "foreach (var s in Map().Values) s.Pay();",
        "Map().TryGetValue(1, out var s); s.Pay();",
        "Try(1, out var s); s.Pay();",
        "Try(1, out Shop s); s.Pay();",
        "With(1, s => s.Pay());",
        "With(1, s => { s.Pay(); });",
        "new Runner((n, s) => s.Pay());",
        "Func<Shop> make = () => new Shop(); make().Pay();",
        "var make = () => new Shop(); make().Pay();",
        "Maker make = x; make(1).Pay();",
        "lazy.Value.Pay();",
        "var q = from s in All() select s.Pay();",
        "var s = flag ? null : new Shop(); s.Pay();",
        "using (var s = Open()) { s.Pay(); }",
        "Shop Local() => null; Local().Pay();",
        "var t = (s: 1, 2); Open()?.Pay();",
    ],
)
def test_a_value_has_a_type(statement: str):
    graph = repository(
        """
        #- Shop.cs
        class Shop : IDisposable { public Bill Pay() { } }
        class Runner { public Runner(Action<int, Shop> act) { } }
        delegate Shop Maker(int x);
        #- Main.cs
        class A
        {
            Lazy<Shop> lazy;
            Shop Open() { }
            Task<Shop> OpenAsync() { }
            List<Shop> All() { }
            Dictionary<int, Shop> Map() { }
            bool Try(int x, out Shop s) { }
            void With(int x, Action<Shop> act) { }
            async Task F(object x, bool flag)
            {
                """
        + statement
        + """
            }
        }
        """
    )
    assert [call for call in calls(graph, "Main.cs") if "Shop.Pay (" in call]


def test_names_from_outside_have_no_definition():
    check(
        """
        #- Main.cs
        using System;
        class A { void F(Stream x) { x.Open(); Console.Open(); Unknown(); nothing.Open(); Get<int>().Open(); } }
        #- Shop.cs
        class Shop { public void Open() { } public int Unknown() { } }
        """
    )


# Snapshots

_PATHS = ("A/A.cs", "A/B.cs", "A/Deep/C.cs", "B/D.cs", "A/A.csproj", "B/B.csproj", "Directory.Build.props")
_LINES = (
    "using N.M;",
    "global using N;",
    "global using static N.Exts;",
    "using T = N.Shop;",
    "class Main { void F(Shop s, T t) { s.PayAll(); s.CloseAll(); t.PayAll(); OpenAll(); } }",
    "namespace N { partial class Shop { public void PayAll() { } } }",
    "namespace N { partial class Shop : IShop { Till till; void G() { PayAll(); till.OpenTill(); } } }",
    "namespace N.M { class Shop { public void PayAll() { } } class Till { public void OpenTill() { } } }",
    "namespace N { interface IShop { void PayAll(); } class Till { public Till OpenTill() { } } }",
    "namespace N { static class Exts { public static void CloseAll(this Shop s) { } static void OpenAll() { } } }",
    "namespace N;",
    "namespace N.M { class User { void F(IShop s, N.Till t) { s.PayAll(); t.OpenTill().OpenTill(); } } }",
    "namespace N { class Uses { void F() { With(s => s.PayAll()); } void With(Action<Shop> act) { } } }",
)
_PROJECTS = (
    "<Project/>",
    '<Project><Using Include="N"/></Project>',
    '<Project><Using Include="N.M;N"/></Project>',
    "<",
)


def _content(path: str) -> st.SearchStrategy[str]:
    if path.endswith(".cs"):
        return st.lists(st.sampled_from(_LINES), max_size=4).map("\n".join)
    return st.sampled_from(_PROJECTS)


_states = st.fixed_dictionaries({}, optional={path: _content(path) for path in _PATHS})
_steps = st.lists(
    st.sampled_from(_PATHS).flatmap(lambda path: st.tuples(st.just(path), st.none() | _content(path))), max_size=6
)


def everything(graph: CodeGraph) -> dict[str, object]:
    return {
        path: (graph.call_edges(path), set(reachable_symbols(graph, path, file.n_lines)))
        for path, file in graph.files.items()
    }


@settings(max_examples=100, deadline=None)
@given(_states, _steps)
def test_changes_give_what_a_build_from_scratch_gives(state, changes):
    graph = CodeGraph.build(parse_file(path, text) for path, text in state.items())
    for path, text in changes:
        if text is not None and path in graph.files:
            overlay = graph.overlay(parse_file(path, text))
            assert overlay.call_edges(path) == graph.with_changes([parse_file(path, text)]).call_edges(path)
        graph = graph.with_changes([] if text is None else [parse_file(path, text)], [path] if text is None else [])
        assert everything(graph) == everything(CodeGraph.build(graph.files.values()))
