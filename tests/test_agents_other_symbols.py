"""Lines of files that impact does not read in time: which ones surely mean another symbol."""

from __future__ import annotations

import pytest
from weft import Config, Workspace
from weft.server.agents import impact, uses
from weft.server.agents.impact import OTHERS
from weft.server.agents.navigation import UNREAD
from weft.server.agents.tools import call_tool

FILES = {
    "shop.rs": "pub struct Shop;\nimpl Shop {\n    pub fn open() -> Shop { Shop }\n}\n",
    "use.rs": (
        "use crate::shop::Shop;\nuse crate::shop::Shop as Store;\n"
        "fn a() { Shop::open(); }\n"
        "fn b() { File::open(); }\n"
        "fn open() {}\n"
        "fn c() { Store::open(); }\n"
        "fn d(x: X) { x.open(); }\n"
        "fn e() { open(); }\n"
    ),
    "price.py": "def total(items):\n    return 1\n\n\nclass Price:\n    def rate(self):\n        return 1\n",
    "away.py": "def a(x):\n    return total(x)\n\n\ndef b(x):\n    return x.total()\n\n\ntotal = 1\n",
    "star.py": "from price import *\n\n\ndef a(x):\n    return total(x)\n",
    "below.py": "from price import Price\n\n\nclass Low(Price):\n    def rate(self):\n        return 2\n",
    "rate.h": "#define PRICED(x) (x)\n",
    "rate.c": "#ifdef PRICED\nint x = 1;\n#endif\n",
    "base.kt": "class Shop {\n    fun pay(): Int = 1\n}\n",
    "test.kt": "fun check(it: Int) {\n    it shouldBe pay\n    val pay = 2\n}\n",
    "apart.py": (
        "class Apart:\n    def rate(self):\n        return rate\n\n    def show(self, it):\n        return it.rate()\n"
    ),
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    root = tmp_path_factory.mktemp("other")
    for name, text in FILES.items():
        (root / name).write_text(text)
    with Workspace([root], Config(), cache=False) as opened:
        opened.index()
        yield opened


@pytest.mark.parametrize(
    ("path", "line", "symbol", "file", "unread", "other"),
    [
        ("shop.rs", 3, "open", "use.rs", (3, 5, 6, 7), (4, 8)),
        ("price.py", 1, "total", "away.py", (6,), (2, 9)),
        ("price.py", 1, "total", "star.py", (), ()),
        ("price.py", 6, "rate", "below.py", (5,), ()),
        ("price.py", 6, "rate", "apart.py", (6,), (2, 3)),
        ("rate.h", 1, "PRICED", "rate.c", (1,), ()),
        ("base.kt", 2, "pay", "test.kt", (2,), (3,)),
    ],
)
def test_lines_of_other_symbols_are_told_apart(workspace, monkeypatch, path, line, symbol, file, unread, other):
    monkeypatch.setattr(uses, "LEAST_READ", 0)
    monkeypatch.setattr(uses, "TIME_LIMIT_S", -1.0)
    monkeypatch.setattr(uses, "OTHERS_TIME_LIMIT_S", 10.0)
    impact._LAST.clear()
    found = call_tool(workspace, "impact", {"symbol": symbol, "path": path, "line": line}).entries
    lines = {each.section: each.lines for each in found if each.path == file}
    assert (lines.get(UNREAD, ()), lines.get(OTHERS, ())) == (unread, other)
