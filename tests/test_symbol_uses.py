"""Questions about uses that are no calls, and about names in languages whose definitions are not read."""

import textwrap

import pytest
from weft.codegraph import parse_file
from weft.retrieval import RepositoryIndex, slice_file
from weft.server.chat import symbol_uses
from weft.server.chat.answerability import FOUND_ABOVE
from weft.server.chat.commands import explain_evidence, where_evidence
from weft.server.chat.evidence import gather
from weft.server.chat.extractive import extractive
from weft.server.chat.symbol_uses import uses
from weft.server.symbols.symbol import Symbol, symbol_of


def index_of(text):
    """An index of files in one text: `#- name` opens each."""
    files = {}
    for part in textwrap.dedent(text).split("#- ")[1:]:
        name, _, content = part.partition("\n")
        files[name.strip()] = content
    return RepositoryIndex.build((parse_file(*file), slice_file(*file)) for file in files.items())


def ask(index, question):
    return gather({"shop": index}, question)


def texts(index, question):
    return [finding.text for finding in ask(index, question).findings]


def reasons(finding):
    return [item.reason for item in finding.items]


PYTHON = index_of(
    """
    #- shop.py
    RATE = 0.2
    def log(f): return f
    class Store:
        def __init__(self, size=1):
            self.size = size
        @property
        def total(self) -> int:
            return self.size
    class Shop(Store):
        @log
        def pay(self, amount):
            self.size = amount * RATE
            return self.total  # size
    def run(store: Store, other):
        if isinstance(store, Store):
            print(store.size, "size")
            print(other.size)
        return [store.total, log]
    #- use.py
    import shop
    from shop import RATE as R, Shop, log as trace
    def f(x: Shop):
        return R + shop.RATE, map(trace, [x.pay])
    #- other.py
    RATE = 3
    def g(size, log): return RATE + size + log
    """
)


def test_an_attribute_is_read_and_assigned_where_its_receiver_has_the_type():
    resolved, by_name = ask(PYTHON, "Where is Store.size used?").findings[:2]
    assert resolved.text == (
        "`Store.size` is assigned at 2 locations; read at 1 location; passed as a value at 1 location."
    )
    assert reasons(resolved) == [
        "assigns `size` in `Store.__init__`",
        "reads `size` in `Store.total`",
        "assigns `size` in `Shop.pay`",
        "passes `size` in `run`",
    ]
    assert by_name.text == "`size` is mentioned by name at 1 location; what it refers to is unknown."
    assert not by_name.complete


def test_uses_that_the_question_asks_for_come_first():
    finding = ask(PYTHON, "Where is Store.size assigned?").findings[0]
    assert [reason.split()[0] for reason in reasons(finding)] == ["assigns", "assigns", "reads", "passes"]


def test_a_property_is_read_not_called():
    assert texts(PYTHON, "Where is Store.total used?") == ["`Store.total` is read at 2 locations."]


def test_a_constant_is_found_through_imports_and_not_confused_with_another_one():
    (finding,) = ask(PYTHON, "Where is shop.RATE read?").findings
    assert reasons(finding)[:2] == ["reads `RATE` in `Shop.pay`", "reads `RATE` in `f`"]
    assert "other.py" not in [item.path for item in finding.items]


def test_classes_are_named_as_types_as_base_types_and_in_isinstance():
    (finding,) = ask(PYTHON, "Where is `Store` used?").findings
    assert reasons(finding) == [
        "names the base type `Store` in `Shop`",
        "names the type `Store` in `run`",
        "passes `Store` in `run`",
    ]


def test_decorators_and_functions_passed_as_values_answer_what_calls_a_function():
    (finding,) = ask(PYTHON, "What calls log?").findings
    assert reasons(finding) == [
        "decorates with `log` in `Shop.pay`",
        "reads `log` in `run`",
        "passes `log` in `f`",
    ]


def test_a_local_name_hides_the_one_of_the_module():
    assert not [use for use in uses(PYTHON, symbol_of(PYTHON, "log", PYTHON.names.definitions("log"))).found
                if use.path == "other.py"]  # fmt: skip


def test_without_uses_the_answer_says_so():
    index = index_of("#- a.py\nRATE = 3\ndef pay(): pass\n")
    assert texts(index, "Where is `RATE` used?") == [
        "No use of `RATE` was found in this repository, except its definition."
    ]
    assert texts(index, "Who uses pay?") == ["No call of `pay` was found in this repository."]


def test_files_that_take_too_long_are_counted(monkeypatch):
    monkeypatch.setattr(symbol_uses, "TIME_LIMIT_S", -1.0)
    found = uses(PYTHON, symbol_of(PYTHON, "Store", PYTHON.names.definitions("Store")))
    assert (found.found, found.n_unread) == ((), 1)


TYPESCRIPT = index_of(
    """
    #- src/store.ts
    export interface Store { limit: number; load(key: string): string }
    export const memory: Store = { limit: 3, load(key) { return key } }
    export class Disk implements Store { limit = 4; load(key: string) { return key + this.limit } }
    export enum Color { Red, Green }
    export const RATE = 0.2
    #- src/shop.ts
    import { Store, RATE, Color } from './index'
    export default class Shop {
      #till = 0
      rate: number = RATE
      constructor(private store: Store) {}
      pay(n: number) { this.#till += n; return this.store.load('x') + this.store.limit + this.rate }
      color() { return Color.Red }
    }
    export const plain = { refund(n: number) { return n } }
    #- src/index.ts
    export * from './store'
    export { default as Shop, plain as tools } from './shop'
    #- src/main.tsx
    import { Shop, tools, Store, Disk } from './index'
    import Market from './shop'
    class Super extends Market {}
    const s = new Shop(new Disk())
    s.pay(1)
    tools.refund(2)
    const f = [s.pay, tools.refund]
    function use(x: Store, y: any) { return x.limit + y.limit }
    const el = <Shop rate={3} />
    if (s instanceof Shop) { s.rate = 4 }
    """
)


@pytest.mark.parametrize("name", ["Shop#pay", "Shop.pay", "Shop.prototype.pay", "`Shop.pay()`", "Market.pay"])
def test_a_method_of_typescript_is_called_however_the_question_writes_it(name):
    (finding,) = ask(TYPESCRIPT, f"What calls {name}?").findings
    assert [item.path for item in finding.items] == ["src/main.tsx"]
    assert "is called at 1 location" in finding.text


@pytest.mark.parametrize("name", ["plain.refund", "tools.refund"])
def test_a_call_through_a_barrel_is_a_call(name):
    assert texts(TYPESCRIPT, f"What calls {name}?") == [f"`{name}` is called at 1 location."]


def test_classes_and_objects_implement_an_interface():
    (finding,) = ask(TYPESCRIPT, "What implements Store?").findings
    assert finding.text == "2 definitions inherit from `Store`: `memory`, `Disk`."


def test_subclasses_are_found_under_the_name_of_an_import():
    assert texts(TYPESCRIPT, "Which classes extend Shop?") == ["1 class inherits from `Shop`: `Super`."]
    assert texts(TYPESCRIPT, "Which classes extend Super?") == [
        "No definition in this repository names `Super` as its base."
    ]


def test_a_base_that_resolves_to_another_class_is_no_subclass():
    index = index_of(
        """
        #- a.ts
        export class Base {}
        #- b.ts
        import { Base } from 'elsewhere'
        export class Foreign extends Base {}
        #- c.ts
        import { Base as Root } from './a'
        export class Own extends Root {}
        """
    )
    assert texts(index, "Which classes extend Base?") == ["1 class inherits from `Base`: `Own`."]


def test_an_inherited_member_is_that_of_the_base():
    (finding,) = ask(TYPESCRIPT, "Where is Super.pay defined?").findings
    assert reasons(finding) == ["defines `Shop.pay`"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where is Store.limit read?", "`Store.limit` is read at 3 locations in 3 files."),
        ("Where is Shop.rate used?", "`Shop.rate` is read at 1 location; assigned at 1 location."),
        ("Where is Shop.till set?", "`Shop.till` is assigned at 1 location."),
        ("Where is Color.Red used?", "`Color.Red` is read at 1 location."),
        ("Where is RATE used?", "`RATE` is read at 1 location."),
    ],
)
def test_properties_enum_members_and_constants_of_typescript_are_read(question, expected):
    assert texts(TYPESCRIPT, question)[0] == expected


def test_elements_instanceof_and_exports_are_uses():
    calls, others, imports = ask(TYPESCRIPT, "Where is Shop used?").findings
    assert calls.text == "`Shop` is called at 2 locations."  # the second one is the element
    assert reasons(others) == ["exports `Shop`", "reads `Shop`"]
    assert imports.text.startswith("`Shop` is imported")


def test_a_call_path_goes_through_an_interface():
    (finding,) = ask(TYPESCRIPT, "How does Shop.pay reach Disk.load?").findings
    assert finding.text.startswith("`Shop.pay` reaches `Disk.load` in 1 step: `Shop.pay` -> `Disk.load`.")
    assert finding.text.endswith("Not every call is resolved with certainty.")
    assert finding.items[0].reason == "`Shop.pay` calls `Disk.load` (implementation)"
    assert texts(TYPESCRIPT, "What does Shop.pay call?") == ["`Shop.pay` calls `Store.load`."]
    assert reasons(ask(TYPESCRIPT, "What calls Disk.load?").findings[0]) == [
        "calls `load` in `Shop.pay` (implementation)"
    ]


def test_calls_that_lead_out_of_the_repository_are_no_unresolved_calls():
    index = index_of(
        """
        #- a.ts
        import { load } from 'elsewhere'
        import * as fs from 'node:fs'
        load(); fs.load()
        #- b.ts
        export function load() {}
        """
    )
    assert texts(index, "What calls load?") == ["No call of `load` was found in this repository."]


GO = index_of(
    """
    #- go.mod
    module example.com/m
    #- money/money.go
    package money
    const Limit = 3
    type Purse struct { Sum int }
    func (p *Purse) Add(n int) int { p.Sum += n; return p.Sum }
    func Total(n int) int { return n + Limit }
    #- shop/shop.go
    package shop
    import "example.com/m/money"
    type Payer interface { Pay(n int) int }
    type Closer interface { Payer; Close() error }
    type Shop struct { *money.Purse; rate int }
    func (s *Shop) Pay(n int) int { s.rate = 2; return s.Add(money.Total(n)) + money.Limit }
    type Stall struct { Shop }
    func (s Stall) Close() error { return nil }
    type Rock struct{}
    func (Rock) Pay() {}
    #- main.go
    package main
    import "example.com/m/shop"
    func run(f func(int) int) {}
    func main() { s := &shop.Shop{rate: 1}; run(s.Pay); s.Pay(1); var p shop.Payer = s; p.Pay(2) }
    """
)


@pytest.mark.parametrize("name", ["(*Shop).Pay", "Shop.Pay", "*Shop.Pay", "(Shop).Pay"])
def test_a_method_of_go_is_called_however_the_question_writes_it(name):
    assert texts(GO, f"What calls {name}?") == ["`Shop.Pay` is called at 1 location, in `main`."]


def test_a_function_of_go_has_its_package():
    assert texts(GO, "What calls money.Total?") == ["`money.Total` is called at 1 location, in `Shop.Pay`."]
    assert texts(GO, "Where is shop.Shop defined?") == ["`shop.Shop` is defined in shop/shop.go:5."]


SETTINGS = index_of(
    """
    #- defaults.py
    DOWNLOAD_TIMEOUT = 180
    CONCURRENT_REQUESTS_PER_DOMAIN = 8
    USER_AGENT = "shop " + VERSION
    #- agent.py
    class Agent:
        def __init__(self, user_agent):
            self.user_agent = user_agent
        def timeout(self, request):
            return request.timeout
    def download(url): ...
    #- tests/test_cookies.py
    COOKIE_AGE = 3
    """
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where is the default download timeout configured?", "`DOWNLOAD_TIMEOUT` is 180 (defaults.py:1)."),
        ("What is the download timeout?", "`DOWNLOAD_TIMEOUT` is 180 (defaults.py:1)."),
        (
            "How do I limit the number of concurrent requests per domain?",
            "`CONCURRENT_REQUESTS_PER_DOMAIN` is 8 (defaults.py:2).",
        ),
        ("Where is the user agent set?", "`USER_AGENT` is bound at 2 locations in 2 files."),
        ("What is the cookie age in the tests?", "`COOKIE_AGE` is 3 (tests/test_cookies.py:1)."),
    ],
)
def test_a_setting_is_found_by_the_words_of_its_name(question, expected):
    assert texts(SETTINGS, question)[:1] == [expected]


@pytest.mark.parametrize(
    "question",
    [
        "Where is the download timeout of a proxy set?",
        "Who downloads?",
        "What is the cookie age?",
        "Why is there a timeout?",
    ],
)
def test_other_questions_are_answered_by_no_setting(question):
    assert not any(name in " ".join(texts(SETTINGS, question)) for name in ("TIMEOUT", "COOKIE_AGE"))


def test_structs_embed_structs():
    assert texts(GO, "Which structs embed Purse?") == ["2 types embed `Purse`: `Shop`, `Stall`."]


def test_types_implement_an_interface_of_go_by_their_methods():
    assert texts(GO, "Which types implement shop.Closer?") == [
        "1 type has all methods of `shop.Closer` (`Close`, `Pay`): `Stall`."
    ]
    assert texts(GO, "Which types implement Payer?")[1] == (
        "3 types have all methods of `Payer` (`Pay`): `Shop`, `Stall`, `Rock`."
    )


PROTOCOL = index_of(
    """
    #- ports.py
    from typing import Protocol
    class Purse(Protocol):
        @property
        def coins(self): ...
        def pay(self, price): ...
        def close(self): ...
    class Named(Purse): ...
    class Factory(Protocol):
        def __call__(self): ...
    def run(purse: Purse):
        purse.pay(2)
    def start(purse: Purse):
        run(purse)
    #- shop.py
    from abc import ABC
    from ports import Purse
    class Base:
        def close(self): ...
    class Shop(Base):
        def pay(self, price): ...
    class Half:
        def pay(self, price): ...
    class Own(Purse):
        def pay(self, price): ...
    class Maker:
        def __call__(self): ...
    """
)


def test_classes_implement_a_protocol_by_their_methods():
    assert texts(PROTOCOL, "Which classes implement Purse?") == [
        "2 classes inherit from `Purse`: `Named`, `Own`.",
        "1 type has all methods of `Purse` (`close`, `pay`): `Shop`.",
    ]
    nothing = "No definition in this repository names `Factory` as its base or has all of its methods."
    assert texts(PROTOCOL, "Which classes implement Factory?") == [nothing]


@pytest.mark.parametrize("name", ["Shop.pay", "Own.pay"])
def test_a_method_is_called_through_the_protocol_that_its_class_implements(name):
    assert texts(PROTOCOL, f"What calls {name}?")[0] == (
        f"`Purse.pay`, which `{name}` overrides, is called at 1 location."
    )
    assert "`run` -> `Purse.pay`" in " ".join(texts(PROTOCOL, f"How does start reach {name}?"))


def test_a_class_without_all_methods_implements_no_protocol():
    assert "Purse.pay" not in " ".join(texts(PROTOCOL, "What calls Half.pay?"))


def test_a_type_of_go_that_embeds_an_interface_has_its_methods_too():
    index = index_of(
        """
        #- a.go
        package a
        type Payer interface { Pay() }
        type Shop struct{}
        func (Shop) Pay() {}
        type Stall struct{ Payer }
        func (Stall) Pay() {}
        """
    )
    assert texts(index, "Which types implement Payer?")[-1] == (
        "2 types have all methods of `Payer` (`Pay`): `Shop`, `Stall`."
    )


def test_interfaces_of_one_name_are_told_apart():
    index = index_of(
        """
        #- a/a.go
        package a
        type Payer interface { Pay() }
        type Shop struct{}
        func (Shop) Pay() {}
        #- b/b.go
        package b
        type Payer interface { Refund() }
        type Mall struct{}
        func (Mall) Refund() {}
        """
    )
    assert texts(index, "What implements Payer?") == [
        "1 type has all methods of `Payer` in a/a.go (`Pay`): `Shop`.",
        "1 type has all methods of `Payer` in b/b.go (`Refund`): `Mall`.",
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where is Shop.rate set?", ["sets `rate` in `main`", "assigns `rate` in `Shop.Pay`"]),
        ("Where is Purse.Sum used?", ["assigns `Sum` in `Purse.Add`", "reads `Sum` in `Purse.Add`"]),
        ("Where is money.Limit read?", ["reads `Limit` in `Total`", "reads `Limit` in `Shop.Pay`"]),
        ("What uses Shop.Pay?", ["calls `Pay` in `main` (typed local)"]),
    ],
)
def test_fields_and_constants_of_go_are_used(question, expected):
    assert sorted(reasons(ask(GO, question).findings[0])) == sorted(expected)


def test_the_receiver_of_a_method_is_no_use_of_its_type():
    found = uses(GO, symbol_of(GO, "Shop", GO.names.definitions("Shop"))).found
    assert sorted((use.path, use.line, use.role) for use in found) == [
        ("main.go", 3, "type"),
        ("shop/shop.go", 6, "base"),
    ]


MIXED_TEXT = """
    #- src/Shop.php
    <?php
    class Shop {
      public int $rate = 3;
      function pay(int $a) { return $a * $this->rate; }
      function run() { $this->pay(3); }
    }
    #- app/shop.dart
    int pay(int a) => a;  // refund
    int refund(int a) => pay(-a);
    var text = "refund";
    #- db.sql
    select pay from shop; -- refund
    #- data.json
    {"pay": 1, "refund": 2}
    """
MIXED = index_of(MIXED_TEXT)


def test_names_beside_languages_without_a_reader_are_resolved_with_types():
    first = texts(MIXED, "What calls `pay`?")[0]
    assert first == "`pay` is called at 1 location, in `Shop.run`."
    assert texts(MIXED, "Where is `rate` used?") == ["`rate` is read at 1 location."]


@pytest.mark.parametrize(
    "question",
    ["What calls refund?", "Where is refund defined?", "Where is `refund` used?", "Which classes extend refund?"],
)
def test_a_name_in_a_language_without_a_reader_is_found_as_a_word(question):
    evidence = ask(MIXED, question)
    (finding,) = evidence.findings
    assert finding.text == (
        "`refund` occurs in 1 Dart file; Weft does not read definitions of Dart, so this is a word search."
    )
    assert [(item.path, item.start_line) for item in finding.items] == [("app/shop.dart", 1)]
    assert evidence.confidence > FOUND_ABOVE
    assert "in this repository" not in extractive(evidence).text


def test_a_missing_call_is_not_claimed_for_languages_without_a_reader():
    index = index_of("#- a.py\ndef pay(): pass\n#- b.dart\npay()\n")
    first, second = texts(index, "Who uses pay?")
    assert first == "No call of `pay` was found in the languages whose definitions Weft reads."
    assert second.startswith("`pay` occurs in 1 Dart file;")


@pytest.mark.parametrize(
    ("path", "text", "roles"),
    [
        ("a.c", 'int f() { return pay(rate); } /* rate */ char *s = "rate";', ["argument"]),
        ("a.cpp", "int Shop::f() { this->rate = 1; return s.rate; } // rate", ["assignment", "read"]),
        ("A.java", 'class A { @rate int f() { return pay(rate, "rate"); } }', ["argument", "decorator"]),
        ("A.java", "class A { void f() { each(this::rate); for (Rate rate : all) {} } }", []),
        ("a.scala", "class A(rate: Int) extends rate(rate) { val x: rate = y.rate(1) }", ["argument", "base", "type"]),
        ("a.cs", "class A : rate { int F() { return Pay(rate); } }", ["argument", "base"]),
        ("a.cs", "[Pay(rate, Tax = rate)] class A {}", ["argument"]),
        ("A.java", "@Pay(rate) class A {}", ["argument"]),
        ("a.cs", "[rate] class A { List<rate> x; void F() { this.rate = 1; } }", ["assignment", "decorator", "type"]),
        ("a.kt", "class A(x: rate) : rate() { val y = pay(x.rate) } // rate", ["argument", "base", "type"]),
        ("a.kt", "fun f() { a.rate() }\nval rate = 3\n", []),
        ("a.swift", "class A: rate { func f() { self.rate = b; pay(rate) } }", ["argument", "assignment", "base"]),
        ("a.swift", "func f() { a.rate(); rate() }", []),
        ("a.php", "<?php class A extends rate { private rate $x; } enum E { case rate; }", ["base", "type"]),
        ("a.rs", "fn f(x: rate) -> i32 { pay(rate) } // rate", ["argument", "type"]),
        ("a.rs", "fn f() { all![rate, rate(1), rate!(2)]; } #[derive(rate)] struct S;", ["decorator", "read"]),
        ("a.rb", 'pay(rate) # rate\nx = "rate"', ["argument"]),
        ("a.php", "<?php pay($shop->rate); // rate", ["argument"]),
        ("a.js", "x = { rate: 1, y: rate, [`rate`]: `${rate}` }", ["key", "read"]),
        ("a.vue", "<template>rate</template><script>x = [rate]</script>", ["read"]),
        ("a.py", "x: rate = pay(rate=1)\nrate += 1  # rate", ["assignment", "key", "type"]),
        ("a.go", "package a\nvar x = []rate{{rate: 1}}", ["key", "type"]),
    ],
)
def test_the_syntax_tree_gives_a_name_its_role(path, text, roles):
    index = RepositoryIndex.build([(parse_file(path, text), slice_file(path, text))])
    found = uses(index, Symbol("rate")).found
    assert sorted({use.role for use in found}) == roles


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What implements IDisposable?", "3 classes inherit from `IDisposable`: `Shop`, `Mall`, `ShopTest`."),
        ("Which classes extend Exception?", "1 class inherits from `Exception`: `PayError`."),
        ("What extends Shop?", "1 class inherits from `Shop`: `Mall`."),
    ],
)
def test_subclasses_of_a_class_from_outside(question, expected):
    index = index_of(
        """
        #- Shop.cs
        class Shop : IDisposable {}
        class Mall : Shop {}
        class PayError : Exception {}
        #- tests/ShopTest.cs
        class ShopTest : IDisposable {}
        """
    )
    assert expected in texts(index, question)


def test_type_arguments_in_a_name_are_no_part_of_it():
    index = index_of("#- a.cs\nclass Shop<T> { void Pay() {} void Run() { Pay(); } }\n")
    for question in ("What calls Shop<T>.Pay?", "What calls Shop<Map<K, V>>.Pay()?", "What calls Shop::<T>::Pay?"):
        assert texts(index, question) == ["`Shop.Pay` is called at 1 location, in `Shop.Run`."]


def test_a_constructor_that_is_called_is_listed_without_its_class():
    index = index_of(
        "#- a.cs\nclass Shop { Shop(int a) {} }\nclass Till {}\nclass A { void F() { new Shop(1); new Till(); } }"
    )
    assert texts(index, "What does A.F call?") == ["`A.F` calls `Shop.Shop`, `Till`."]


def test_members_in_the_arguments_of_a_macro_of_rust_are_used():
    index = index_of(
        """
        #- src/main.rs
        enum Kind { Open, Closed }
        enum Other { Open }
        struct Shop { kind: Kind }
        impl Shop { fn own(&self) -> Other {} }
        fn run(s: Shop) {
            assert_eq!(Kind::Open, s.kind);
            assert_eq!(Other::Open, s.own());
            dbg!(self::Kind::Open, s.own()?.kind, (1 + 2).kind);
        }
        """
    )
    assert reasons(ask(index, "Where is Kind::Open used?").findings[0]) == ["reads `Open` in `run`"] * 2
    resolved, by_name = ask(index, "Where is Shop.kind used?").findings[:2]
    assert [(item.start_line, item.reason) for item in resolved.items] == [(5, "reads `kind` in `run`")]
    assert by_name.text == "`kind` is mentioned by name at 1 location; what it refers to is unknown."


@pytest.mark.parametrize("command", ["where", "explain"])
def test_commands_name_languages_whose_definitions_are_not_read(command):
    indexes = {"shop": MIXED}
    evidence = where_evidence(indexes, "refund") if command == "where" else explain_evidence(indexes, None, "refund")
    assert [finding.text for finding in evidence.findings] == [
        "`refund` occurs in 1 Dart file; Weft does not read definitions of Dart, so this is a word search."
    ]


def test_a_name_behind_a_variable_means_any_definition_of_the_name():
    assert texts(GO, "who calls s.Pay?") == ["`Pay` (3 definitions) is called at 1 location, in `main`."]
    index = index_of("#- a.py\nimport fs\nfs.load()\n#- b.py\ndef load(): pass\nload()\n")
    assert not any("is called" in text for text in texts(index, "What calls fs.load?"))


def test_a_stated_kind_selects_the_definitions():
    index = index_of("#- a.py\nclass Shop: pass\n#- b.py\nclass Mall:\n    def Shop(self): pass\n")
    assert texts(index, "Where is the class Shop defined?") == ["`Shop` is defined in a.py:1."]
    assert texts(index, "Where is `Shop` defined?") == ["`Shop` is defined at 2 locations in 2 files."]


@pytest.mark.parametrize(
    "question",
    [
        "usages of RATE",
        "Find all references to RATE",
        "List the uses of RATE",
        "What reads RATE?",
        "Who mentions RATE?",
    ],
)
def test_uses_are_asked_for_in_many_ways(question):
    index = index_of("#- a.py\nRATE = 1\ndef f(): return RATE\n")
    assert texts(index, question) == ["`RATE` is read at 1 location."]


def test_a_name_is_no_word_for_the_kind_of_answer():
    index = index_of("#- a.go\npackage a\nfunc Default() { Use() }\nfunc Use() {}\n")
    assert texts(index, "What does a.Default call?") == ["`a.Default` calls `Use`."]


def test_a_dotted_name_of_a_module_is_no_method_in_it():
    index = index_of(
        "#- api.py\nclass Client:\n    def get(self): pass\ndef get(): pass\n#- b.py\nimport api\napi.get()\n"
    )
    assert texts(index, "Where is api.get defined?") == ["`api.get` is defined in api.py:3."]
    assert texts(index, "Where is Client.get defined?") == ["`Client.get` is defined in api.py:2."]


def test_a_word_in_capitals_is_a_name_in_this_spelling():
    index = index_of("#- a.py\nclass URL: pass\nclass Request:\n    def url(self) -> URL: return URL()\n")
    assert texts(index, "Where is URL used?") == [
        "`URL` is called at 1 location, in `Request.url`.",
        "`URL` is named as a type at 1 location.",
    ]
