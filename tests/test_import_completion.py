"""Import lines: the statement at a cursor, the names and paths that can follow, and the completion of one of them."""

from __future__ import annotations

import pytest
from weft import Config
from weft.codegraph import CodeGraph, exports_at, imported_module_at, module_paths_at, parse_file
from weft.languages import language_of
from weft.languages.import_lines import ImportLine, import_line_at
from weft.server.completion import Cursor
from weft.server.completion.engine import Engine
from weft.server.completion.service import Request
from weft.server.config import CompletionOptions
from weft.server.config.options import index_settings
from weft.server.models.chain import ModelChain
from weft.server.workspace.analysis import analyse
from weft.server.workspace.snapshot import FolderSnapshot
from weft.server.workspace.text import TextLines

CURSOR = "<CURSOR>"

SHOP_PY = {
    "shop/__init__.py": "",
    "shop/prices.py": "RATE = 2\n\n\ndef total(items): ...\n\n\ndef discount(price): ...\n\n\ndef _round(price): ...\n",
    "shop/cart.py": "import os\nfrom shop.prices import discount\n\n\nclass Cart: ...\n",
    "till.py": "from shop.prices import discount\nfrom shop.cart import Cart\n",
}
SHOP_TS = {
    "src/prices.ts": "export const rate = 2;\nexport function total(items: Item[]) {}\nexport interface Item {}\n",
    "src/cart.ts": 'import { Item, rate } from "./prices";\nexport class Cart {}\n',
    "src/view/page.tsx": 'import { Item } from "../prices";\nimport { Cart } from "../cart";\n',
    "src/view/panel.js": 'const { rate } = require("../prices");\n',
}
SHOP_GO = {
    "go.mod": "module example.com/shop\n",
    "prices/prices.go": "package prices\n\nfunc Total() int { return 1 }\n",
    "cart/cart.go": (
        'package cart\n\nimport (\n\t"fmt"\n\n\t"example.com/shop/prices"\n)\n\n'
        "func Sum() { fmt.Println(prices.Total()) }\n"
    ),
    "till/till.go": 'package till\n\nimport "example.com/shop/prices"\n\nvar Sum = prices.Total()\n',
}

SHOP_JAVA = {
    "src/org/shop/Cart.java": "package org.shop;\nclass Cart { static int SIZE; static Cart open() {} class Row {} }\n",
    "src/org/shop/Item.java": "package org.shop;\nimport java.util.List;\nclass Item { Cart cart; }\n",
    "src/org/till/Till.java": (
        "package org.till;\nimport org.shop.Cart;\nimport static org.shop.Cart.open;\nclass Till {}\n"
    ),
    "src/org/shop/Coin.scala": "package org.shop\nclass Coin\nobject Rates { def rate = 1 }\n",
}


def line_at(path: str, text: str) -> ImportLine | None:
    before, _, after = text.partition(CURSOR)
    return import_line_at(language_of(path).import_lines, before, after)


@pytest.mark.parametrize(
    ("path", "text", "module", "typed", "names"),
    [
        ("a.py", "from shop.prices import <CURSOR>", "shop.prices", "", ""),
        ("a.py", "x = 1\nfrom shop.prices import total, dis<CURSOR>\n", "shop.prices", "dis", "total"),
        ("a.py", "from .. import <CURSOR>", "..", "", ""),
        ("a.py", "from .prices import total as t, <CURSOR>", ".prices", "", "total"),
        (
            "a.py",
            "from shop import (\n    total,  # sum, of all\n    <CURSOR>\n    rate,\n)\n",
            "shop",
            "",
            "total rate",
        ),
        ("a.py", "from shop import total, \\\n    <CURSOR>", "shop", "", "total"),
        ("a.py", "def f():\n    from shop import <CURSOR>\n", "shop", "", ""),
        ("a.ts", 'import { <CURSOR> } from "./prices"', "./prices", "", ""),
        ("a.ts", 'import type { Item, <CURSOR> } from "./prices";', "./prices", "", "Item"),
        ("a.ts", "import Shop, { type Item, type T<CURSOR> } from './prices'", "./prices", "T", "Item"),
        ("a.js", 'import {\n  total,\n  <CURSOR>\n  rate as r,\n} from "./prices";', "./prices", "", "total rate"),
        ("a.js", 'export { <CURSOR> } from "shop"', "shop", "", ""),
        ("a.js", 'const { total: sum, <CURSOR> } = require("./prices");', "./prices", "", "total"),
        ("a.js", "const { <CURSOR> } = await import('./prices')", "./prices", "", ""),
        ("a.scala", "import shop.prices.{<CURSOR>}", "shop.prices", "", ""),
        ("a.scala", "import shop.{total, rate => r, <CURSOR>", "shop", "", "total rate"),
        ("a.rs", "use crate::prices::<CURSOR>;", "crate::prices", "", ""),
        ("a.rs", "pub(crate) use shop::to<CURSOR>", "shop", "to", ""),
        ("a.rs", "use shop::{total, rate as r, <CURSOR>};", "shop", "", "total rate"),
        ("a.rs", "    use super::{\n    total,\n    <CURSOR>\n    rate,\n};", "super", "", "total rate"),
    ],
)
def test_a_cursor_among_imported_names_has_their_module(path, text, module, typed, names):
    line = line_at(path, text)
    assert line is not None
    assert (line.module, line.typed, line.names, line.is_path) == (module, typed, frozenset(names.split()), False)


@pytest.mark.parametrize(
    ("path", "text", "typed", "names"),
    [
        ("a.py", "from shop.<CURSOR>", "shop.", ""),
        ("a.py", "from .shop.pr<CURSOR>", ".shop.pr", ""),
        ("a.py", "import os, shop.<CURSOR>", "shop.", ""),
        ("a.ts", 'import { total, type Item } from "./<CURSOR>"', "./", "total Item"),
        ("a.ts", "import Shop from '<CURSOR>", "", "Shop"),
        ("a.ts", "export * from '@shop/<CURSOR>'", "@shop/", ""),
        ("a.js", "const shop = require('../<CURSOR>')", "../", ""),
        ("a.js", "await import('./<CURSOR>')", "./", ""),
        ("a.java", "import org.shop.Ca<CURSOR>;", "org.shop.Ca", ""),
        ("a.java", "import static org.<CURSOR>\n", "org.", ""),
        ("a.java", "import <CURSOR>\n", "", ""),
        ("a.scala", "import a.b, org.shop.<CURSOR>", "org.shop.", ""),
        ("a.kt", "import org.shop.Ca<CURSOR>\n", "org.shop.Ca", ""),
        ("a.go", 'import "<CURSOR>', "", ""),
        ("a.lua", 'local shop = require("<CURSOR>")', "", ""),
        ("a.lua", "local shop = require 'shop.<CURSOR>", "shop.", ""),
        ("a.cc", '#include "<CURSOR>"', "", ""),
        ("a.h", "#  include <shop/ca<CURSOR>>", "shop/ca", ""),
        ("a.go", 'import (\n\t"fmt"\n\n\tp "example.com/<CURSOR>"\n)', "example.com/", "p"),
    ],
)
def test_a_cursor_in_a_module_path_has_what_is_typed(path, text, typed, names):
    line = line_at(path, text)
    assert line is not None
    assert (line.module, line.typed, line.names, line.is_path) == ("", typed, frozenset(names.split()), True)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "from shop import total\n<CURSOR>"),
        ("a.py", "from shop import total <CURSOR>"),
        ("a.py", "from shop import (total)\nf(<CURSOR>)"),
        ("a.py", "x = f(<CURSOR>)"),
        ("a.py", "yield from shop.<CURSOR>"),
        ("a.ts", "const { <CURSOR> } = shop"),
        ("a.ts", "import { <CURSOR> }"),
        ("a.ts", "export const x = { <CURSOR> }"),
        ("a.ts", 'import { a } from "./b";\nconst x = "<CURSOR>"'),
        ("a.go", 'import (\n\t"fmt"\n)\n\nfunc f() { g("<CURSOR>") }'),
        ("a.rs", "use shop::{a, b};\nlet x = shop::<CURSOR>"),
        ("a.rs", "use shop::*;\n<CURSOR>"),
        ("a.java", "import org.shop.Cart;\n<CURSOR>"),
        ("a.java", "import org.shop.<CURSOR> + 1"),
        ("a.cc", '#include "a.h"\n<CURSOR>'),
        ("a.c", 'const char *s = "<CURSOR>"'),
    ],
)
def test_elsewhere_is_no_import_line(path, text):
    assert line_at(path, text) is None


def names_at(files: dict[str, str], path: str, text: str) -> list[str]:
    graph = CodeGraph.build([parse_file(*file) for file in files.items()])
    before, _, after = text.partition(CURSOR)
    line = line_at(path, text)
    assert line is not None
    if line.is_path:
        return [found.path for found in module_paths_at(graph, path, language_of(path), line, before, after)]
    return [export.name for export in exports_at(graph, path, language_of(path), line, before, after)]


def test_names_that_the_file_reads_without_binding_them_come_first_then_the_most_imported():
    assert names_at(SHOP_PY, "new.py", "from shop.prices import <CURSOR>\n") == ["discount", "total", "RATE"]
    text = "from shop.prices import <CURSOR>\n\ndef discount(): ...\n\nprint(total([]), discount(), x.RATE)\n"
    assert names_at(SHOP_PY, "new.py", text) == ["total", "discount", "RATE"]


def test_names_on_the_line_and_names_that_do_not_fit_what_is_typed_are_left_out():
    assert names_at(SHOP_PY, "new.py", "from shop.prices import (\n    total,\n    <CURSOR>\n    RATE,\n)") == [
        "discount"
    ]
    assert names_at(SHOP_PY, "new.py", "from shop.prices import d<CURSOR>") == ["discount"]


def test_a_package_of_python_offers_its_modules():
    assert set(names_at(SHOP_PY, "new.py", "from shop import <CURSOR>")) == {"prices", "cart"}
    assert set(names_at(SHOP_PY, "shop/new.py", "from . import <CURSOR>")) == {"prices", "cart"}


def test_what_a_module_imports_itself_comes_after_what_it_defines():
    found = names_at(SHOP_PY, "new.py", "from shop.cart import <CURSOR>\n")
    assert found[0] == "Cart"
    assert "os" not in found


@pytest.mark.parametrize(
    "statement", ['import { <CURSOR> } from "./prices"', 'const { <CURSOR> } = require("./prices")']
)
def test_exports_of_typescript_include_types_and_constants(statement):
    assert names_at(SHOP_TS, "src/new.ts", statement) == ["Item", "rate", "total"]
    assert names_at(SHOP_TS, "src/new.ts", f"{statement};\ntotal([]);\n")[0] == "total"


def test_a_relative_path_is_that_of_the_file_that_exports_the_names_of_the_line():
    assert names_at(SHOP_TS, "src/view/new.ts", 'import { total } from "../<CURSOR>"')[0] == "../prices"
    assert names_at(SHOP_TS, "src/new.ts", 'import { Cart } from "<CURSOR>"')[0] == "./cart"
    assert set(names_at(SHOP_TS, "src/new.ts", 'export * from "./<CURSOR>"')) == {"./prices", "./cart"}


def test_paths_of_lua_are_those_that_other_files_require():
    files = {
        "lua/shop/prices.lua": "local M = {}\nreturn M\n",
        "lua/shop/cart.lua": 'local prices = require("shop.prices")\n',
        "lua/shop/till.lua": 'local prices = require("shop.prices")\nlocal cart = require("shop.cart")\n',
    }
    assert names_at(files, "lua/new.lua", 'local x = require("shop.<CURSOR>")\n') == ["shop.prices", "shop.cart"]


SHOP_CC = {
    "src/shop.h": "void pay();\n",
    "src/till.h": "class Till;\n",
    "src/till.cc": '#include "till.h"\n#include <vector>\nusing namespace std;\nusing namespace money;\n',
    "src/cart.cc": '#include "shop/cart.h"\n#include <vector>\n#include "../x.h"\n',
    "include/shop/cart.h": "namespace money { class Cart; }\n",
}


def test_includes_are_those_of_other_files_and_headers_beside_the_file_the_own_one_first():
    assert names_at(SHOP_CC, "src/shop.cc", '#include "<CURSOR>"\n') == ["shop.h", "vector", "shop/cart.h", "till.h"]
    assert names_at(SHOP_CC, "src/shop.cc", '#include "t<CURSOR>"\n') == ["till.h"]
    assert names_at(SHOP_CC, "src/new.cc", '#include <vector>\n#include "shop/<CURSOR>"\n') == ["shop/cart.h"]


SHOP_RS = {
    "src/lib.rs": "pub mod prices;\nmod cart;\npub use prices::total;\n",
    "src/prices.rs": "pub fn total() -> u64 { 1 }\npub struct Item;\npub const RATE: f64 = 1.0;\nuse std::fmt;\n",
    "src/cart.rs": "use crate::prices::Item;\n\npub struct Cart(Item);\n",
}


def test_names_of_rust_are_those_of_the_module_and_its_children():
    assert names_at(SHOP_RS, "src/new.rs", "use crate::prices::<CURSOR>;\n") == ["total", "Item", "RATE"]
    assert names_at(SHOP_RS, "src/new.rs", "use crate::prices::{Item, t<CURSOR>};\n") == ["total"]
    assert names_at(SHOP_RS, "src/new.rs", "use super::prices::<CURSOR>\n\nfn f() { total(); }\n")[0] == "total"
    assert set(names_at(SHOP_RS, "src/new.rs", "use crate::<CURSOR>;\n")) == {"prices", "cart", "total"}
    assert names_at(SHOP_RS, "src/new.rs", "use std::<CURSOR>;\n") == []


SHOP_CS = {
    "Shop.cs": "using System;\nnamespace Acme.Shops;\npublic class Shop { }\n",
    "Till.cs": "using System;\nusing Acme.Shops;\nnamespace Acme.Tills { public class Till { } }\n",
    "Main.cs": "using System;\nusing Acme.Tills;\nusing static Acme.Shops.Prices;\nclass Main { }\n",
}


def test_usings_of_csharp_are_namespaces_that_the_file_uses_first():
    assert names_at(SHOP_CS, "New.cs", "using Acme.<CURSOR>\n\nclass New { Till till; }\n")[0] == "Acme.Tills"
    assert names_at(SHOP_CS, "New.cs", "using Acme.<CURSOR>\n\nclass New { Shop shop; }\n")[0] == "Acme.Shops"
    assert names_at(SHOP_CS, "New.cs", "using S<CURSOR>;\n") == ["System"]
    assert names_at(SHOP_CS, "New.cs", "using Acme.Shops;\nusing Acme.S<CURSOR>;\n") == ["Acme.Shops.Prices"]
    assert "Acme.Tills" not in names_at(SHOP_CS, "New.cs", "using Acme.<CURSOR>\nnamespace Acme.Tills;\n")


SHOP_PHP = {
    "src/Shop.php": "<?php\nnamespace Acme\\Shops;\nclass Shop {}\nfunction total() {}\n",
    "src/Till.php": "<?php\nnamespace Acme\\Tills;\nuse Acme\\Shops\\Shop;\nuse Psr\\Log;\nclass Till {}\n",
}


def test_names_of_php_are_those_of_the_repository_and_of_other_files():
    text = "<?php\nnamespace Main;\nuse Acme\\<CURSOR>\n\nfunction f(Till $t) {}\n"
    assert names_at(SHOP_PHP, "New.php", text)[:2] == ["Acme\\Tills\\Till", "Acme\\Shops\\Shop"]
    assert names_at(SHOP_PHP, "New.php", "<?php\nuse P<CURSOR>;\n") == ["Psr\\Log"]
    assert names_at(SHOP_PHP, "New.php", "<?php\nuse Acme\\Shops\\Sh<CURSOR>;\n") == ["Acme\\Shops\\Shop"]
    assert line_at("New.php", "<?php\nclass A {\n    use Acme\\<CURSOR>\n}\n") is None  # a trait


def test_paths_of_go_are_those_that_other_files_import_and_the_file_uses_come_first():
    text = 'package new\n\nimport (\n\t"<CURSOR>"\n)\n\nvar Sum = fmt.Sprint(1)\n'
    assert names_at(SHOP_GO, "new/new.go", text) == ["fmt", "example.com/shop/prices"]
    assert names_at(SHOP_GO, "new/new.go", 'package new\n\nimport "example.com/<CURSOR>"') == [
        "example.com/shop/prices"
    ]
    alias = {"a.go": 'package a\n\nimport (\n\tp "example.com/shop/prices"\n)\n'}
    text = 'package new\n\nimport (\n\tp "<CURSOR>"\n)\n\nvar Sum = fmt.Sprint(p.Total())\n'
    assert names_at(SHOP_GO | alias, "new/new.go", text)[0] == "example.com/shop/prices"
    text = 'package new\n\nimport (\n\t"fmt"\n\t"<CURSOR>"\n)\n'
    assert names_at(SHOP_GO, "new/new.go", text) == ["example.com/shop/prices"]


def test_a_path_of_go_that_the_file_uses_goes_on_only_to_another_one_that_it_uses():
    others = {"a.go": 'package a\n\nimport (\n\t"net/http"\n\t"net/http/httptest"\n\t"net/http/pprof"\n)\n'}
    text = 'package new\n\nimport (\n\t"net/http<CURSOR>"\n)\n\nvar Code = http.StatusOK\n'
    assert names_at(others, "new.go", text) == []
    used = f"{text}\nvar Writer = httptest.NewRecorder()\n"
    assert names_at(others, "new.go", used) == ["net/http/httptest"]
    unused = text.replace("http.StatusOK", "0")
    assert names_at(others, "new.go", unused) == ["net/http/httptest", "net/http/pprof"]


def test_paths_of_java_are_global_names():
    text = "package org.main;\nimport org.<CURSOR>;\nclass Main { Coin coin; }\n"
    assert names_at(SHOP_JAVA, "src/Main.java", text) == [
        "org.shop.Coin",
        "org.shop.Cart",
        "org.shop.Item",
        "org.shop.Rates",
        "org.till.Till",
    ]
    text = "package org.till;\nimport org.shop.Cart;\nimport <CURSOR>\nclass Main { List<Item> all; }\n"
    assert names_at(SHOP_JAVA, "src/org/till/Main.java", text)[:2] == ["java.util.List", "org.shop.Item"]
    text = "package org.main;\nimport static org.shop.Cart.<CURSOR>\nclass Main { int x = open(); }\n"
    assert names_at(SHOP_JAVA, "src/Main.java", text) == ["org.shop.Cart.open", "org.shop.Cart.Row"]


def test_selectors_of_scala_are_names_of_the_package():
    text = "package org.main\nimport org.shop.{Cart, <CURSOR>}\nclass Main { val coin: Coin = null }\n"
    files = SHOP_JAVA | {"src/Main.scala": "package org.main\n"}
    assert names_at(files, "src/Main.scala", text) == ["Coin", "Item", "Rates"]


def test_submodules_of_python_follow_a_dot():
    assert set(names_at(SHOP_PY, "new.py", "from shop.<CURSOR>")) == {"shop.prices", "shop.cart"}
    assert set(names_at(SHOP_PY, "shop/new.py", "from .<CURSOR>")) == {".prices", ".cart"}


def test_definitions_of_the_imported_module_are_found_with_their_files():
    graph = CodeGraph.build([parse_file(*file) for file in SHOP_TS.items()])
    found = imported_module_at(graph, "src/new.ts", language_of("a.ts"), "import { total, ", '} from "./prices"')
    assert [(path, definition.name) for path, definition in found] == [("src/prices.ts", "Item")]
    assert imported_module_at(graph, "src/new.ts", language_of("a.ts"), "import { ", '} from "react"') == []
    assert imported_module_at(graph, "src/new.ts", language_of("a.ts"), 'import {} from "./', '"') == []


def completed(files: dict[str, str], path: str, text: str, **options) -> str:
    """What an automatic request shows that is as sure as an import name usually is."""
    config = Config(completion=CompletionOptions(min_confidence=0.3))
    snapshot = FolderSnapshot.empty(index_settings(Config(), "shop")).with_changes(
        analyse(*file) for file in files.items()
    )
    before, _, after = text.partition(CURSOR)
    lines = TextLines(before + after)
    cursor = Cursor(path, lines, *lines.position(len(before)))
    engine = Engine()
    try:
        return engine.complete(Request(snapshot, ModelChain(()), cursor, config, **options)).text
    finally:
        engine.close()


@pytest.mark.parametrize(
    ("files", "path", "text", "shown"),
    [
        (SHOP_PY, "new.py", "from shop.prices import <CURSOR>\n\nprint(total([]))\n", "total"),
        (SHOP_PY, "new.py", "from shop.prices import discount,<CURSOR>\n\nprint(total([]))\n", " total"),
        (SHOP_PY, "new.py", "from shop.prices import to<CURSOR>\n", "tal"),
        (SHOP_TS, "src/new.ts", 'import { <CURSOR> } from "./prices";\n\ntotal([]);\n', "total"),
        (SHOP_TS, "src/new.ts", 'import { total } from "./<CURSOR>";\n', "prices"),
        (SHOP_TS, "src/new.ts", "import { total } from './<CURSOR>\n", "prices'"),
        (
            SHOP_TS,
            "src/new.vue",
            '<script>\nimport { <CURSOR> } from "./prices";\ntotal();\n</script>',
            "total",
        ),
        (SHOP_JAVA, "New.java", "package n;\n\nimport org.<CURSOR>\n\nclass New { Cart cart; }\n", "shop.Cart"),
        (
            SHOP_GO,
            "new/new.go",
            'package new\n\nimport "<CURSOR>"\n\nvar Sum = prices.Total()\n',
            "example.com/shop/prices",
        ),
    ],
)
def test_one_name_is_shown_and_the_rest_of_the_line_stays(files, path, text, shown):
    assert completed(files, path, text) == shown


def test_a_name_that_the_module_does_not_export_is_not_shown():
    others = {f"shop/a{number}.py": "from shop.prices import rebate\n" for number in range(3)}
    assert completed(SHOP_PY | others, "new.py", "from shop.prices import <CURSOR>\n") != "rebate"
