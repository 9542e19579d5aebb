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
        explore = "  Explore the index in a browser: :Weft explore"
        helps = ["", "Actions", "  Pause: :Weft pause", explore] if name == "status" else []
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


# Writes the address file as `weft explore` does, and prints its arguments until a line is typed.
EXPLORE = """\
#!/bin/sh
folder=$2
while [ $# -gt 0 ]; do
  case $1 in
    --address-file) printf 'http://127.0.0.1:7/token/' >"$2"; file=$2; shift ;;
    --at) echo "at ${2#"$folder"/}" ;;
    --unsaved) echo "unsaved" ;;
  esac
  shift
done
read answer
rm -f "$file"
"""


@pytest.fixture
def exploring(shop, tmp_path):
    """The window with a program of the server that only explores; `_G.opened` has the addresses in the browser."""
    program = tmp_path / "bin" / "weft"
    program.parent.mkdir()
    program.write_text(EXPLORE)
    program.chmod(0o755)
    before = shop.lua("local o = require('weft.config').options; return { o.cmd, o.shared }")
    shop.lua("_G.opened = {}; vim.ui.open = function(address) table.insert(_G.opened, address) end")
    shop.lua("local o = require('weft.config').options; o.cmd, o.shared = ...", [str(program), "serve"], False)
    yield shop
    shop.lua("local o = require('weft.config').options; o.cmd, o.shared = unpack(...)", before)


def begin_page(nv):
    """Runs `:Weft explore`; the lines of its terminal."""
    nv.nv.command("Weft explore")
    nv.wait(lambda: nv.nv.current.buffer.options["buftype"] == "terminal", "the terminal")
    nv.wait(lambda: nv.nv.current.buffer[:][0], "the output of the program")
    return [line for line in nv.nv.current.buffer[:] if line]


def end_page(nv):
    nv.keys("<CR>")
    nv.wait(lambda: not nv.lua("return next(require('weft.explore')._address_files)"), "the end of the program")


def test_explore_begins_at_the_cursor_and_goes_on_at_another_line(exploring):
    exploring.edit("part_3.py")
    exploring.nv.current.window.cursor = (7, 4)
    assert begin_page(exploring) == ["at part_3.py:7"]
    # While it runs: the same page at other lines, from the file, by a place, from a report beside the file.
    exploring.keys(r"<C-\><C-n>")
    exploring.nv.command("close")
    exploring.edit("part_1.py")
    exploring.nv.current.window.cursor = (5, 0)
    exploring.nv.command("Weft explore")
    exploring.nv.command(f"Weft explore {exploring.folder}/part_2.py:4")
    exploring.nv.command("Weft why")
    page(exploring, "why")
    exploring.keys("G<CR>")
    page_at = "http://127.0.0.1:7/token/#/file?path="
    opened = [f"{page_at}part_1.py&line=5", f"{page_at}part_2.py&line=4", f"{page_at}part_1.py&line=5"]
    exploring.wait(lambda: exploring.lua("return _G.opened") == opened, "the pages")
    exploring.nv.command("only | buffer term")
    exploring.keys("i")
    end_page(exploring)
    # After its end it begins again.
    exploring.edit("part_2.py")
    assert begin_page(exploring) == ["at part_2.py:1"]
    end_page(exploring)


def test_explore_says_that_the_page_is_starting_until_its_address_is_written(exploring, tmp_path):
    program = tmp_path / "bin" / "weft"
    program.write_text('#!/bin/sh\necho begun; : >"$4"; read answer; rm -f "$4"\n')
    exploring.edit("part_3.py")
    assert begin_page(exploring) == ["begun"]
    exploring.keys(r"<C-\><C-n>")
    exploring.nv.command(f"Weft explore {exploring.folder}/part_2.py:4")
    exploring.wait(exploring.notices, "a notice")
    assert "the page is starting" in exploring.notices()[0] and exploring.lua("return _G.opened") == []
    exploring.keys("i")
    end_page(exploring)


def test_explore_shows_unsaved_text_of_a_shared_server_and_the_map_without_a_file(exploring):
    exploring.lua("require('weft.config').options.shared = true")
    exploring.edit("not_saved.py", CALL)
    assert begin_page(exploring) == ["unsaved"]
    end_page(exploring)
    exploring.nv.command("Weft explore nowhere.py:3")
    exploring.wait(exploring.notices, "a notice")
    assert "nowhere.py is not a file" in exploring.notices()[0]


def test_the_actions_of_the_status_run_with_enter(shop):
    shop.edit("part_0.py")
    shop.nv.command("Weft status")
    lines = page(shop, "status")
    shop.nv.current.window.cursor = (lines.index("  Pause: :Weft pause") + 1, 0)
    shop.keys("<CR>")
    shop.wait(lambda: shop.status()["kind"] == "paused", "the pause")
    shop.nv.command("Weft resume")
    shop.ready()


def test_a_click_on_the_status_line_opens_the_status(shop):
    if not shop.nv.call("has", "nvim-0.11"):
        pytest.skip("a click calls no Lua function in Neovim 0.7")
    shop.edit("part_0.py")
    shop.nv.command("set laststatus=2")
    shop.lua("vim.wo.statusline = \"%@v:lua.require'weft'.show_status@%{v:lua.require'weft'.status()}%X\"")
    row = next(n for n, line in enumerate(shop.screen()) if line.startswith("weft: "))
    shop.nv.api.input_mouse("left", "press", "", 0, row, 3)
    assert "  Explore the index in a browser: :Weft explore" in page(shop, "status")
    shop.nv.command("only | set laststatus& | setlocal statusline=")


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
