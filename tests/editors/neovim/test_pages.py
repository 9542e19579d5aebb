"""Pages in the real Neovim: why a completion, the status and the doctor, with places to follow."""

from __future__ import annotations

import pytest

LINKS = """
local namespace = vim.api.nvim_create_namespace('weft.links')
return #vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, {})
"""
CALL = "from price import price_of\n\n\ndef checkout(basket):\n    total = price_of("


def page(nv, name):
    """The lines of a page, when it is there; the cursor is in it."""
    nv.wait(lambda: nv.nv.current.buffer.name.endswith(f"weft://{name}"), f"the page {name}")
    return nv.nv.current.buffer[:]


@pytest.fixture
def shop(shop):
    yield shop
    shop.nv.command("silent! only!")


def test_why_lists_the_sources_and_leads_to_them(shop):
    shop.edit("why.py", CALL)
    shop.keys("G$")  # in Normal mode on the last character: the completion is after it
    shop.nv.command("Weft why")
    lines = page(shop, "why")
    assert lines[0] == f"Completion at why.py:5:{len(CALL.splitlines()[-1]) + 1}"
    assert lines[2:4] == ["     | basket)", "Shown while typing."] and "Comes from:" in lines
    assert lines[4].endswith("% sure, shown from 1% (completion.min_confidence).")
    n = next(number for number, line in enumerate(lines, 1) if "part_" in line and ".py:" in line)
    assert shop.lua(LINKS) > 1
    told = lines[n - 1]
    # The first of its places, from anywhere on the line.
    shop.nv.current.window.cursor = (n, 0)
    height = shop.nv.current.window.height
    shop.keys("<CR>")
    shop.wait(lambda: "part_" in shop.nv.current.buffer.name, "the fragment's file")
    path = shop.nv.current.buffer.name.removeprefix(f"{shop.folder}/")
    first = shop.nv.current.window.cursor[0]
    assert f"{path}:{first}" == told.strip()
    # Asking again from another place changes the page where it stands.
    shop.keys("Go    total = pri<Esc>")
    shop.nv.command("Weft why")
    shop.wait(lambda: page(shop, "why")[0] != lines[0], "another page")
    assert len(shop.nv.windows) == 2 and shop.nv.current.window.height == height
    # Nobody changes it, r asks again, Q lists its places, q closes it.
    shop.keys("dd")
    assert len(page(shop, "why")) > 1
    mark = shop.wire.now()
    shop.keys("r")
    shop.wire.wait("weft/explain", after=mark, sender="server")
    page(shop, "why")
    shop.keys("Q")
    shop.wait(lambda: shop.nv.current.buffer.options["buftype"] == "quickfix", "the quickfix list")
    assert len(shop.lua("return vim.fn.getqflist()")) == len(
        [note for note in shop.lua("return vim.tbl_filter(function(i) return i.lnum > 0 end, vim.fn.getqflist())")]
    )
    shop.nv.command("cclose")
    page(shop, "why")
    shop.keys("q")
    shop.wait(lambda: len(shop.nv.windows) == 1, "the page closed")


def test_status_and_doctor_are_the_servers_own_words(shop):
    for name, method in (("status", "weft/status"), ("doctor", "weft/doctor")):
        mark = shop.wire.now()
        shop.nv.command(f"Weft {name}")
        lines = page(shop, name)
        told = shop.wire.wait(method, after=mark, sender="server")["message"]["result"]["page"]
        told = [line["text"] for line in told]
        assert lines[: len(told)] == told and any("shop" in line for line in lines)
        helps = ["", "Actions", "  Pause: :Weft pause"] if name == "status" else []
        assert lines[len(told) :] == helps
        shop.nv.command(f"bdelete | Weft {name}")
        page(shop, name)
        shop.keys("q")
        shop.wait(lambda: len(shop.nv.windows) == 1, "the page closed")


def test_setup_runs_the_program_of_the_server_in_a_terminal(shop, tmp_path):
    program = tmp_path / "bin" / "weft"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "ran: $*"\nread answer\n')
    program.chmod(0o755)
    shop.lua(f"require('weft.config').options.cmd = {{ {str(program)!r}, 'serve' }}")
    shop.nv.command("Weft setup qwen2.5-coder-0.5b --dry-run")
    said = "ran: setup qwen2.5-coder-0.5b --dry-run"
    shop.wait(lambda: said in shop.nv.current.buffer[:], "the output of the program")
    assert shop.nv.current.buffer.options["buftype"] == "terminal"


def test_explore_runs_the_program_of_the_server_in_a_terminal(shop, tmp_path):
    program = tmp_path / "bin" / "weft"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "ran: $1 $(basename "$2") $3"\nread answer\n')
    program.chmod(0o755)
    shop.edit("why.py", CALL)
    root = shop.lua("return vim.fs.basename(require('weft.locate').root(0))")
    shop.lua(f"local o = require('weft.config').options; o.cmd = {{ {str(program)!r}, 'serve' }}; o.shared = true")
    shop.nv.command("Weft explore")
    shop.wait(lambda: f"ran: explore {root} --unsaved" in shop.nv.current.buffer[:], "the output of the program")


def test_a_page_without_words_says_what_to_do(shop):
    shop.edit("why.py", CALL)
    shop.wire.order(blank=["weft/explain", "weft/status"])
    for name in ("why", "status"):
        shop.lua("_G.notices = {}")
        shop.nv.command(f"Weft {name}")
        shop.wait(shop.notices, "a notice")
        assert "Try again" in shop.notices()[0] and len(shop.nv.windows) == 1


def test_why_in_a_buffer_that_weft_does_not_see_says_so(shop):
    shop.nv.command("enew")
    shop.nv.command("Weft why")
    shop.wait(shop.notices, "a notice")
    assert "is not attached to this buffer" in shop.notices()[0]


def test_places_count_in_the_units_of_the_client_and_broken_ones_are_harmless(shop):
    shop.edit("odd.py", 'x = "🦩🦩"; y = 1\n')
    shop.nv.command("write")
    uri = (shop.folder / "odd.py").as_uri()
    encoding = shop.lua("return require('weft.client').get().offset_encoding")
    column = len('x = "🦩🦩"; '.encode("utf-16-le")) // 2 if encoding == "utf-16" else len('x = "🦩🦩"; '.encode())

    def at(line, character):
        return {"start": {"line": line, "character": character}, "end": {"line": line + 3, "character": 0}}

    shop.lua(
        "require('weft.pages').open('test', ...)",
        [
            {"text": "a line\nof two"},
            {"text": "  there", "uri": uri, "range": at(0, column)},
            {"text": "past the end", "uri": uri, "range": at(700, 900)},
            {"text": "a whole file", "uri": uri},
            {"text": "", "uri": uri, "range": at(0, 0)},
            {"text": "elsewhere", "uri": "https://example.org/x", "range": at(0, 0)},
            {"text": "gone", "uri": f"{uri}.gone", "range": at(0, 0)},
        ],
    )
    assert page(shop, "test")[:3] == ["a line", "of two", "  there"] and shop.lua(LINKS) == 5
    for row, cursor in ((3, (1, len('x = "🦩🦩"; '.encode()))), (4, (2, 0)), (5, (1, 0))):
        shop.lua("vim.fn.win_gotoid(vim.fn.bufwinid('weft://test'))")
        shop.nv.current.window.cursor = (row, 0)
        shop.keys("gf")
        shop.wait(lambda: shop.nv.current.buffer.name.endswith("odd.py"), "the file")
        shop.wait(lambda cursor=cursor: tuple(shop.nv.current.window.cursor) == cursor, f"the cursor at {cursor}")
        shop.keys("G$")
    for row, notice in ((7, "only files can be opened"), (8, "does not exist any more"), (1, "no link on this line")):
        shop.lua("vim.fn.win_gotoid(vim.fn.bufwinid('weft://test'))")
        shop.nv.current.window.cursor = (row, 0)
        shop.keys("gf")
        shop.wait(lambda notice=notice: any(notice in said for said in shop.notices()), notice)
        assert shop.nv.current.buffer.name.endswith("weft://test")
    (shop.folder / "odd.py").unlink()
