"""`Weft: Explore` in the real VS Code: the terminal, the page at the cursor, and what happens without the extra."""

from __future__ import annotations

import json
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

EXTENSION = Path(__file__).parents[3] / "editors" / "vscode"
TERMINAL = ".terminal-wrapper.active .xterm-rows"


@pytest.fixture
def addresses(vscode):
    """`addresses()`: what the files with the address of a running page say."""
    storage = vscode.home / "user" / "User" / "globalStorage" / "weft.weft"
    return lambda: [file.read_text() for file in storage.glob("explore-*.address")]


@pytest.fixture
def shop(shop, addresses, waiting):
    yield shop
    shop.do("closeOpened")
    if addresses():
        end_page(shop, addresses, waiting)
    shop.command("Terminal: Kill All Terminals")
    shop.gone(".terminal-wrapper")


def end_page(shop, addresses, waiting):
    """ctrl-C in the terminal of the page."""
    shop.click(".terminal-wrapper.active")
    shop.press("Control+c")
    waiting(lambda: not addresses(), "the end of the page")


def explore_at(shop, name, line):
    shop.open(name)
    shop.go(line, 1)
    shop.command("Weft: Explore")


def said(shop):
    """The text of the terminal, without the line breaks of its width."""
    return "".join("".join(shop.texts(TERMINAL)).split())


def opened(shop, waiting, place):
    """The address of the page of Weft that the browser has opened at this place."""

    def found():
        return [url for url in shop.do("opened") if urllib.parse.unquote(url).endswith(place)]

    return waiting(found, f"{place} in the browser")[0]


def test_it_opens_the_page_at_the_cursor_and_again_at_another_line(shop, addresses, waiting, picture):
    explore_at(shop, "part_3.py", 7)
    (address,) = waiting(addresses, "the address of the page")
    place = "#/file?path=part_3.py&line=7"
    waiting(lambda: f"{address}{place}" in said(shop), "the address in the terminal")
    picture(shop, "explore-terminal")
    opened(shop, waiting, place)
    with urllib.request.urlopen(address, timeout=30) as page:
        assert b"<title>" in page.read()
    # The same page at another line: no second program, no question.
    explore_at(shop, "part_1.py", 4)
    opened(shop, waiting, "#/file?path=part_1.py&line=4")
    assert addresses() == [address] and not shop.notices()
    # It ends with ctrl-C, and begins again.
    end_page(shop, addresses, waiting)
    explore_at(shop, "part_2.py", 5)
    (other,) = waiting(addresses, "the address of the new page")
    assert other != address


def test_asked_twice_at_once_it_starts_one_page(shop, addresses, waiting):
    for _ in range(2):
        shop.call("command", id="weft.explore", isAwaited=False)
    waiting(lambda: any("The page is starting" in notice for notice in shop.notices()), "the note")
    waiting(addresses, "the address of the page")
    assert len(addresses()) == 1


def test_the_menu_of_the_status_item_and_the_explanation_lead_to_the_page(shop, vscode, addresses, waiting, picture):
    shop.begin("why.py")
    shop.command("Weft: Explain Completion")
    shop.wait(".tab.active", "Completion explanation")
    shop.follow("Explore what retrieval finds at this line")
    (address,) = waiting(addresses, "the address of the page")
    waiting(lambda: f"{address}#/file?path=why.py&line=6" in said(shop), "the line in the terminal")
    shop.open("part_0.py")
    shop.click(".statusbar-item[id^='weft.weft']")
    shop.wait(".quick-input-widget .monaco-list-row", "Explore")
    picture(shop, "status-menu")
    shop.click(".quick-input-widget .monaco-list-row", "Explore")
    opened(shop, waiting, "path=part_0.py&line=1")


def test_the_type_of_its_tasks_is_declared():
    # VS Code writes an error for each recent task of a type that no extension declares.
    source = (EXTENSION / "src" / "setup.ts").read_text("utf-8")
    (declared,) = json.loads((EXTENSION / "package.json").read_text("utf-8"))["contributes"]["taskDefinitions"]
    assert f'new vscode.Task({{ type: "{declared["type"]}" }}' in source


def test_without_the_extra_the_terminal_names_the_command_and_asks(shop, vscode, tmp_path, waiting, picture):
    package = tmp_path / "starlette"
    package.mkdir()
    package.joinpath("__init__.py").write_text("raise ModuleNotFoundError('No starlette', name='starlette')\n")
    program = tmp_path / "weft"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}:$PYTHONPATH" exec "{sys.executable}" -m weft "$@"\n')
    program.chmod(0o755)
    # A failed test must not leave the window with another server.
    vscode.set({"weft.server.command": [str(program)]})
    mark = vscode.wire.now()
    try:
        shop.wait(".statusbar-item[id^='weft.weft']", "Weft")
        shop.command("Weft: Explore")
        waiting(lambda: "starletteisnotinstalled.Run:" in said(shop) and "[y/n]" in said(shop), "the question")
        picture(shop, "explore-extra")
        shop.click(".terminal-wrapper.active")
        shop.type("n")
        shop.press("Enter")
        waiting(lambda: "Installtheextra:" in said(shop), "the command")
    finally:
        vscode.set()
        vscode.wait_for_restart(mark)
