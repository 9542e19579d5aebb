"""Benchmark tasks of languages but Python: lines that are code, labels of calls, checkouts, figures by language."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from weft.benchmarks.command import WORK
from weft.benchmarks.completion.run import main as completion
from weft.benchmarks.repoeval import checkouts
from weft.benchmarks.repoeval.archives import COMMITS, ArchiveError, Commit, checkout_commit
from weft.benchmarks.repoeval.checkouts import Checkout, CheckoutFiles
from weft.benchmarks.repoeval.labels import LabelError, calls_of_records, labelled_calls
from weft.benchmarks.repoeval.run import main
from weft.benchmarks.repoeval.sources import SourceFile, parse_source
from weft.benchmarks.repoeval.task_languages import (
    CPP,
    GO,
    JAVA,
    KOTLIN,
    PYTHON,
    TASK_LANGUAGES,
    TYPESCRIPT,
    C,
    TaskLanguage,
    majority_language,
)
from weft.benchmarks.repoeval.tasks import LabelledCall, Task, build_tasks, typed_to_called_name

NODE_PACKAGES = WORK / "node" / "node_modules"
COMPILER = NODE_PACKAGES / "typescript"

TYPESCRIPT_SHOP = """
#- package.json
{"name": "root", "workspaces": ["packages/*"]}
#- packages/price/package.json
{"name": "@shop/price", "exports": {".": "./dist/index.js"}}
#- packages/price/src/index.ts
export * from "./price.js";
#- packages/price/src/price.ts
export interface Taxed {
  withTax(rate: number): number;
}
export class Price implements Taxed {
  label = "price";
  constructor(private amount: number) {}

  withTax(rate: number): number {
    return this.amount * (1 + rate);
  }
}
export const totalOf = (prices: Price[]) => prices.reduce((sum, price) => sum + price.withTax(0.2), 0);
#- packages/till/src/till.tsx
import { Price, totalOf } from "@shop/price";
import { Row } from "./row";
import { external } from "elsewhere";

const shown = external.render(new Price(1));
export function pay(first: Price) {
  const due = totalOf([first]) + 1;
  return <Row value={first.withTax(due)} />;
}
#- packages/till/src/row.tsx
export function Row(props: { value: number }) {
  return <b>{props.value} euros and some cents</b>;
}
export function renderReceipt(lines: string[]) {
  return lines.join();
}
#- packages/till/src/any.js
const unused = 1;
export const printed = (printer) => printer.renderReceipt(["a"]);
"""

GO_SHOP = """
#- go.mod
module example.com/shop

go 1.25.0
#- price/price.go
package price

type Taxed interface {
	WithTax(rate float64) float64
}

type Price struct{ amount float64 }

func New(amount float64) *Price {
	return &Price{amount}
}

// WithTax is the price with its tax.
func (p *Price) WithTax(rate float64) float64 {
	return p.amount * (1 + rate)
}
#- till/till.go
package till

import (
	"example.com/elsewhere"
	"example.com/shop/price"
)

func pay(first *price.Price, other price.Taxed) float64 {
	due := price.New(2).WithTax(0.1)
	elsewhere.New().WithTax(due)
	rounded := roundedTo(due, 2)
	return other.WithTax(rounded)
}
#- till/round.go
package till

func roundedTo(value float64, digits int) float64 {
	return value
}
"""

JAVA_SHOP = """
#- price/src/module-info.java
module shop.price {}
#- price/src/shop/price/Price.java
package shop.price;

import com.elsewhere.Money;

public class Price extends Taxed {
  private final double amount;

  public Price(double amount) {
    this.amount = amount;
  }

  public double plus(double more) {
    return amount + more;
  }

  public double plus(Money more) {
    return amount + more.asDouble();
  }
}
#- price/src/shop/price/Taxed.java
package shop.price;

abstract class Taxed {
  static double rounded(double value) {
    return value;
  }
}
#- till/src/shop/till/Till.java
package shop.till;

import com.elsewhere.Receipt;
import shop.price.Price;

class Till {
  double pay(Receipt receipt) {
    receipt.print(new Price(2));
    var due = new Price(3);
    return due.plus(receipt.total())
        + Price.rounded(4);
  }
}
"""

KOTLIN_SHOP = """
#- src/commonMain/kotlin/shop/Price.kt
package shop

/** What a thing costs. */
class Price(val amount: Int) {
  constructor(text: String) : this(text.toInt())

  fun plus(more: Int) = amount + more
}

fun Price.doubled() = Price(amount * 2)

expect fun now(): Int
#- src/jvmMain/kotlin/shop/Now.kt
package shop

actual fun now(): Int = 1
#- src/nativeMain/kotlin/shop/Now.kt
package shop

actual fun now(): Int = 2
#- src/commonMain/kotlin/till/Till.kt
package till

import elsewhere.Receipt
import shop.Price
import shop.doubled
import shop.now

fun pay(receipt: Receipt) {
  receipt.print(Price(now()))
  listOf(Price("3")).map { it.doubled().plus(1) }
}
#- src/jvmMain/kotlin/till/Clock.kt
package till

val started = shop.now()
"""

C_SHOP = """
#- include/shop/price.h
struct price { double amount; };
double price_plus(struct price *first, double more);
static inline double price_double(struct price *first) { return first->amount * 2; }
#- src/price.c
#include "shop/price.h"
#include "missing.h"

double price_plus(struct price *first,
                  double more) {
  return first->amount + more;
}
#- src/till.c
#include <shop/price.h>
#define PAID(x) (x)

double pay(struct price *first) {
  log_it(price_double(first));
  return PAID(price_plus(first, 1));
}
"""

CPP_SHOP = """
#- shop/price.h
namespace shop {
class Price {
 public:
  explicit Price(double amount) : amount_(amount) {}
  static Price Of(double amount);
  double Plus(double more) const;
  double Plus(const Price& more) const;

 private:
  double amount_;
};
template <typename T> T Rounded(T value) { return value; }
}
#- shop/price.cc
#include "shop/price.h"
namespace shop {
Price Price::Of(double amount) { return Price(amount); }
double Price::Plus(double more) const { return amount_ + more; }
double Price::Plus(const Price& more) const { return amount_ + more.amount_; }
}
#- till/till_test.cc
#include "gtest/gtest.h"
#include "shop/price.h"

TEST(Till, Pays) {
  auto price = shop::Price::Of(1);
  EXPECT_EQ(price.Plus(2), shop::Rounded(3));
  delete new shop::Price(4);
}
"""


def files_of(text: str, language: TaskLanguage) -> dict[str, SourceFile]:
    parts = (part.partition("\n") for part in text.split("#- ")[1:])
    return {path: parse_source(path, content, "", language) for path, _, content in parts if language.suffix_of(path)}


def written(folder: Path, text: str) -> Path:
    for part in text.split("#- ")[1:]:
        path, _, content = part.partition("\n")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, encoding="utf-8")
    return folder


def target_texts(text: str, language: TaskLanguage, path: str) -> list[str]:
    source = parse_source(path, text, "", language)
    return [line.strip() for line, is_code in zip(source.lines, source.line_is_code, strict=True) if is_code]


def call(path: str, line: int, name: str, callee: dict[str, Any] | None, how: str | None = "import") -> dict[str, Any]:
    place = {"path": path, "line": line, "end_line": line + 1, "column": 4, "name": name}
    return {"kind": "call", **place, "how": how if callee else None, "callee": callee}


def definition(path: str, name: str, line: int) -> dict[str, Any]:
    return {"kind": "definition", "name": name, "path": path, "qualname": name, "spans": [[line, line + 2]]}


# Lines


def test_comments_templates_and_text_between_tags_are_no_code() -> None:
    text = """// a comment
const a = `one
two`; /* and
more */
const b = 1; // why
return <p>
  many words of text
</p>;
"""
    assert target_texts(text, TYPESCRIPT, "a.tsx") == ["const b = 1; // why", "return <p>", "</p>;"]
    source = parse_source("a.tsx", text, "", TYPESCRIPT)
    assert source.line_code_end[4] == len("const b = 1;")


def test_raw_strings_over_lines_are_no_code() -> None:
    text = 'package a\n\n/* doc */\nvar a = `x\ny`\nvar ä = "ö" // why\n'
    assert target_texts(text, GO, "a.go") == ["package a", 'var ä = "ö" // why']
    assert parse_source("a.go", text, "", GO).line_code_end[5] == len('var ä = "ö"')


@pytest.mark.parametrize(
    ("language", "path", "text", "expected"),
    [
        ("java", "A.java", 'a(); // why\n/* b\nc */\nString d = """\n  e""";\n', ["a(); // why"]),
        ("rust", "a.rs", '/// doc\nfn a() {}\nconst B: &str = r#"c\nd"#;\n', ["fn a() {}"]),
        ("csharp", "A.cs", 'a(); // why\nvar b = @"c\nd";\nvar e = $@"{f}\n";\n', ["a(); // why"]),
        ("kotlin", "a.kt", 'val a = 1 // why\n/* b */\nval c = """d\ne"""\n', ["val a = 1 // why"]),
        ("c", "a.h", "/* a\nb */ int c;\n// d\n", ["b */ int c;"]),
        ("cpp", "a.cc", 'auto a = R"(b\nc)";\nint d; // e\n', ["int d; // e"]),
        ("ruby", "a.rb", "a = <<~B\n  c\nB\nd(1) # why\n=begin\ne\n=end\n", ["d(1) # why"]),
        ("php", "a.php", "<p>a</p>\n<?php\n$b = <<<C\nd\nC;\n# e\nf();\n", ["<?php", "f();"]),
        ("swift", "a.swift", 'let a = 1 // why\nlet b = """\nc\n"""\n', ["let a = 1 // why"]),
        ("scala", "a.scala", 'val a = 1 // why\nval b = """c\nd"""\n', ["val a = 1 // why"]),
    ],
)
def test_comments_and_strings_over_lines_are_no_code(language: str, path: str, text: str, expected: list[str]) -> None:
    assert target_texts(text, TASK_LANGUAGES[language], path) == expected


def test_syntax_errors_and_declaration_files_give_no_targets() -> None:
    assert target_texts("package a\n)]} ((\n", GO, "a.go") == ["package a"]
    assert not parse_source("a.d.ts", "export declare const a: number;\n", "", TYPESCRIPT).gives_tasks


# Labels


def test_a_call_is_labelled_by_the_checker_or_by_a_unique_name() -> None:
    sources = files_of("#- a.go\npackage a\nx()\ny()\nz()\nw()\n#- b.go\npackage a\n", GO)
    known = definition("b.go", "Resolved", 0)
    records = [
        {"kind": "standard", "names": ["Standard"]},
        *(definition("b.go", name, 1) for name in ("Unique", "Short", "Standard", "Twice0", "Twice0")),
        call("a.go", 1, "Resolved", known),
        *(call("a.go", line, name, None) for line, name in enumerate(("Unique", "Short", "Standard", "Twice0"), 2)),
        call("b.go", 1, "Resolved", known),
    ]
    found = calls_of_records(records, sources)
    assert [(each.path, each.line, each.resolution, each.callee.qualname) for each in found] == [
        ("a.go", 1, "import", "Resolved"),
        ("a.go", 2, "unique_name", "Unique"),
    ]


def tasks_of_records(text: str, language: TaskLanguage, records: list[dict[str, Any]]) -> list[Task]:
    sources = files_of(text, language)
    return [task for task in build_tasks(sources, "r", calls=calls_of_records(records, sources)) if task.kind == "api"]


def test_at_most_four_labelled_calls_have_one_definition() -> None:
    text = "#- a.ts\n" + "".join(f"const v{n} = callee({n});\n" for n in range(9)) + "#- b.ts\nexport {};\n"
    records = [call("a.ts", line, "callee", definition("b.ts", "callee", 0)) for line in range(9)]
    tasks = tasks_of_records(text, TYPESCRIPT, records)
    assert len(tasks) == 4
    assert {task.language for task in tasks} == {"typescript"}
    assert all("const" not in task.gt_ids_unseen for task in tasks)


@pytest.mark.parametrize(
    ("line", "typed"),
    [
        ("const a = new Price<number>(1);", "const a = new Pr"),
        ("return <ns.Price value={1} />;", "return <ns.Pr"),
        ("const c = shop.Price?.(Prices(2));", "const c = shop.Pr"),
        ("const d = shop.Price!(2, 3);", "const d = shop.Pr"),
        ("const e = other(1, 2, 3);", None),
    ],
)
def test_the_called_name_is_found_in_its_line(line: str, typed: str | None) -> None:
    records = [call("a.tsx", 1, "Price", definition("b.ts", "Price", 0))]
    (task,) = tasks_of_records(f"#- a.tsx\nimport x from 'y';\n{line}\n#- b.ts\nexport {{}};\n", TYPESCRIPT, records)
    found = typed_to_called_name(task, 2)
    assert (found and found.ground_truth_line[: found.col]) == typed


def test_a_called_name_needs_no_bracket_in_other_languages() -> None:
    records = [call("a.rb", 1, "price_of", definition("b.rb", "Shop.price_of", 0))]
    text = "#- a.rb\nx = 1\npay shop.price_of item, 2\n#- b.rb\ny = 2\n"
    (task,) = tasks_of_records(text, TASK_LANGUAGES["ruby"], records)
    found = typed_to_called_name(task, 0)
    assert found is not None and found.ground_truth_line[: found.col] == "pay shop."


def labels_of(folder: Path, text: str, language: TaskLanguage) -> list[LabelledCall]:
    tree = written(folder / "shop", text)
    files = CheckoutFiles.read(Checkout("shop", tree, language))
    for packages in ("node", "python"):
        (folder / packages).symlink_to(WORK / packages)
    return labelled_calls(language, tree, files.sources, files.manifests, folder)


def found_in(calls: list[LabelledCall]) -> list[tuple[str, int, str, str, str]]:
    return [
        (call.path.rpartition("/")[2], call.line, call.resolution, call.callee.qualname, call.callee.path)
        for call in calls
    ]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("javac") is None, reason="no Java compiler is installed")
def test_the_java_compiler_labels_calls(tmp_path: Path) -> None:
    found = labels_of(tmp_path, JAVA_SHOP, JAVA)
    price = "price/src/shop/price/Price.java"
    assert found_in(found) == [
        ("Till.java", 7, "constructor", "Price", price),
        ("Till.java", 8, "constructor", "Price", price),
        ("Till.java", 9, "method", "Price.plus", price),
        ("Till.java", 10, "static", "Taxed.rounded", "price/src/shop/price/Taxed.java"),
    ]
    assert [call.callee.spans for call in found[1:3]] == [((4, 19), (7, 10)), ((11, 14), (15, 18))]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")
@pytest.mark.skipif(not (NODE_PACKAGES / "kotlin-compiler").is_dir(), reason="no Kotlin compiler in the work folder")
def test_the_kotlin_compiler_labels_calls(tmp_path: Path) -> None:
    found = labels_of(tmp_path, KOTLIN_SHOP, KOTLIN)
    price = "src/commonMain/kotlin/shop/Price.kt"
    assert found_in(found) == [
        ("Till.kt", 8, "constructor", "Price", price),
        ("Till.kt", 8, "function", "now", price),
        ("Till.kt", 9, "constructor", "Price", price),
        ("Till.kt", 9, "extension", "Price.doubled", price),
        ("Till.kt", 9, "method", "Price.plus", price),
        ("Clock.kt", 2, "function", "now", "src/jvmMain/kotlin/shop/Now.kt"),
    ]
    assert found[0].callee.spans == ((3, 8), (4, 5))
    # `expect` and `actual` are one definition.
    assert found[1].callee.others == (("src/jvmMain/kotlin/shop/Now.kt", ((2, 3),)),)
    assert found[5].callee.others == ((price, ((11, 12),)),)


@pytest.mark.slow
@pytest.mark.skipif(not (WORK / "python" / "clang").is_dir(), reason="no libclang in the work folder")
def test_libclang_labels_calls_of_c(tmp_path: Path) -> None:
    found = labels_of(tmp_path, C_SHOP, C)
    assert found_in(found) == [
        ("till.c", 4, "function", "price_double", "include/shop/price.h"),
        ("till.c", 5, "function", "price_plus", "src/price.c"),
    ]
    assert found[1].callee.spans == ((3, 7),)


@pytest.mark.slow
@pytest.mark.skipif(not (WORK / "python" / "clang").is_dir(), reason="no libclang in the work folder")
def test_libclang_labels_calls_of_cpp_in_tests_of_a_missing_framework(tmp_path: Path) -> None:
    found = labels_of(tmp_path, CPP_SHOP, CPP)
    assert found_in(found) == [
        ("price.cc", 2, "constructor", "Price", "shop/price.h"),
        ("till_test.cc", 4, "static", "Price.Of", "shop/price.cc"),
        ("till_test.cc", 5, "method", "Price.Plus", "shop/price.cc"),
        ("till_test.cc", 5, "function", "Rounded", "shop/price.h"),
        ("till_test.cc", 6, "constructor", "Price", "shop/price.h"),
    ]
    assert found[2].callee.spans == ((3, 4), (4, 5))
    assert found[2].callee.others == (("shop/price.h", ((5, 6),)),)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.skipif(not COMPILER.is_dir(), reason="no TypeScript compiler in the work folder of the benchmarks")
def test_the_typescript_compiler_labels_calls(tmp_path: Path) -> None:
    found = labels_of(tmp_path, TYPESCRIPT_SHOP, TYPESCRIPT)
    assert {(each.path.rpartition("/")[2], each.resolution, each.callee.qualname) for each in found} == {
        ("till.tsx", "package_import", "Price"),
        ("till.tsx", "package_import", "totalOf"),
        ("till.tsx", "method", "Price.withTax"),
        ("till.tsx", "jsx", "Row"),
        ("any.js", "unique_name", "renderReceipt"),
    }
    (constructed,) = {each.callee for each in found if each.callee.qualname == "Price"}
    assert constructed.spans == ((3, 11), (5, 6))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
def test_the_type_checker_of_go_labels_calls(tmp_path: Path) -> None:
    found = labels_of(tmp_path, GO_SHOP, GO)
    assert [(each.line, each.resolution, each.callee.qualname, each.callee.spans) for each in found] == [
        (8, "other_package", "New", ((8, 11),)),
        (8, "method", "Price.WithTax", ((13, 16),)),
        (10, "same_package", "roundedTo", ((2, 5),)),
        (11, "method", "Taxed.WithTax", ((3, 4),)),
    ]


@pytest.mark.parametrize(
    ("language", "install"),
    [
        (TYPESCRIPT, r"npm install --prefix .* typescript@"),
        (KOTLIN, r"npm install --prefix .* kotlin-compiler@"),
        (CPP, r"pip install --target .* libclang=="),
    ],
)
def test_a_missing_program_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: TaskLanguage, install: str
) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: program)
    with pytest.raises(LabelError, match=install):
        labelled_calls(language, tmp_path, {}, {}, tmp_path)


BY_NAME = {
    "rust": """
#- src/price.rs
pub struct Price { amount: f64 }

impl Price {
    pub fn new(amount: f64) -> Self { Price { amount } }
    pub fn with_tax(&self) -> f64 { self.amount }
    pub fn starts_with(&self) -> bool { true }
}
#- src/lib.rs
fn pay() {
    let price = crate::price::Price::<f64>::new(1.0);
    price.with_tax::<f64>();
    "x".starts_with("y");
    other::Shop::new(2);
}
""",
    "csharp": """
#- Price.cs
namespace Shop {
  public class PriceTag {
    public PriceTag(double amount) {}
    public static PriceTag Of(double amount) => new(amount);
    public double WithTax(double rate) => 1;
    public double WithTax() => 2;
  }
}
#- Till.cs
class Till {
  void Pay(PriceTag first) {
    var price = new PriceTag(1);
    first?.WithTax<int>(PriceTag.Of(2));
    first.ToString();
  }
}
""",
    "ruby": """
#- price.rb
module Shop
  class Price
    def initialize(amount); end
    def with_tax; end
    def empty?; end
  end
end
#- till.rb
price = Shop::Price.new(1)
price.with_tax
price.empty?
price.with_tax = 2
""",
    "php": """
#- src/Price.php
<?php
class Price {
    public function __construct(private float $amount) {}
    public static function of(float $amount): self { return new self($amount); }
    public function withTax(float $rate): float { return 1; }
    public function getIterator() {}
}
#- src/Till.php
<?php
$price = \\Shop\\Price::of(1);
$price->withTax(2);
$price?->withTax(new Shop\\Price(3));
$price->getIterator();
""",
    "swift": """
#- Price.swift
struct Price {
  init(amount: Double) {}
  static func of(_ amount: Double) -> Price { Price(amount: amount) }
}
extension Price {
  func withTax() -> Double { 1 }
}
#- Till.swift
func pay() {
  let price = Price.of(1)
  price.withTax()
  price.description()
}
""",
    "scala": """
#- Price.scala
class PriceTag(amount: Double) {
  def withTax(rate: Double): Double = 1
}
object PriceTag { def of(amount: Double) = new PriceTag(amount) }
#- Till.scala
object Till {
  val price = PriceTag.of(1)
  price.withTax(2)
  price.mkString(3)
}
""",
}


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("rust", [(1, "qualified_name", "Price.new"), (2, "simple_name", "Price.with_tax")]),
        (
            "csharp",
            [
                (2, "simple_name", "PriceTag"),
                (3, "simple_name", "PriceTag.WithTax"),
                (3, "qualified_name", "PriceTag.Of"),
            ],
        ),
        ("ruby", [(1, "simple_name", "Shop.Price.with_tax")]),
        (
            "php",
            [
                (1, "qualified_name", "Price.of"),
                (2, "simple_name", "Price.withTax"),
                (3, "simple_name", "Price.withTax"),
            ],
        ),
        ("swift", [(1, "qualified_name", "Price.of"), (2, "simple_name", "Price.withTax")]),
        ("scala", [(1, "qualified_name", "PriceTag.of"), (2, "simple_name", "PriceTag.withTax")]),
    ],
)
def test_a_call_is_labelled_by_the_name_of_one_definition(
    tmp_path: Path, language: str, expected: list[tuple[int, str, str]]
) -> None:
    files = files_of(BY_NAME[language], TASK_LANGUAGES[language])
    found = labelled_calls(TASK_LANGUAGES[language], tmp_path, files, {}, tmp_path)
    assert [(call.line, call.resolution, call.callee.qualname) for call in found] == expected


def test_a_definition_by_name_has_all_overloads_and_constructors(tmp_path: Path) -> None:
    csharp = TASK_LANGUAGES["csharp"]
    constructed, overloaded, _ = labelled_calls(csharp, tmp_path, files_of(BY_NAME["csharp"], csharp), {}, tmp_path)
    assert constructed.callee.spans == ((1, 7), (2, 3))
    assert overloaded.callee.spans == ((4, 5), (5, 6))


# Checkouts


def test_the_language_of_a_tree_is_that_of_most_files(tmp_path: Path) -> None:
    assert majority_language(written(tmp_path / "ts", TYPESCRIPT_SHOP)) is TYPESCRIPT
    assert majority_language(written(tmp_path / "go", GO_SHOP)) is GO
    assert majority_language(written(tmp_path / "py", "#- a.py\nx = 1\n#- node_modules/b.ts\n\n#- c/d.go\n")) is PYTHON


def test_manifests_are_read_beside_the_sources(tmp_path: Path) -> None:
    files = CheckoutFiles.read(Checkout("shop", written(tmp_path, TYPESCRIPT_SHOP), TYPESCRIPT))
    assert list(files.manifests) == ["package.json", "packages/price/package.json"]
    assert list(files.texts)[-2:] == list(files.manifests)
    assert not set(files.sources) & set(files.manifests)


def test_every_commit_is_pinned() -> None:
    assert len(COMMITS) == 44
    assert all(len(commit.sha) == 40 for commit in COMMITS.values())
    uses = {(commit.language, commit.use) for commit in COMMITS.values()}
    assert uses == {(language, use) for language in TASK_LANGUAGES if language != "python" for use in ("fit", "report")}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_commit_is_fetched_once(tmp_path: Path) -> None:
    origin = written(tmp_path / "origin", GO_SHOP)

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(["git", "-C", origin, *identity, *arguments], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q")
    git("add", "-A")
    git("commit", "-q", "-m", "all")
    commit = Commit("shop", str(origin), git("rev-parse", "HEAD"), "go", "fit")
    tree = checkout_commit(commit, tmp_path / "work")
    assert sorted(file.name for file in tree.iterdir()) == ["go.mod", "price", "till"]
    shutil.rmtree(origin)
    assert checkout_commit(commit, tmp_path / "work") == tree
    with pytest.raises(ArchiveError, match="git failed to fetch commit"):
        checkout_commit(commit, tmp_path / "other")


# Commands


@pytest.fixture
def trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Checkouts of both languages, and labels as their programs would give them."""
    written(tmp_path / "trees" / "ts_shop", TYPESCRIPT_SHOP)
    written(tmp_path / "trees" / "go_shop", GO_SHOP)

    def labels(language: TaskLanguage, tree: Path, sources: dict[str, SourceFile], *_: object) -> list[LabelledCall]:
        if language is GO:
            records = [call("till/till.go", 10, "roundedTo", definition("till/round.go", "roundedTo", 2))]
        else:
            total = definition("packages/price/src/price.ts", "totalOf", 11)
            records = [call("packages/till/src/till.tsx", 6, "totalOf", total, "package_import")]
        return calls_of_records(records, sources)

    monkeypatch.setattr(checkouts, "labelled_calls", labels)
    return tmp_path / "trees"


def test_retrieval_is_reported_by_language(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = ["--trees", str(trees), "--work", str(trees.parent)]
    assert main([*work, "--strategies", "repocoder", "weft"]) == 0
    table, line = capsys.readouterr().out.rsplit("\n", 2)[:2]
    assert "| typescript | weft | " in table and "| go | weft | " in table
    figures = json.loads(line)
    assert figures["resolutions"] == {"go_shop": {"import": 1}, "ts_shop": {"package_import": 1}}
    assert figures["strategies"]["weft"]["languages"].keys() == {"typescript", "go"}
    assert main([*work, "--language", "go", "--repos", "go", "--write-tasks", str(trees.parent / "tasks")]) == 0
    tasks = [json.loads(line) for line in (trees.parent / "tasks" / "go_shop.jsonl").read_text().splitlines()]
    assert {task["kind"] for task in tasks} == {"line", "api"} and {task["language"] for task in tasks} == {"go"}


def test_completions_are_reported_by_language(trees: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert completion(["--trees", str(trees), "--work", str(trees.parent / "work"), "--settings", "none", "weft"]) == 0
    table, line = capsys.readouterr().out.rsplit("\n", 2)[:2]
    assert "| typescript | weft | " in table
    (model,) = json.loads(line)["models"]
    languages = model["line"]["weft"]["languages"]
    assert languages["go"]["n"] + languages["typescript"]["n"] == model["line"]["weft"]["n"]
