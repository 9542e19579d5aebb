"""C and C++: which definition does a call lead to? Small repositories as texts, one rule each."""

from __future__ import annotations

import json
from textwrap import dedent

from weft.codegraph import CodeGraph, parse_file
from weft.codegraph.modules import ModuleIndex, ModuleQuery


def graph_of(**texts: str) -> CodeGraph:
    """A graph of files: `shop_h="…"` is shop.h, `src__shop_cc` src/shop.cc."""
    files = {}
    for key, text in texts.items():
        stem, _, suffix = key.rpartition("_")
        files[f"{stem.replace('__', '/')}.{suffix}"] = dedent(text)
    return CodeGraph.build(parse_file(path, text) for path, text in files.items())


def targets(graph: CodeGraph, path: str, callee: str) -> list[str]:
    """The definitions that calls with this text lead to, as "path name"."""
    calls = graph.files[path].calls
    assert callee in [call.callee for call in calls]
    found = [edge for edge in graph.call_edges(path) if calls[edge.call].callee == callee]
    return list(dict.fromkeys(f"{edge.path} {edge.qualified_name}" for edge in found))


SHOP_H = """
#pragma once
namespace shop {
class Cart;
class Shop {
 public:
  Shop(int n);
  Cart* pay(int n);
  static Shop make();
  int inlined() const { return 1; }
  virtual void open() = 0;
 private:
  Cart* cart_;
};
Cart* first(Shop* shop);
}
"""
SHOP_CC = """
#include "shop.h"
namespace shop {
Shop::Shop(int n) {}
Cart* Shop::pay(int n) { return cart_; }
Shop Shop::make() { return Shop(1); }
Cart* first(Shop* shop) { return shop->pay(1); }
}
"""


def test_a_call_leads_to_the_body_and_not_to_the_declaration():
    graph = graph_of(
        shop_h=SHOP_H,
        shop_cc=SHOP_CC,
        main_cc="""
        #include "shop.h"
        void go(shop::Shop& s) {
          s.pay(1);
          s.inlined();
          s.open();
          shop::first(&s);
          shop::Shop::make().pay(2);
          auto made = shop::Shop::make();
          made.inlined();
        }
        """,
    )
    assert targets(graph, "main.cc", "s.pay") == ["shop.cc shop.Shop.pay"]
    assert targets(graph, "main.cc", "s.inlined") == ["shop.h shop.Shop.inlined"]
    assert targets(graph, "main.cc", "s.open") == ["shop.h shop.Shop.open"]
    assert targets(graph, "main.cc", "shop.first") == ["shop.cc shop.first"]
    assert targets(graph, "main.cc", "shop.Shop.make") == ["shop.cc shop.Shop.make"]
    assert targets(graph, "main.cc", "shop.Shop.make().pay") == ["shop.cc shop.Shop.pay"]
    assert targets(graph, "main.cc", "made.inlined") == ["shop.h shop.Shop.inlined"]
    assert targets(graph, "shop.cc", "Shop") == ["shop.h shop.Shop", "shop.cc shop.Shop.Shop"]


def test_a_method_outside_of_its_class_knows_the_members():
    graph = graph_of(
        shop_h="""
        struct Till { void close(); };
        class Base { protected: void audit() {} };
        class Shop : public Base { void run(); void help() {} Till* till_; };
        """,
        shop_cc="""
        #include "shop.h"
        void Till::close() {}
        void help() {}
        void Shop::run() { help(); audit(); till_->close(); this->help(); }
        """,
    )
    assert targets(graph, "shop.cc", "help") == ["shop.h Shop.help"]
    assert targets(graph, "shop.cc", "this.help") == ["shop.h Shop.help"]
    assert targets(graph, "shop.cc", "audit") == ["shop.h Base.audit"]
    assert targets(graph, "shop.cc", "till_.close") == ["shop.cc Till.close"]


def test_namespaces_are_looked_up_outwards_and_by_using():
    graph = graph_of(
        util_h="""
        namespace shop { namespace util { void log(); class Box { public: void open() {} }; } void top(); }
        """,
        util_cc="""
        #include "util.h"
        namespace shop::util { void log() {} }
        namespace shop { void top() { util::log(); } }
        """,
        a_cc="""
        #include "util.h"
        namespace shop { void a() { util::log(); top(); } }
        """,
        b_cc="""
        #include "util.h"
        using namespace shop::util;
        using shop::top;
        namespace su = shop::util;
        void b() { log(); top(); su::Box box; box.open(); }
        """,
    )
    assert targets(graph, "util.cc", "util.log") == ["util.cc shop.util.log"]
    assert targets(graph, "a.cc", "util.log") == ["util.cc shop.util.log"]
    assert targets(graph, "a.cc", "top") == ["util.cc shop.top"]
    assert targets(graph, "b.cc", "log") == ["util.cc shop.util.log"]
    assert targets(graph, "b.cc", "top") == ["util.cc shop.top"]
    assert targets(graph, "b.cc", "box.open") == ["util.h shop.util.Box.open"]


def test_smart_pointers_and_collections_have_elements():
    graph = graph_of(
        shop_h="class Shop { public: void pay() {} Shop* next(); };\nstruct Row { Shop shop() { return Shop(); } };\n",
        a_cc="""
        #include "shop.h"
        #include <vector>
        class Mall {
          std::vector<std::unique_ptr<Shop>> shops_;
          std::map<int, Shop> by_id_;
          Row* rows_;
          void run(std::shared_ptr<Shop> one) {
            one->pay();
            one.get()->pay();
            shops_[0]->pay();
            shops_.back()->next()->pay();
            for (auto& each : shops_) each->pay();
            for (auto& [id, shop] : by_id_) shop.pay();
            auto it = by_id_.find(1);
            it->second.pay();
            rows_[2].shop().pay();
            shops_.clear();
          }
        };
        """,
    )
    for callee in (
        *("one.pay", "one.get().pay", "shops_[].pay", "shops_.back().next().pay", "each.pay", "shop.pay"),
        *("it.second.pay", "rows_[].shop().pay"),
    ):
        assert targets(graph, "a.cc", callee) == ["shop.h Shop.pay"], callee
    assert targets(graph, "a.cc", "shops_.clear") == []


def test_casts_and_new_objects_are_typed():
    graph = graph_of(
        a_cc="""
        struct Shop { Shop(int n) {} void pay() {} };
        void f(void* x) {
          static_cast<Shop*>(x)->pay();
          auto made = std::make_unique<Shop>(1);
          made->pay();
          auto* other = new Shop(2);
          other->pay();
          Shop third(3);
          third.pay();
        }
        """
    )
    for callee in ("Shop().pay", "made.pay", "other.pay", "third.pay"):
        assert targets(graph, "a.cc", callee) == ["a.cc Shop.pay"], callee
    assert targets(graph, "a.cc", "Shop") == ["a.cc Shop", "a.cc Shop.Shop"]


def test_header_and_source_of_c_are_one_unit():
    graph = graph_of(
        include__shop_h="typedef struct shop shop_t;\nstruct shop { int n; shop_t *next; };\nshop_t *shop_new(void);\n"
        "void shop_pay(shop_t *s);\n#define SHOP_EACH(s) for (;;)\n",
        src__shop_c='#include "shop.h"\nstatic void help(void) {}\nshop_t *shop_new(void) { help(); return 0; }\n'
        "void shop_pay(shop_t *s) { help(); }\n",
        src__other_c="static void help(void) {}\nvoid other(void) { help(); }\n",
        main_c="#include <shop.h>\nint main(void) {\n"
        "  shop_t *s = shop_new(); SHOP_EACH(s) { shop_pay(s->next); } help(); }\n",
    )
    assert targets(graph, "main.c", "shop_new") == ["src/shop.c shop_new"]
    assert targets(graph, "main.c", "shop_pay") == ["src/shop.c shop_pay"]
    assert targets(graph, "main.c", "SHOP_EACH") == ["include/shop.h SHOP_EACH"]
    assert targets(graph, "src/shop.c", "help") == ["src/shop.c help"]
    assert targets(graph, "src/other.c", "help") == ["src/other.c help"]
    assert targets(graph, "main.c", "help") == []  # static in both files


def test_members_of_structs_are_pointers_to_functions():
    graph = graph_of(
        ops_h="struct shop;\nstruct ops { void (*pay)(struct shop *s); struct ops *next; };\n"
        "struct shop { struct ops *ops; };\n",
        a_c='#include "ops.h"\nvoid f(struct shop *s) { s->ops->pay(s); s->ops->next[1].pay(s); }\n',
    )
    assert targets(graph, "a.c", "s.ops.pay") == ["ops.h ops.pay"]
    assert targets(graph, "a.c", "s.ops.next[].pay") == ["ops.h ops.pay"]


def test_included_files_come_first_among_several_definitions():
    graph = graph_of(
        a__run_h="void run();\n",
        a__run_cc='#include "run.h"\nvoid run() {}\n',
        b__run_h="void run();\n",
        b__run_cc='#include "run.h"\nvoid run() {}\n',
        all_h='#include "b/run.h"\n',
        one_cc='#include "a/run.h"\nvoid f() { run(); }\n',
        two_cc='#include "all.h"\nvoid f() { run(); }\n',
        a__three_cc="void f() { run(); }\n",
    )
    assert targets(graph, "one.cc", "run") == ["a/run.cc run"]
    assert targets(graph, "two.cc", "run") == ["b/run.cc run"]
    assert targets(graph, "a/three.cc", "run") == ["a/run.cc run"]


def test_types_and_macros_of_a_source_file_are_its_own():
    graph = graph_of(
        a_cc="struct Local { void go() {} };\n#define CHECK_IT(x) x\nvoid a() { Local l; l.go(); CHECK_IT(1); }\n",
        b_cc="struct Local { void go() {} };\nvoid b() { Local l; l.go(); CHECK_IT(1); }\n",
        c_cc="void c() { Local l; CHECK_IT(1); }\n",
        d_cc="#define CHECK_IT(x) y\n",
    )
    assert targets(graph, "a.cc", "l.go") == ["a.cc Local.go"]
    assert targets(graph, "b.cc", "l.go") == ["b.cc Local.go"]
    assert targets(graph, "a.cc", "CHECK_IT") == ["a.cc CHECK_IT"]
    assert targets(graph, "c.cc", "CHECK_IT") == []


def test_a_macro_in_a_namespace_is_known_everywhere():
    graph = graph_of(
        a_h="namespace a {\n#define CHECK_IT(x) x\n}\n", b_cc='#include "a.h"\nvoid f() { CHECK_IT(1); }\n'
    )
    assert targets(graph, "b.cc", "CHECK_IT") == ["a.h a.CHECK_IT"]


def test_a_test_with_a_fixture_calls_its_methods():
    graph = graph_of(
        a_test_cc="""
        class ShopTest : public testing::Test { protected: void Reopen() {} Shop shop_; };
        TEST_F(ShopTest, Pays) { Reopen(); shop_.pay(); }
        """,
        shop_h="class Shop { public: void pay() {} };\n",
    )
    assert targets(graph, "a_test.cc", "Reopen") == ["a_test.cc ShopTest.Reopen"]
    assert targets(graph, "a_test.cc", "shop_.pay") == ["shop.h Shop.pay"]


def test_names_of_the_standard_library_lead_nowhere():
    graph = graph_of(
        a_cc="""
        namespace std { template <> struct hash<int> {}; }
        struct Shop { void sort() {} void push_back(int) {} void format() {} };
        void f(std::vector<int> v, Unknown u) { std::sort(v); v.push_back(1); u.push_back(2); std::format(1); }
        """
    )
    for callee in ("std.sort", "v.push_back", "u.push_back", "std.format"):
        assert targets(graph, "a.cc", callee) == [], callee


def test_nested_classes_and_implementations_in_source_files():
    graph = graph_of(
        shop_h="""
        class Shop { public: void pay(); class Iter { public: void step(); };
         private: struct Impl; std::unique_ptr<Impl> impl_; };
        """,
        shop_cc="""
        #include "shop.h"
        struct Shop::Impl { void go() {} };
        void Shop::pay() { impl_->go(); Iter it; it.step(); }
        void Shop::Iter::step() {}
        """,
    )
    assert targets(graph, "shop.cc", "impl_.go") == ["shop.cc Shop.Impl.go"]
    assert targets(graph, "shop.cc", "it.step") == ["shop.cc Shop.Iter.step"]


def test_aliases_of_types_are_followed():
    graph = graph_of(
        shop_h="class Shop { public: void pay() {} };\nusing ShopPtr = std::shared_ptr<Shop>;\n"
        "typedef std::vector<Shop*> Shops;\n",
        a_cc='#include "shop.h"\nvoid f(ShopPtr p, Shops& all) {\n'
        " p->pay(); all[0]->pay(); for (auto s : all) s->pay(); }\n",
    )
    for callee in ("p.pay", "all[].pay", "s.pay"):
        assert targets(graph, "a.cc", callee) == ["shop.h Shop.pay"], callee


def test_an_include_is_found_beside_the_file_or_by_its_tail():
    index = ModuleIndex(["src/a.c", "src/a.h", "include/shop/cart.h", "src/cart.c", "x/one.h", "y/one.h", "y/one.cc"])

    def found(directory: str, module: str) -> tuple[str, ...]:
        return index.find(ModuleQuery("include", directory, module))

    assert found("src", "a.h") == ("src/a.h", "src/a.c")
    assert found("", "shop/cart.h") == ("include/shop/cart.h", "src/cart.c")
    assert found("y", "../x/one.h") == ("x/one.h", "y/one.cc")
    assert found("", "one.h") == ()
    assert found("", "vector") == ()


def test_the_include_directories_of_the_build_decide_between_headers():
    texts = {
        "new/run.h": "inline void run() {}\n",
        "old/run.h": "inline void run() {}\n",
        "src/main.cc": "#include <run.h>\nvoid f() { run(); }\n",
    }
    graph = CodeGraph.build(parse_file(path, text) for path, text in texts.items())
    for kind in ("new", "old"):
        commands = [{"directory": "/me/build", "command": f"c++ -I../{kind} -c x", "file": "/me/src/main.cc"}]
        graph = graph.with_changes([parse_file("build/compile_commands.json", json.dumps(commands))])
        assert targets(graph, "src/main.cc", "run") == [f"{kind}/run.h run"]


def test_a_deleted_include_changes_the_meaning():
    texts = {
        "a/run.cc": "void run() {}\n",
        "a/run.h": "void run();\n",
        "b/run.cc": "void run() {}\n",
        "b/run.h": "void run();\n",
        "all.h": '#include "b/run.h"\n',
        "main.cc": '#include "all.h"\nvoid f() { run(); }\n',
    }
    graph = CodeGraph.build(parse_file(path, text) for path, text in texts.items())
    assert targets(graph, "main.cc", "run") == ["b/run.cc run"]
    changed = graph.with_changes([parse_file("all.h", '#include "a/run.h"\n')])
    assert targets(changed, "main.cc", "run") == ["a/run.cc run"]
