"""Suggested arguments of a call at a cursor, in small texts of several languages."""

from __future__ import annotations

import pytest
from graph_at_cursor import CURSOR, facts_at
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph.parameters import Parameter, fields_of, parameters_of, pieces_of
from weft.codegraph.suggestions import GraphSuggestions, Suggested
from weft.languages import language_named


def suggested(path: str, code: str, **others: str) -> list[Suggested]:
    """What is suggested at the cursor in `code`; `others` are further files, `shop_py="…"`. The file ends there."""
    facts, written = facts_at(path, code, others=others)
    source = GraphSuggestions(facts)
    found = list(source.suggestions(written))
    for each in found:
        assert 0.0 < each.weight <= 1.0
        assert each.text
    return [each for each in found if each.source.startswith("argument")]


def texts_of(source: str, found: list[Suggested]) -> list[str]:
    return [each.text for each in found if each.source == source]


def first(found: list[Suggested]) -> tuple[str, str]:
    """The best next argument, and the best list of all that are left."""
    one, rest = texts_of("argument", found), texts_of("arguments", found)
    return (one[0] if one else "", rest[0] if rest else "")


PYTHON = """
    from shop import Shop, price, Order
    LIMIT = 3

    def first(item, rate, *, limit=1, quick=False):
        return item

    class Till:
        def __init__(self, shop: Shop, count):
            self.shop = shop
            self._count = count

        def pay(self, item, rate, user_id, order: Order, text: str):
            total = 1
            """


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("first(", ("item", "item, rate)")),
        ("x = first(", ("item", "item, rate)")),
        ("first(item,", (" rate", " rate)")),
        ("first(item, ", ("rate", "rate)")),
        ("first(rate=", ("rate", "")),
        ("first(rate=rate,", (" item=item", " item=item)")),
        ("first(item, rate=", ("rate", "")),
        ("Shop(", ("user_id", "user_id)")),
        ("Till(", ("self.shop", "self.shop, self._count)")),
        ("self.shop.sell(", ("order", "order)")),
        ("price(", ("total", "total)")),
        ("print(first(", ("item", "item, rate)")),
        ("first(item, [", ("", "")),
        ("first(item", ("", "")),
        ("first(item, rate, 3,", ("", "")),
        ("unknown(", ("total", "total)")),
        ("print(", ("total", "total)")),
        ("(", ("", "")),
        ("x = (first, ", ("", "")),
        ("def first(", ("", "")),
        ("first(*", ("", "")),
        ("first(*rate,", ("", "")),
        ("'first(", ("", "")),
        ("# first(", ("", "")),
        ("first('(', ", ("rate", "rate)")),
        ("first(item)[", ("", "")),
        ("first", ("", "")),
    ],
)
def test_arguments_of_python(line: str, expected: tuple[str, str]) -> None:
    shop = """
        class Order: ...
        class Shop:
            def __init__(self, id): ...
            def sell(self, what: Order): ...
        def price(total): ...
    """
    found = suggested("till.py", PYTHON + line + CURSOR, shop_py=shop)
    one, rest = first(found)
    if expected[0] == "" and expected[1] == "":
        assert not [each for each in found if each.text.strip(") ") != ""]
    else:
        assert (one, rest) == expected


def test_a_call_without_required_parameters_may_end() -> None:
    code = "def tick(speed=1): ...\n\ntick(<CURSOR>"
    assert ")" in texts_of("argument", suggested("a.py", code))
    assert texts_of("arguments", suggested("a.py", code))[0] == ")"


def test_a_literal_follows_its_default() -> None:
    code = "def tick(quick=False): ...\n\ntick(quick=<CURSOR>"
    assert first(suggested("a.py", code))[0] == "True"


def test_other_calls_show_usual_arguments() -> None:
    code = """
        def send(method, url, timeout=1): ...

        def a(url):
            send("GET", url, timeout=5)
            send("GET", "x", timeout=5)

        def b(url):
            send(<CURSOR>
    """
    one, rest = first(suggested("a.py", code))
    assert one == '"GET"'
    assert rest == '"GET", url, timeout=5)'


def test_calls_in_other_files_show_usual_arguments() -> None:
    other = """
        from api import send
        send("POST")
        send("POST")
    """
    found = suggested("b.py", "from api import send\nsend(<CURSOR>", api_py="def send(method): ...\n", c_py=other)
    assert first(found) == ('"POST"', '"POST")')


def test_arguments_with_unknown_names_are_not_copied() -> None:
    code = """
        def send(method): ...

        def a(hidden):
            send(hidden)

        def b():
            send(<CURSOR>
    """
    assert "hidden" not in texts_of("argument", suggested("a.py", code))


def test_headers_are_no_calls() -> None:
    code = """
        class A {
          void pay(Item item) {}
          void run(int other) {
            pay(<CURSOR>
    """
    assert all("Item" not in each.text for each in suggested("A.java", code))


def test_the_overload_that_fits_the_names_around() -> None:
    code = """
        class A {
          void pay(Object what) {}
          void pay(String item, int rate) {}
          void run(String item, int rate) {
            pay(<CURSOR>
    """
    assert first(suggested("A.java", code)) == ("item", "item, rate)")


def test_an_overload_does_not_call_itself() -> None:
    code = """
        class A {
          void pay(String item, int rate, int tax) {}
          void pay(String item, int rate) {
            pay(<CURSOR>
    """
    assert first(suggested("A.java", code))[1].startswith("item, rate, ")


def test_spread_arguments_of_other_calls() -> None:
    code = """
        def pay(item, **options): ...
        def run(item, **options):
            pay(item, **options)
            pay(<CURSOR>
    """
    assert first(suggested("a.py", code)) == ("item", "item, **options)")
    assert all("**" not in each.text for each in suggested("a.py", code.replace("run(item, **options)", "run(item)")))


def test_a_method_of_the_own_class_comes_before_one_of_its_name_elsewhere() -> None:
    indexed = "class A:\n    def run(self, widths):\n        self._render(\n\n    def _render(self, widths): ...\n"
    code = "class A:\n    def run(self, widths):\n        self._render(<CURSOR>"
    found = suggested("a.py", code, a_py=indexed, b_py="class B:\n    def _render(self): ...\n")
    assert first(found) == ("widths", "widths)")


def test_keywords_that_only_other_calls_show() -> None:
    code = """
        def send(**options): ...

        def b():
            send(fast=True)
            send(<CURSOR>
    """
    assert "fast=True" in texts_of("argument", suggested("a.py", code))


def test_definitions_below_the_cursor_are_those_of_the_indexed_file() -> None:
    indexed = "def a(item):\n    pay(\n\ndef pay(item): ...\n"
    found = suggested("a.py", "def a(item):\n    pay(<CURSOR>", a_py=indexed)
    assert first(found) == ("item", "item)")


@pytest.mark.parametrize(
    ("header", "line", "expected"),
    [
        ("@dataclass\nclass Order:\n    item: str\n    rate: int = 1", "Order(", "item)"),
        ("class Order(NamedTuple):\n    item: str\n    rate: int", "Order(", "item, rate)"),
        ("class Order(BaseModel):\n    item: str = Field(...)\n    kind: ClassVar[str] = 'x'", "Order(", "item)"),
        ("class Order:\n    def __init__(self, item): ...", "Order(", "item)"),
        ("class Order:\n    @classmethod\n    def of(cls, item): ...", "Order.of(", "item)"),
        ("class Order:\n    @staticmethod\n    def of(item): ...", "Order.of(", "item)"),
        ("def order(a, /, item): ...", "order(1,", " item)"),
        ("async def order(\n    item: str,  # what (\n    rate: int,\n): ...", "order(", "item, rate)"),
    ],
)
def test_parameters_of_python(header: str, line: str, expected: str) -> None:
    found = suggested("a.py", f"{header}\n\ndef run(item, rate):\n    {line}{CURSOR}")
    assert first(found)[1] == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("pay(\n        ", ["item,\n"]),
        ("pay(\n        item,\n        ", ["rate,\n"]),
        ("pay(\n        item=item,\n        ", ["rate=rate,\n"]),
        ("pay(\n        item,", ["\n"]),
    ],
)
def test_arguments_on_lines_of_their_own(written: str, expected: list[str]) -> None:
    found = suggested("a.py", f"def pay(item, rate): ...\n\ndef run(item, rate):\n    {written}{CURSOR}")
    assert texts_of("argument", found)[:1] == expected
    assert not texts_of("arguments", found)


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("a.ts", "function pay(item: Item, rate = 1) {}\nfunction run(item: Item) {\n  pay(", ("item", "item)")),
        ("a.ts", "const pay = async <T>(item: T) => 1\nfunction run(item: Item) {\n  pay(", ("item", "item)")),
        (
            "a.ts",
            "class A { constructor(private x: X, y?: Y) {} }\nfunction run(x: X) {\n  new A(",
            ("x", "x)"),
        ),
        ("a.ts", "class A {\n  pay(item: X) {}\n  run(item: X) {\n    this.pay(", ("item", "item)")),
        ("a.js", "function pay(item, ...rest) {}\nfunction run(item) {\n  pay(", ("item", "item)")),
        ("a.ts", "class A {\n  pay(", ("", "")),
        ("a.go", "package p\nfunc pay(item, rate int) {}\nfunc run(item, rate int) {\n\tpay(", ("item", "item, rate)")),
        ("a.go", "package p\nfunc pay(item int) {}\nfunc (s *Shop) Pay(", ("", "")),
        ("a.go", "package p\ntype T struct {\n\tA, b int\n}\nfunc run(b int) {\n\tx := T{A: 1,", (" b: b", "")),
        (
            "a.go",
            "package p\nfunc pay(ctx context.Context) {}\nfunc run(c context.Context, n int) {\n\tpay(",
            ("c", "c)"),
        ),
        (
            "A.java",
            "class A {\n  void pay(final String item, int rate) {}\n  void run(int rate, String item) {\n    pay(",
            ("item", "item, rate)"),
        ),
        ("A.java", "class A {\n  void pay(", ("", "")),
        ("A.java", "record P(int x) {}\nclass A {\n  void run(int x) {\n    new P(", ("x", "x)")),
        ("A.java", "class A {\n  void pay(int x) {}\n  void run(int x) {\n    f(() -> pay(", ("x", "x)")),
        ("a.rs", "fn pay(item: u32, rate: u32) {}\nfn run(item: u32, rate: u32) {\n    pay(", ("item", "item, rate)")),
        ("a.rs", "fn pay(item: &Item) {}\nfn run(item: Item) {\n    pay(", ("&item", "&item)")),
        ("a.rs", "fn pay(item: &Item) {}\nfn run(item: &Item) {\n    pay(", ("item", "item)")),
        (
            "a.rs",
            "struct A {\n    item: u32,\n}\nimpl A {\n    fn set(&mut self, item: u32) {}\n"
            "    fn run(&mut self, item: u32) {\n        self.set(",
            ("item", "item)"),
        ),
        (
            "a.rs",
            "struct A {\n    pub item: u32,\n}\nfn run(item: u32) {\n    A {",
            (" item: item", " item: item }"),
        ),
        ("a.kt", "data class P(val x: Int, val y: Int = 1)\nfun run(x: Int) {\n    P(", ("x", "x)")),
        ("a.kt", "fun pay(item: Int, rate: Int) {}\nfun run(rate: Int) {\n    pay(1, rate =", (" rate", "")),
        ("a.kt", "fun pay(", ("", "")),
        (
            "a.cs",
            "class A {\n  void Pay(int item, ref int rate) {}\n  void Run(int item) {\n    Pay(item:",
            (" item", ""),
        ),
        ("a.cs", "class A {\n  void Pay(int item) {}\n  void Run(int item) {\n    Pay(", ("item", "item)")),
        (
            "a.swift",
            "func pay(_ item: Int, at rate: Int) {}\nfunc run(item: Int, rate: Int) {\n  pay(",
            ("item", "item, at: rate)"),
        ),
        (
            "a.swift",
            "struct P {\n  let x: Int\n  var y: Int = 1\n}\nfunc run(x: Int) {\n  P(",
            ("x: x", "x: x)"),
        ),
    ],
)
def test_arguments_of_other_languages(path: str, code: str, expected: tuple[str, str]) -> None:
    found = suggested(path, code + CURSOR)
    one, rest = first(found)
    assert (one, rest if expected[1] else "") == expected


@pytest.mark.parametrize(
    ("language", "header", "expected"),
    [
        ("python", "(self, a, b: int = 1, *args, c, d=2, **rest)", ["a", "b?", "c!", "d!?"]),
        ("python", "[T](self, a: dict[str, int]) -> T:", ["a"]),
        ("python", "(self, a='(', b=\")\"):", ["a?", "b?"]),
        ("typescript", "<T extends (x: number) => void>(a: T, { b }: P, c?: () => void, ...d: any[])", ["a", "", "c?"]),
        ("go", "(a, b int, c func(x int) error, d ...string) error {", ["a", "b", "c"]),
        ("go", "(int, string) error", ["", ""]),
        ("java", "(@Nullable final Map<String, Integer> a, int[] b, String... c) {", ["a", "b"]),
        ("rust", "<'a, F: Fn(u32) -> u32>(&'a mut self, a: &'a str, State(b): State<F>) -> u32 {", ["a", "b"]),
        ("kotlin", "(vararg a: Int, noinline b: (Int) -> Unit = {}, c: String?)", ["b?", "c"]),
        ("csharp", "(this Shop a, out int b, params string[] c)", ["b"]),
        ("swift", "(_ a: Int, at b: Int = 1, c: Int...)", ["a", "b?"]),
        ("php", "(?string $a, int $b = 1)", ["a", "b?"]),
        ("python", "(", None),
        ("python", "", None),
        ("sql", "(a)", None),
    ],
)
def test_parameters_in_a_header(language: str, header: str, expected: list[str] | None) -> None:
    found = parameters_of(language, header, is_method="self" in header and language == "python")
    named = [
        f"{each.name}{'' if each.takes_position else '!'}{'' if each.is_required else '?'}" for each in found or ()
    ]
    assert (named if found is not None else None) == expected


def test_types_defaults_and_labels() -> None:
    assert parameters_of("python", "(a: list[int] = [1, 2])") == (Parameter("a", "list[int]", "[1, 2]", False),)
    assert parameters_of("swift", "(at b: Int)") == (Parameter("b", "Int", label="at"),)
    assert parameters_of("go", "(a, b map[string]int)") == (
        Parameter("a", "map[string]int"),
        Parameter("b", "map[string]int"),
    )


def test_fields_of_types() -> None:
    go = ['\tA, b int `json:"a"` // both', "\t*Base", "", "\tC map[string]int"]
    assert [each.name for each in fields_of(language_named("go"), go)] == ["A", "b", "Base", "C"]
    rust = ["    /// What it is", "    pub(crate) a: Vec<u32>,", "    #[x]", "    b: String, // x"]
    assert [each.name for each in fields_of(language_named("rust"), rust)] == ["a", "b"]
    python = [
        "    a: int",
        "    b: list[int] = field(default_factory=list)",
        "    c: int = field()",
        "    def f(self):",
    ]
    assert [each.is_required for each in fields_of(language_named("python"), python)] == [True, False, True]


def test_pieces_of_a_list() -> None:
    assert pieces_of('a, f(b, c), "x, y", [1, 2],') == ["a", "f(b, c)", '"x, y"', "[1, 2]"]
    assert pieces_of("a: Map<K, V>, b", types=True) == ["a: Map<K, V>", "b"]


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_line_breaks_of_both_kinds(ending: str) -> None:
    code = "def pay(item): ...\n\ndef run(item):\n    pay("
    found = suggested("a.py", code.replace("\n", ending) + CURSOR)
    assert first(found) == ("item", "item)")


@pytest.mark.parametrize("path", ["a.txt", "a.sql", "a.py", "a.rs", "a.vue", "a.rb"])
@pytest.mark.parametrize(
    "text", ['x = "pay(', "'''\npay(", "pay((((((", "pay(,", "pay(=", "}{)(", "pay(\r\n", "\0(", "é("]
)
def test_broken_texts(path: str, text: str) -> None:
    assert suggested(path, f"{text}{CURSOR}") == []


@given(
    st.text(alphabet="pay(item, =)[]{}'\"\n\t:.<>*é", max_size=60),
    st.sampled_from(["a.py", "a.go", "a.ts", "a.rs", "a.kt"]),
)
@settings(max_examples=150, deadline=None)
def test_any_text_is_read(text: str, path: str) -> None:
    suggested(path, f"def pay(item): ...\nfunc pay(item int) {{}}\n{text}{CURSOR}")


def test_the_header_of_a_method_is_no_call() -> None:
    code = """
        class Router {
          match(method: string, path: string) {
            return this.find(method, path);
          }

          run(method: string, path: string) {
            return this.match(<CURSOR>
    """
    assert not [each.text for each in suggested("a.ts", code) if "string" in each.text]


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("a.py", "def run(cli, runner):\n    runner.invoke(cli, [])\n    runner.invoke(", ("cli", "cli, [])")),
        ("a.py", "def run(item):\n    kind = 1\n    isinstance(kind, str)\n    isinstance(", ("kind", "kind, str)")),
        ("a.ts", "function run(result: any) {\n  expect(result.ok).toBe(true)\n  expect(", ("result.ok", "result.ok)")),
        ("a.ts", "expect(x).toBe(true)\nexpect(y).toBe(", ("true", "true)")),
        (
            "a.go",
            'package p\nfunc run(w Writer) {\n\tw.Write([]byte("a"))\n\tw.Write(',
            ('[]byte("a")', '[]byte("a"))'),
        ),
        ("A.java", "class A {\n  void run(int x) {\n    assertTrue(x > 1);\n    assertTrue(", ("x > 1", "x > 1)")),
        ("a.rs", "fn run(x: u32) {\n    outer::pay(x, None);\n    outer::pay(", ("x", "x, None)")),
        ("a.kt", "fun run(x: Int) {\n    println(x)\n    println(", ("x", "x)")),
        ("a.cs", "class A {\n  void Run(int x) {\n    Assert.Equal(1, x);\n    Assert.Equal(", ("1", "1, x)")),
    ],
)
def test_arguments_of_a_callee_without_a_known_definition(path: str, code: str, expected: tuple[str, str]) -> None:
    assert first(suggested(path, code + CURSOR)) == expected


def test_a_parameter_without_a_definition_is_named_as_other_calls_name_it() -> None:
    code = """
        def a(name, x):
            normpath(name)

        def b(name, x):
            y = 1
            normpath(<CURSOR>
    """
    assert first(suggested("a.py", code)) == ("name", "name)")


def test_calls_of_the_name_in_other_files() -> None:
    found = suggested("b.py", "normpath(<CURSOR>", c_py='normpath("x")\nnormpath("x")\nabnormpath("y")\n')
    assert first(found) == ('"x"', '"x")')


def test_an_argument_of_another_call_with_the_names_here() -> None:
    code = """
        test("a", () => {
          const first = schema.parse(1)
          expect(first.data).toBe(1)
        })
        test("b", () => {
          const second = schema.parse(2)
          expect(<CURSOR>
    """
    assert "second.data)" in texts_of("arguments", suggested("a.ts", code))


def test_an_element_of_the_receiver() -> None:
    code = "def run(words, word):\n    x = 1\n    words.append(<CURSOR>"
    assert first(suggested("a.py", code)) == ("word", "word)")


def test_a_function_in_the_function_around() -> None:
    code = "def test(runner):\n    def cli(): ...\n    runner.invoke(<CURSOR>"
    assert first(suggested("a.py", code)) == ("cli", "cli)")


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("a.ts", 'it("pays", async () => {\n  x()\n})\nit(', '"pays", async () => {\n'),
        ("a.ts", "const a = createSlice({\n  x: 1,\n})\nconst b = createSlice(", "{\n"),
        (
            "a.go",
            'package p\nfunc run() {\n\tr.Get("/", func(w W, r *R) {\n\t})\n\tr.Get(',
            '"/", func(w W, r *R) {\n',
        ),
        ("a.py", 'parametrize("a", [\n    1,\n])\nparametrize(', '"a", [\n'),
    ],
)
def test_arguments_up_to_a_block(path: str, code: str, expected: str) -> None:
    assert first(suggested(path, code + CURSOR))[1] == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("assert_eq!(", ("size.len()", "size.len(), 3)")),
        ("assert_eq!(size.len(), ", ("3", "3)")),
        ('format!("id {}, name: {:?}", ', ("id", "id, name)")),
        ('format!("id {}, name: {:?}", id, ', ("name", "name)")),
        ('write!(f, "id: {} {{}}",', (" id", " id)")),
        ('println!("x", ', ("", "")),
        ("if !(", ("", "")),
    ],
)
def test_arguments_of_macros_of_rust(line: str, expected: tuple[str, str]) -> None:
    code = f"fn a() {{\n    assert_eq!(x.len(), 3);\n}}\nfn b(id: u8, name: &str) {{\n    let size = 1;\n    {line}"
    assert first(suggested("a.rs", code + CURSOR)) == expected


def test_the_rest_of_a_literal_of_rust_is_no_field() -> None:
    code = """
        struct P {
            a: u8,
            b: u8,
        }
        fn f() {
            let p = P {
                a: 1,
                ..Default::default()
            };
            let q = P {
                a: 2,
                <CURSOR>
    """
    found = texts_of("argument", suggested("a.rs", code))
    assert found[0] == "..Default::default()\n"
    assert not [text for text in found if text.startswith("b: ..")]


@pytest.mark.parametrize(
    ("header", "line", "expected"),
    [
        ("def pay(item, rate)\nend", "pay(", "item, rate)"),
        ("def pay(item, rate:)\nend", "pay(", "item, rate: rate)"),
        ("def pay(item, rate: 1, *rest, **options, &block)\nend", "pay(item, ", "rate: rate)"),
        ("class Shop\n  def pay(item)\n  end\nend", "Shop.new.pay(", "item)"),
        ("class Shop\n  def initialize(item)\n  end\nend", "Shop.new(", "item)"),
    ],
)
def test_parameters_of_ruby(header: str, line: str, expected: str) -> None:
    found = suggested("a.rb", f"{header}\n\ndef run(item, rate)\n  {line}{CURSOR}")
    assert first(found)[1] == expected


@pytest.mark.parametrize(
    ("path", "code", "expected"),
    [
        ("a.kt", "class Shop(val size: Int)\nfun run(size: Int) {\n  val s = Shop(", "size)"),
        (
            "a.swift",
            "class S {\n  func pay(_ item: X, at rate: Int) {}\n}\nfunc run(s: S, item: X, rate: Int) {\n  s.pay(",
            "item, at: rate)",
        ),
        (
            "a.cs",
            "class Shop { public void Pay(string item) {} }\nclass B {\n  void Run(Shop s, string item) {\n    s.Pay(",
            "item)",
        ),
        ("a.php", "<?php\nclass Shop { function pay($item) {} }\nfunction run(Shop $s, $item) {\n  $s->pay(", "$item)"),
    ],
)
def test_all_arguments_in_other_languages(path: str, code: str, expected: str) -> None:
    assert first(suggested(path, code + CURSOR))[1] == expected
