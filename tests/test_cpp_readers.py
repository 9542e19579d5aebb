"""Text in, facts of C and C++ out: declarations, types and bindings, with macros, and in texts that end at a cursor."""

from __future__ import annotations

import time
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_facts import bindings, definitions, lines
from tree_sitter import Parser
from weft.codegraph import FileGraph, parse_file
from weft.languages import LANGUAGES, grammar
from weft.languages.cpp.conditionals import without_conditionals
from weft.languages.cpp.macros import without_macros


def parsed(text: str, path: str = "a.cc") -> FileGraph:
    return parse_file(path, dedent(text))


def check_definitions(text: str, expected: str, path: str = "a.cc") -> None:
    assert sorted(definitions(parsed(text, path))) == lines(expected)


def check_bindings(text: str, expected: str, path: str = "a.cc") -> None:
    assert sorted(bindings(parsed(text, path))) == lines(expected)


def check_local(statement: str, *expected: str) -> None:
    """The bindings of one statement in a function."""
    found = bindings(parsed(f"void f() {{\n{statement}\n}}\n"))
    assert [line.removeprefix("f | ") for line in found] == list(expected)


def callees(statement: str, path: str = "a.cc") -> list[str]:
    return [call.callee for call in parsed(f"void f() {{\n{statement}\n}}\n", path).calls]


def readable(text: str, path: str = "cpp") -> str:
    found = LANGUAGES[path].readable(text.encode()).decode()
    assert len(found) == len(text) and found.count("\n") == text.count("\n")
    return found


# Types


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Shop", "Shop"),
        ("const Shop&", "Shop"),
        ("Shop const * const *", "Shop"),
        ("Shop&&", "Shop"),
        ("struct shop *", "shop"),
        ("ns::Shop", "ns.Shop"),
        ("::ns::Shop&", "ns.Shop"),
        ("Shop<int>", "Shop"),
        ("ns::Shop<int>::Cart", "ns.Shop.Cart"),
        ("std::unique_ptr<Shop>", "Shop"),
        ("const std::shared_ptr<const ns::Shop>&", "ns.Shop"),
        ("std::optional<Shop>", "Shop"),
        ("absl::StatusOr<Shop>", "Shop"),
        ("std::vector<Shop>", "Shop[]"),
        ("std::vector<std::unique_ptr<Shop>>&", "Shop[]"),
        ("std::map<int, Shop*>", "Shop[]"),
        ("std::unordered_map<std::string, ns::Shop>", "ns.Shop[]"),
        ("std::pair<int, Shop>", "Shop"),
        ("std::vector<std::vector<Shop>>", ""),
        ("std::string", ""),
        ("std::vector<int>", ""),
        ("std::function<Shop(int)>", ""),
        ("int", ""),
        ("unsigned long", ""),
        ("size_t", ""),
        ("auto", ""),
    ],
)
def test_types_are_reduced(written: str, text: str):
    expected = f"f | x: {text}" if text else "f | x = ?"
    assert bindings(parsed(f"void f({written} x) {{}}\n")) == [expected]


def test_arrays_are_collections():
    check_bindings(
        "void f(struct shop s[], struct shop *t[4], struct shop u[2][2], int (*cb)(struct shop *)) {}",
        """
        f | s: shop[]
        f | t: shop[]
        f | u = ?
        f | cb = ?
        """,
        "a.c",
    )


# Definitions


def test_a_class_has_its_members():
    check_definitions(
        """
        class Shop final : public Base<int>, private virtual ns::Other {
         public:
          Shop();
          explicit Shop(int x) : x_(x) {}
          virtual ~Shop() = 0;
          virtual Cart* pay(int n) const = 0;
          static std::unique_ptr<Shop> make();
          Shop& operator=(const Shop&) = delete;
          explicit operator bool() const;
          template <class T> T get(T x) { return x; }
          struct Inner { Shop* up; };
          enum class Color { Red };
          using Ptr = std::shared_ptr<Shop>;
          friend void pay_all(Shop&);
          friend class Till;
        };
        """,
        """
        class Shop(Base, ns.Other)
        declaration Shop.Shop
        constructor Shop.Shop
        declaration Shop.~Shop
        declaration Shop.pay -> Cart
        declaration Shop.make -> Shop
        method Shop.operator= -> Shop
        declaration Shop.operatorbool
        method Shop.get -> T
        struct Shop.Inner
        enum Shop.Color
        type Shop.Ptr(Shop)
        """,
    )


def test_fields_are_bound():
    check_bindings(
        """
        struct Shop {
          Db *db = nullptr, &other;
          std::vector<Cart> carts_;
          static Till till;
          int n;
          union { int a; Cart *cart; };
          struct { Till *till; } both;
        };
        """,
        """
        Shop | self.db: Db
        Shop | self.other: Db
        Shop | self.carts_: Cart[]
        Shop | self.till: Till
        Shop | self.n = ?
        Shop | self.a = ?
        Shop | self.cart: Cart
        Shop.both | self.till: Till
        """,
    )


def test_functions_and_methods_outside_of_classes():
    check_definitions(
        """
        namespace a::b {
        Status Shop::pay(int n) { return Status(); }
        Shop::Shop(int n) : n_(n) {}
        Shop::~Shop() = default;
        template <> Cart* ns::Shop<int>::cart() { return nullptr; }
        bool operator==(const Shop& x, const Shop& y) { return true; }
        auto make() -> std::unique_ptr<Shop> { return nullptr; }
        static inline Shop* find() { return nullptr; }
        void declared();
        }
        """,
        """
        namespace a.b
        method a.b.Shop.pay -> Status
        constructor a.b.Shop.Shop
        method a.b.Shop.~Shop
        method a.b.ns.Shop.cart -> Cart
        function a.b.operator==
        function a.b.make -> Shop
        function a.b.find(static) -> Shop
        """,
    )


def test_the_object_of_a_method_outside_of_its_class_is_bound():
    check_bindings("void ns::Shop::pay(Cart* c) {}", "ns.Shop.pay | this: ns.Shop\nns.Shop.pay | c: Cart")


def test_anonymous_and_inline_namespaces_are_transparent():
    check_definitions(
        """
        namespace { void a() {} }
        inline namespace v1 { void b() {} }
        extern "C" { void c() {} }
        extern "C" void d() {}
        """,
        "function a\nfunction b\nfunction c\nfunction d",
    )


def test_types_of_c_have_several_names():
    check_definitions(
        """
        typedef struct shop { struct cart *carts; } shop_t, *shop_ptr;
        typedef struct { int x; } item;
        typedef struct till till;
        typedef struct till_s till_t;
        typedef enum { RED } color;
        typedef void (*callback)(int);
        union u { int x; };
        """,
        """
        type shop_t(shop)
        type shop_ptr(shop)
        struct shop
        struct item
        type till_t(till_s)
        enum color
        type callback
        union u
        """,
        "a.c",
    )


def test_pointers_to_functions_are_members():
    text = """
    struct ops {
      int (*pay)(struct shop *s, int n);
      struct cart *(*cart)(void);
      struct ops *next;
    };
    """
    check_definitions(text, "struct ops\ndeclaration ops.pay\ndeclaration ops.cart -> cart", "a.c")
    check_bindings(text, "ops | self.next: ops", "a.c")


def test_macros_with_parameters_are_definitions_and_known_outside_of_namespaces():
    text = "#define TOP(x) (x)\nnamespace a {\n#define INNER(x) f(x)\n#define VALUE 1\n}\n"
    check_definitions(text, "macro TOP\nnamespace a\nmacro a.INNER")
    check_bindings(text, "INNER = a.INNER")


def test_a_test_with_a_fixture_is_a_method_of_it():
    check_definitions(
        "TEST_F(ShopTest, Pays) { pay(); }\nTEST(Shop, Opens) { open(); }",
        "method ShopTest.Pays\nfunction Shop_Opens",
    )


def test_functions_in_the_old_style_of_c():
    check_bindings(
        "void pay(s, n)\n  struct shop *s;\n  int n;\n{ s->cart(); }",
        "pay | s: shop\npay | n = ?",
        "a.c",
    )


def test_specialisations_have_the_name_of_the_template_and_no_bases():
    check_definitions(
        "template <class T> struct Box : Base {};\ntemplate <> struct Box<int> : Box<long> {};",
        "struct Box(Base)\nstruct Box",
    )


def test_type_parameters_hide_names():
    check_bindings(
        "template <typename K, class... Vs>\nclass Shop {\n  template <class T> void pay(T x) {}\n};",
        "Shop | K = ?\nShop | Vs = ?\nShop.pay | T = ?\nShop.pay | x: T",
    )


# Bindings


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("Shop s;", ["s: Shop"]),
        ("Shop s(1);", ["s: Shop"]),
        ("Shop s(a);", ["s: Shop"]),
        ("Shop s{1}, *t = &s;", ["s: Shop", "t: Shop"]),
        ("const ns::Shop& s = x;", ["s: ns.Shop"]),
        ("struct shop *s, t[3];", ["s: shop", "t: shop[]"]),
        ("int n = 1;", ["n = ?"]),
        ("auto s = make();", ["s = make()"]),
        ("auto* s = ns::make<int>(1);", ["s = ns.make()"]),
        ("auto s = new ns::Shop(1);", ["s: ns.Shop"]),
        ("auto s = std::make_unique<Shop>(1);", ["s: Shop"]),
        ("auto s = Shop(1);", ["s = Shop()"]),
        ("auto s = Shop{1};", ["s: Shop"]),
        ("auto s = static_cast<Shop*>(x);", ["s: Shop"]),
        ("auto s = (Shop*)x;", ["s: Shop"]),
        ("auto s = std::move(x.y);", ["s = x.y"]),
        ("auto& s = *x->shops[1];", ["s = x.shops[]"]),
        ("auto s = this->make().shop();", ["s = this.make().shop()"]),
        ("auto n = 1 + 2;", ["n = ?"]),
        ("auto [k, v] = f();", ["k = ?", "v = ?"]),
        ("for (Shop& s : all) {}", ["s: Shop"]),
        ("for (auto& s : shops_) {}", ["s = shops_[]"]),
        ("for (const auto s : x.all()) {}", ["s = x.all()[]"]),
        ("for (auto& [k, v] : carts) {}", ["k = ?", "v = carts[]"]),
        ("for (int i = 0; i < n; ++i) {}", ["i = ?"]),
        ("if (auto* s = dynamic_cast<Shop*>(x)) {}", ["s: Shop"]),
        ("if (Shop* s = find()) {}", ["s: Shop"]),
        ("try {} catch (const Error& e) {}", ["e: Error"]),
        ("run([s = std::move(t), &u](const Cart& c, auto d) {});", ["s = t", "c: Cart", "d = ?"]),
        ("static Shop* s = nullptr;", ["s: Shop"]),
    ],
)
def test_locals_are_bound(statement: str, expected: list[str]):
    check_local(statement, *expected)


def test_a_lambda_with_a_name_is_a_function():
    text = "void f() {\n  auto pay = [&](Cart* c) -> Shop* { return c->shop(); };\n}\n"
    check_definitions(text, "function f\nfunction f.pay -> Shop")
    check_bindings(text, "f.pay | c: Cart")


def test_a_deduced_result_is_that_of_the_return():
    check_bindings("auto make() { return Shop(1); }", "make | () = Shop()")


def test_names_from_namespaces():
    text = """
    #include <vector>
    #include "shop.h"
    using namespace a::b;
    using c::Till;
    namespace fs = std::filesystem;
    namespace d { using e::Cart; }
    struct Shop : Base { using Base::pay; };
    """
    file = parsed(text)
    assert [(i.module, i.name) for i in file.imports] == [("vector", "*"), ("shop.h", "*"), ("a.b", "*")]
    assert bindings(file) == ["Till = c.Till", "fs = std.filesystem", "d | Cart = e.Cart"]


# Calls


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("pay(1);", ["pay"]),
        ("::pay(1);", ["pay"]),
        ("a::b::pay<int>(1);", ["a.b.pay"]),
        ("s.pay();", ["s.pay"]),
        ("s->cart->pay(f(1));", ["s.cart.pay", "f"]),
        ("(*s).pay(); (&s)->pay();", ["s.pay", "s.pay"]),
        ("s[1]->carts[2].pay();", ["s[].carts[].pay"]),
        ("make()->shop().pay();", ["make().shop().pay", "make().shop", "make"]),
        ("static_cast<Shop*>(x)->pay();", ["Shop().pay"]),
        ("((Shop*)x)->pay();", ["Shop().pay"]),
        ("std::move(s).pay();", ["s.pay", "std.move"]),
        ("Shop::make();", ["Shop.make"]),
        ("this->pay();", ["this.pay"]),
        ("new Shop(1);", ["Shop"]),
        ("new (place) ns::Shop();", ["ns.Shop"]),
        ("std::make_unique<Shop>(f());", ["Shop", "f"]),
        ("Shop s(f());", ["Shop", "f"]),
        ("Shop s{f()};", ["Shop", "f"]),
        ("(*callback)(1);", ["callback"]),
        ("s->ops->pay(1);", ["s.ops.pay"]),
        ("x.template get<int>();", ["x.get"]),
        ("(a + b).pay();", ["?.pay"]),
        ("[](int x) { pay(x); }(1);", ["pay"]),
        ("LIST_EACH(xs) { pay(x); }", ["LIST_EACH", "pay"]),
        ("LIST_EACH(x, xs->all) { pay(x); }", ["LIST_EACH", "pay"]),
        ("int(1);", []),
        ("sizeof(Shop);", []),
    ],
)
def test_callees(statement: str, expected: list[str]):
    assert sorted(callees(statement)) == sorted(expected)


def test_a_chain_of_calls_is_read_in_linear_time():
    text = "void f() { " + "x" + ".then(1)" * 3000 + "; }\n"
    before = time.process_time()
    assert len(parsed(text).calls) == 3000
    assert time.process_time() - before < 5


# Macros and conditionals


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("class SHOP_EXPORT Shop : public Base {", "class Shop : public Base {"),
        ('struct SHOP_ALIGN(8) SHOP_DEPRECATED("x") Shop {', "struct Shop {"),
        ("enum class SHOP_API Color : int {", "enum class Color : int {"),
        ("class SHOP_EXPORT Shop;", "class Shop;"),
        ("SHOP_API void pay(int x);", "void pay(int x);"),
        ("SHOP_API Status Shop::pay(int x) {", "Status Shop::pay(int x) {"),
        ("  SHOP_INLINE SHOP_CONST auto pay() -> int {", "auto pay() -> int {"),
        ("  SHOP_CONSTEXPR Shop(int n) : n_(n) {}", "Shop(int n) : n_(n) {}"),
        ("  explicit SHOP_CONSTEXPR Shop(int n) {}", "explicit Shop(int n) {}"),
        ("extern SHOP_API const char* name;", "extern const char* name;"),
        ("static SHOP_INLINE int pay(void)", "static int pay(void)"),
        ("int SHOP_CALL pay(int x)", "int pay(int x)"),
        ("  void close() SHOP_NOEXCEPT;", "void close() ;"),
        ("  void wait() EXCLUSIVE_LOCKS_REQUIRED(lock_);", "void wait() ;"),
        ("  Lock lock_ GUARDED_BY(other_);", "Lock lock_ ;"),
        ("if SHOP_CONSTEXPR (sizeof(T) > 1) {", "if (sizeof(T) > 1) {"),
        ("SHOP_BEGIN_DECLS", ""),
        ("  Q_DECLARE(Shop)\n  int n;", "int n;"),
        ("template <class T, SHOP_ENABLE_IF(is<T>::value)> void f();", "template <class T > void f();"),
        ("SHOP_TRY { pay(); } SHOP_CATCH(const E& e) {}", "try { pay(); } catch (const E& e) {}"),
    ],
)
def test_macros_around_declarations_are_blank(written: str, read: str):
    assert " ".join(readable(f"{written}\n").split()) == read


@pytest.mark.parametrize(
    "text",
    [
        "FILE *open(const char *name);\n",
        "DWORD pay(int x);\n",
        "static HANDLE open(int x);\n",
        "TEST(ShopTest, Pays) {\n",
        "TEST_F(ShopTest, Pays)\n{\n",
        "  CHECK(x);\n",
        "  return MAX_SIZE;\n",
        "  if (x) DEBUG_PRINTF(y);\n",
        "  BENCHMARK(pay)\n      ->Arg(1);\n",
        "struct SHOP *next;\n",
        "struct SHOP shop;\n",
        "  ASSERT_OK(Put(1));\n",
        "#define CHECK(x) \\\n  CHECK_IT(x)\nint y;\n",
    ],
)
def test_names_in_capitals_that_are_no_attributes_stay(text: str):
    assert readable(text) == text


def test_a_macro_opens_a_namespace():
    check_definitions(
        "SHOP_BEGIN_NAMESPACE\nvoid pay() {}\nSHOP_END_NAMESPACE\nvoid other() {}\n",
        "namespace shop\nfunction shop.pay\nfunction other",
    )
    check_definitions(
        "namespace shop {\nSHOP_NAMESPACE_BEGIN\nvoid pay() {}\nSHOP_NAMESPACE_END\n}\n",
        "namespace shop\nfunction shop.pay",
    )


def test_all_branches_of_a_conditional_are_code():
    check_definitions(
        "#ifndef A_H\n#define A_H\n#ifdef _WIN32\nvoid a() {}\n#elif X\nvoid b() {}\n#else\nvoid c() {}\n#endif\n"
        "#endif\n",
        "function a\nfunction b\nfunction c",
        "a.h",
    )


def test_of_branches_that_open_a_block_one_is_code():
    check_definitions(
        """
        #ifdef OLD
        void pay(int x) {
        #else
        void pay() {
        #endif
          go();
        }
        void close() {}
        """,
        "function pay\nfunction close",
    )
    check_definitions(
        """
        #ifdef __cplusplus
        extern "C" {
        #endif
        struct shop { int x; };
        #ifdef __cplusplus
        }
        #endif
        void close() {}
        """,
        "struct shop\nfunction close",
        "a.h",
    )


def test_of_branches_inside_of_a_statement_one_is_code():
    check_definitions(
        "int\npay\n#ifdef KR_headers\n(x) int x;\n#else\n(int x)\n#endif\n{ return x; }\n", "function pay", "a.c"
    )


def test_dead_code_is_no_code():
    check_definitions(
        "#if 0\nvoid a() {\n#endif\nvoid b() {}\n#if 0\nvoid c() {}\n#else\nvoid d() {}\n#endif\n",
        "function b\nfunction d",
    )


def test_a_macro_call_with_a_type_as_its_first_argument_is_blank():
    text = """
        SHOP_FLAG(int, rate, 1 << 10,
                  "rate (in %)");
        SHOP_FLAG(bool, open, is_open(day(1)), "a \\" and a (");

        #ifndef SHOP
        struct Shop { int rate; };
        void open() {
          CHECK_RATE(unsigned int, beefU);
          go();
        }
        #endif
        struct RGB {
          RGB(int, int, int);
        };
        """
    check_definitions(text, "struct Shop\nfunction open\nstruct RGB\ndeclaration RGB.RGB")
    assert not parsed(text).problems


def test_an_include_in_a_list_is_blank():
    text = 'enum kind {\n#define X(name) name,\n#include "kinds.inc"\n#undef X\n  LAST\n};\nvoid f() {}\n'
    check_definitions(text, "enum kind\nfunction f", "a.c")
    assert not parsed(text, "a.c").problems


@pytest.mark.parametrize(
    "text",
    [
        "#if A\n" * 30_000,
        "#if A\n{\n#else\n" * 20_000,
        '"\\"' * 100_000,
        "/*" * 100_000,
        "A_B(" * 50_000,
        "class AB_C " * 30_000,
        "SHOP_API " * 30_000,
        "template <" * 30_000,
        "x\t" * 100_000,
        ") " * 100_000,
        ")" + " " * 200_000,
        "\n" * 200_000,
        "#define A \\\n" * 30_000,
        "'" * 200_000,
        "X_NAMESPACE_BEGIN\n" * 20_000,
        ", AB_C(" * 30_000,
        "AB_C(int, " * 30_000,
        "AB_C(int, (" * 30_000,
        'AB_C(int, "' * 30_000,
        "\nAB_C(int" + ", x" * 100_000,
    ],
)
def test_filters_take_linear_time(text: str):
    before = time.process_time()
    found = without_macros(text.encode())
    assert len(found) == len(text) and time.process_time() - before < 4


@given(st.text(alphabet='#if elsndA_C(){}<>"\n\\/*; ', max_size=300))
@settings(max_examples=200, deadline=None)
def test_filters_keep_offsets(text: str):
    source = text.encode()
    for found in (without_macros(source), without_conditionals(source)):
        assert len(found) == len(source) and found.count(b"\n") == source.count(b"\n")


# Unfinished code

UNFINISHED = """\
#include "shop.h"
namespace a {
class Till : public Base {
 public:
  explicit Till(Shop* shop) : shop_(shop) {
    open();
  }
  template <typename T>
  std::vector<Cart*> pay(const Cart& cart, int n) const override {
    for (auto& each : carts_) {
      if (auto* other = dynamic_cast<Till*>(each)) {
        run([&](const Order& order) {
          try {
            go();
          } catch (const Error& error) {
            Shop here(1);
            here.close();
          }
        });
      }
    }
  }
  std::vector<Cart> carts_;
};
TEST_F(TillTest, Pays) {
  while (true) {
    switch (kind) {
      case 1: {
        Till till(nullptr);
"""


def test_unfinished_code_has_the_facts_above_the_cursor():
    whole = parsed(UNFINISHED + "\n}}}}\n}\n")
    cut = UNFINISHED.splitlines(keepends=True)
    for n_lines in range(3, len(cut) + 1):
        found = parsed("".join(cut[:n_lines]))
        for get in (definitions, bindings):
            above = [
                line
                for line, fact in zip(
                    get(whole), whole.definitions if get is definitions else whole.bindings, strict=True
                )
                if (fact.header_line if get is definitions else fact.line) < n_lines
            ]
            assert sorted(get(found)) == sorted(above), n_lines


def test_an_unfinished_function_of_c():
    text = "static struct cart *\npay(struct shop *s, int n)\n{\n  struct till *t = s->till;\n  for (;;) {\n    t->"
    check_definitions(text, "function pay -> cart", "a.c")
    check_bindings(text, "pay | s: shop\npay | n = ?\npay | t: till", "a.c")


def test_headers_are_read_as_cpp_and_hold_c():
    file = parsed("struct shop { int class_id; };\ntypedef struct shop shop_t;\nshop_t *open_shop(void);\n", "a.h")
    assert (file.language, file.problems) == ("cpp", ())


def test_all_kinds_of_nodes_exist():
    for name in ("c", "cpp"):
        assert Parser(grammar(name)) is not None
        assert all(kind == "ERROR" or grammar(name).id_for_node_kind(kind, True) for kind in LANGUAGES[name].readers)


def test_enumerators_are_names_around_a_plain_enum():
    check_bindings("enum Op { kA, kB = 2 };", "Op | self.kA: Op\nOp | self.kB: Op\nkA: Op\nkB: Op")
    check_bindings("enum class Color { Red };", "Color | self.Red: Color")
    check_bindings("struct S { enum In { kIn }; };", "S.In | self.kIn: In\nS | self.kIn: In")
    check_bindings("typedef enum { kX } kind_t;", "kX: kind_t\nkind_t | self.kX: kind_t", "a.c")
    check_bindings("enum { kAnonymous };", "kAnonymous = ?")
