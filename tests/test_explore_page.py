"""The page of `weft explore` in a real Chromium: all views, no request that leaves the machine, keys, and colours."""

from __future__ import annotations

import base64
import json
import re
import shutil
import socket
import subprocess
import sys
import zlib
from contextlib import suppress

import pytest

pytest.importorskip("starlette", reason="the extra `explore` is not installed")
pytest.importorskip("fcntl", reason="the browser is driven on two pipes, which need POSIX")

from conftest import environment
from explore_shop import write_shop
from weft.benchmarks.chromium import Chromium, find_chromium
from weft.benchmarks.explore.interactions import interactions
from weft.benchmarks.explore.measured_page import ANSWERED, MeasuredPage, go
from weft.benchmarks.explore.served import choose, served

CHROMIUM = find_chromium()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

VIEWS = {
    "map": "#/map",
    "folder": "#/map?path=shop",
    "definitions": "#/map?path=shop/basket.py",
    "file": "#/file?path=app/main.py",
    "line": "#/file?path=app/main.py&line=5",
    "symbol": "#/symbol?symbol=Basket.pay",
    "paths": "#/path",
    "path": "#/path?from=run&to=total",
    "questions": "#/ask",
    "answer": "#/ask?question=What+calls+total%3F",
    "conversations": "#/talks",
    "memory": "#/memory?path=README.md&question=Basket",
    "counters": "#/stats",
    "search": "#/search?query=Basket",
    "nothing found": "#/search?query=quokka",
    "unknown symbol": "#/symbol?symbol=nowhere_at_all",
    "unknown end of a path": "#/path?from=run&to=nowhere_at_all",
    "unknown document": "#/memory?path=nowhere.md",
    "document to choose": "#/memory",
    "unknown page": "#/nowhere",
}
"""Every view, with and without what it is about, and a refusal."""

PANELS = {"light": (0xF4, 0xF6, 0xF9), "dark": (0x1A, 0x21, 0x2B)}
"""The colour of the first pixel: the header's."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("explore-home")
    folder = tmp_path_factory.mktemp("explore") / "code"
    write_shop(folder)
    question = [sys.executable, "-m", "weft", "ask", "Where is the Basket defined?"]
    subprocess.run(question, cwd=folder, env=environment(home), check=True, capture_output=True)
    with served(folder, environment(home)) as found:
        yield found


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(CHROMIUM, tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def page(browser, server):
    found = browser.page()
    yield found
    found.close()


def show(page, server, address="#/map"):
    """Open the page at an address after "#", and wait for the whole answer."""
    page.open(server.address)
    go(page, address)


def text(page, selector):
    return page.run(f"document.querySelector({json.dumps(selector)}).textContent")


# What is shown.


def test_the_map_has_boxes_calls_hot_spots_and_what_is_not_indexed(page, server):
    show(page, server)
    assert page.run("document.querySelectorAll('.box').length") == 5
    assert page.run("document.querySelectorAll('.edge path').length") == 1
    shown = text(page, "main")
    assert "Basket.pay" in shown and ".env" in shown


def test_boxes_fill_the_map_and_follow_its_size(page, server):
    show(page, server)
    area = """(() => {
        const size = (element) => { const box = element.getBoundingClientRect(); return box.width * box.height; };
        const boxes = [...document.querySelectorAll(".box")];
        return boxes.reduce((sum, box) => sum + size(box), 0) / size(document.querySelector(".map"));
    })()"""
    for width in (1280, 420):
        page.set_size(width, 800)
        page.wait_until(f"Math.abs({area} - 1) < 0.01")


def test_retrieval_at_a_line_follows_the_keys(page, server):
    show(page, server, VIEWS["file"])
    page.run("document.querySelector('.lines').focus()")
    for _ in range(4):
        page.press("ArrowDown")
    page.press("Enter")
    page.wait_until("document.querySelector('.fragments')")
    assert text(page, ".panel h2") == "Fragments for line 5, by weft"
    assert "shop/basket.py" in text(page, ".fragments")
    assert page.run("location.hash") == VIEWS["line"].replace("app/main.py", "app%2Fmain.py")


def test_a_second_ranking_says_what_changed(page, server):
    show(page, server, VIEWS["line"])
    page.run("document.querySelector('#strategy').focus()")
    page.press("f")
    page.wait_until(f"{ANSWERED} && document.querySelector('.panel h2').textContent.endsWith('by fragrel')")
    assert re.search(r"was [\d.]+|new", text(page, ".fragments .moved"))
    assert page.run("!document.querySelector('#alpha').closest('p').hidden")


def test_the_page_follows_the_colours_of_the_system(page, server):
    for scheme, colour in PANELS.items():
        page.set_scheme(scheme)
        show(page, server)
        assert first_pixel(page.screenshot()) == colour


def first_pixel(png):
    """Its red, green and blue: the first row's filters leave the first pixel as it is."""
    data, at = b"", 8
    while at < len(png):
        size = int.from_bytes(png[at : at + 4], "big")
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += 12 + size
    return tuple(zlib.decompress(data)[1:4])


@pytest.mark.parametrize("width", [420, 640, 1600])
def test_no_view_is_wider_than_the_window(page, server, width):
    page.set_size(width, 800)
    show(page, server)
    for name, address in VIEWS.items():
        go(page, address)
        assert page.run("document.documentElement.scrollWidth") <= width, name


def test_a_long_path_without_spaces_is_broken(browser, tmp_path):
    folder = tmp_path / "code" / ("a_long_name" * 9) / ("of_a_folder" * 9)
    folder.mkdir(parents=True)
    (folder / "file.py").write_text("def leaf(): ...\n\n\ndef root():\n    leaf()\n")
    with served(tmp_path / "code", environment(tmp_path / "home")) as server:
        page = browser.page()
        page.set_size(420, 800)
        show(page, server, "#/symbol?symbol=leaf")
        assert page.run("document.documentElement.scrollWidth") <= 420
        page.close()


def test_a_number_and_the_text_after_it_do_not_touch(page, server):
    page.set_size(420, 800)
    show(page, server, VIEWS["conversations"])
    assert page.run("parseFloat(getComputedStyle(document.querySelector('td.n + td')).paddingLeft)") > 0


def test_a_name_with_markup_is_text(browser, tmp_path):
    name = "<img src=x onerror=alert(1)>"
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / f"{name}.py").write_text("def f(): ...\n")
    with served(tmp_path / "code", environment(tmp_path / "home")) as server:
        page = browser.page()
        show(page, server)
        assert name in text(page, ".box .name")
        assert page.run("document.images.length") == 0
        page.close()


# Keys, and the way back.


@pytest.mark.parametrize("name, field", [("unknown end of a path", "#to"), ("unknown document", "#memory-path")])
def test_what_is_not_found_can_be_corrected(page, server, name, field):
    show(page, server, VIEWS[name])
    assert "nowhere" in text(page, ".error")
    assert page.run(f"document.querySelector('{field}').value").startswith("nowhere")


def test_an_address_of_no_page_says_so(page, server):
    show(page, server, VIEWS["unknown page"])
    assert "There is no page nowhere." in text(page, ".error")
    page.run("void (location.hash = '#/stats')")
    page.wait_until("document.title.startsWith('Counters')")


def test_the_same_question_can_be_asked_again(page, server):
    show(page, server, VIEWS["answer"])
    page.run("void (document.querySelector('section').id = 'earlier')")
    page.run("document.querySelector('#ask-question').focus()")
    page.press("Enter")
    page.wait_until(f"{ANSWERED} && document.querySelector('section') && !document.querySelector('#earlier')")


def test_slash_moves_to_the_search_and_escape_leaves_it(page, server):
    show(page, server)
    page.press("/")
    assert page.run("document.activeElement.id") == "query"
    for letter in "Bas":
        page.press(letter)
    page.wait_until("!document.querySelector('#suggestions').hidden")
    page.press("ArrowDown")
    assert text(page, "#suggestions [aria-selected=true] strong") == "Basket"
    page.press("Escape")
    assert page.run("document.querySelector('#suggestions').hidden")
    page.press("Escape")
    assert page.run("document.activeElement.id") == "main"


def test_enter_opens_the_chosen_suggestion_or_all_results(page, server):
    show(page, server)
    page.press("/")
    for letter in "Basket":
        page.press(letter)
    page.wait_until("document.querySelector('#suggestions strong')?.textContent === 'Basket'")
    page.press("ArrowDown")
    page.press("Enter")
    page.wait_until(f"{ANSWERED} && document.querySelector('main h1').textContent === 'Basket'")
    page.press("/")
    page.press("Enter")
    page.wait_until(f"{ANSWERED} && document.querySelector('main h1').textContent === 'Search: Basket'")


FOCUSED = """(() => {
    const element = document.activeElement;
    const { outlineWidth, outlineStyle } = getComputedStyle(element);
    const isVisible = element === document.body || (outlineStyle !== "none" && outlineWidth !== "0px");
    return [element.id || element.className || element.tagName, isVisible];
})()"""
"""The focused element, and whether one sees that it has the focus."""


def test_every_control_can_be_reached_by_tab_and_shows_its_focus(page, server):
    page.open(server.address + VIEWS["line"])
    page.wait_until(f"{ANSWERED} && document.querySelector('.fragments')")
    seen = []
    for _ in range(60):
        page.press("Tab")
        seen.append(page.run(FOCUSED))
        if seen[-1][0] == "BODY":
            break
    names = [name for name, _ in seen]
    assert {"skip", "query", "lines", "strategy", "k"} <= set(names)
    assert all(is_visible for _, is_visible in seen), seen


def test_arrow_keys_move_between_boxes(page, server):
    show(page, server)
    page.run("document.querySelector('.box').focus()")
    page.press("ArrowRight")
    assert page.run("document.activeElement.classList.contains('box')")
    assert page.run("document.activeElement !== document.querySelector('.box')")
    assert page.run("document.querySelectorAll('.box[tabindex=\"0\"]').length") == 1


def test_back_and_reload_show_the_same_view(page, server):
    show(page, server, VIEWS["symbol"])
    go(page, VIEWS["counters"])
    page.run("history.back()")
    page.wait_until(f"{ANSWERED} && document.querySelector('main h1').textContent === 'Basket.pay'")
    go(page, VIEWS["line"])
    n_before = len(page.events)
    page.send("Page.reload")
    page.wait_for_event(lambda event: event["method"] == "Page.loadEventFired", n_before)
    page.wait_until(f"{ANSWERED} && document.querySelector('.fragments')")
    assert text(page, ".panel h2") == "Fragments for line 5, by weft"


def test_a_chosen_strategy_is_still_chosen_after_the_way_back(page, server):
    show(page, server, VIEWS["line"])
    page.run("document.querySelector('#strategy').focus()")
    page.press("f")
    page.wait_until(f"{ANSWERED} && document.querySelector('.panel h2').textContent.endsWith('by fragrel')")
    page.run("document.querySelector('#alpha').focus()")
    for _ in range(10):
        page.press("ArrowLeft")
    page.wait_until("location.hash.endsWith('&strategy=fragrel&alpha=0')")
    go(page, VIEWS["counters"])
    page.run("history.back()")
    page.wait_until(f"{ANSWERED} && document.querySelector('.fragments')")
    assert text(page, ".panel h2") == "Fragments for line 5, by fragrel"
    assert page.run("document.querySelector('#alpha').value") == "0"


# Answers that come late, or not at all.


def held(page, name):
    """The request of a view that the browser holds back; `Fetch.continueRequest` with its id lets it go."""
    event = page.wait_for_event(
        lambda event: event["method"] == "Fetch.requestPaused" and event["params"]["request"]["url"].endswith(name)
    )
    page.events.remove(event)
    return event["params"]


def test_a_stale_answer_is_never_shown(page, server):
    show(page, server, VIEWS["file"])
    page.send("Fetch.enable", patterns=[{"urlPattern": "*/api/retrieval"}])
    page.click("#line-5")
    first = held(page, "retrieval")
    page.click("#line-4")
    second = held(page, "retrieval")
    page.send("Fetch.continueRequest", requestId=second["requestId"])
    page.wait_until(f"{ANSWERED} && document.querySelector('.panel h2')")
    assert text(page, ".panel h2").startswith("Fragments for line 4")
    # The browser has aborted the earlier request.
    page.wait_for_event(
        lambda event: (
            event["method"] == "Network.loadingFailed"
            and event["params"]["requestId"] == first["networkId"]
            and event["params"]["canceled"]
        )
    )


def test_a_completion_of_another_line_is_never_shown(page, server):
    show(page, server, VIEWS["line"])
    page.send("Fetch.enable", patterns=[{"urlPattern": "*/api/completion"}])
    page.click(".panel button")
    request = held(page, "completion")
    page.click("#line-4")
    page.wait_until(f"{ANSWERED} && document.querySelector('.panel h2').textContent.startsWith('Fragments for line 4')")
    page.wait_for_event(
        lambda event: (
            event["method"] == "Network.loadingFailed"
            and event["params"]["requestId"] == request["networkId"]
            and event["params"]["canceled"]
        )
    )
    assert page.run("document.querySelectorAll('.panel h2').length") == 1


def test_letters_that_are_typed_while_a_search_runs_are_one_search(page, server):
    show(page, server)
    page.send("Fetch.enable", patterns=[{"urlPattern": "*/api/search"}])
    page.press("/")
    for letter in "Basket":
        page.press(letter)
    queries = []
    for _ in range(2):
        request = held(page, "search")
        queries.append(json.loads(request["request"]["postData"])["query"])
        page.send("Fetch.continueRequest", requestId=request["requestId"])
    page.wait_until(f"{ANSWERED} && !document.querySelector('#suggestions').hidden")
    assert queries == ["Ba", "Basket"]
    assert text(page, "#suggestions strong") == "Basket"


def test_a_waiting_page_says_so_at_once(page, server):
    show(page, server, VIEWS["file"])
    page.send("Fetch.enable", patterns=[{"urlPattern": "*/api/retrieval"}])
    page.click("#line-5")
    request = held(page, "retrieval")
    assert page.run("document.querySelector('.panel [aria-busy=true]') !== null")
    page.send("Fetch.continueRequest", requestId=request["requestId"])
    page.wait_until(ANSWERED)


def test_files_that_are_being_indexed_are_waited_for(page, server):
    page.send("Fetch.enable", patterns=[{"urlPattern": "*/api/start"}])
    page.send("Page.navigate", url=server.address)
    answer = server.view("start")
    indexing = {"kind": "indexing", "state": "indexing", "text": "Indexing: 3 of 9 files", "percent": 33}
    body = json.dumps({**answer, "status": {**answer["status"], **indexing}})
    encoded = base64.b64encode(body.encode()).decode()
    request = held(page, "start")
    page.send("Fetch.fulfillRequest", requestId=request["requestId"], responseCode=200, body=encoded)
    page.wait_until("document.querySelector('main progress')")
    assert "Indexing: 3 of 9 files" in text(page, "main")
    page.send("Fetch.continueRequest", requestId=held(page, "start")["requestId"])
    page.send("Fetch.disable")
    page.wait_until(f"{ANSWERED} && document.querySelector('.box')")


def test_a_server_that_does_not_answer_is_tried_again(page, server):
    show(page, server)
    page.send("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    page.run("void (location.hash = '#/stats')")
    page.wait_until("!document.querySelector('#offline').hidden")
    assert "weft explore" in text(page, "main")
    page.send("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    page.wait_until(f"{ANSWERED} && document.querySelector('main h1').textContent.startsWith('Counters')")
    assert page.run("document.querySelector('#offline').hidden")


def test_a_server_with_another_token_is_said_to_be_one(page, server):
    show(page, server)
    page.send("Fetch.enable", patterns=[{"urlPattern": "*/api/*"}])
    page.run("void (location.hash = '#/stats')")
    page.send("Fetch.failRequest", requestId=held(page, "stats")["requestId"], errorReason="ConnectionRefused")
    page.wait_until("!document.querySelector('#offline').hidden")
    page.send("Fetch.fulfillRequest", requestId=held(page, "start")["requestId"], responseCode=401)
    page.wait_until("document.querySelector('#offline').textContent.includes('with another address')")


# Nothing leaves the machine.


def requested(page):
    """The addresses of all requests of a page, also of failed and blocked ones."""
    found = []
    for event in page.events:
        if event["method"] == "Network.requestWillBeSent":
            found.append(event["params"]["request"]["url"])
        elif event["method"] in ("Network.webSocketCreated", "Network.webTransportCreated"):
            found.append(event["params"]["url"])
    return found


def test_no_view_makes_a_request_but_to_the_page_itself(page, server):
    measured = MeasuredPage(page, server)
    show(page, server)
    (conversation,) = server.view("conversations")["conversations"]
    talk = f"#/talks?id={conversation['id']}"
    for name, address in {**VIEWS, "conversation": talk}.items():
        go(page, address)
        page.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        page.wait_until(ANSWERED)
        assert page.run("document.querySelector('main').textContent.length") > 20, name
    for _ in interactions(measured, *choose(server, 2)):
        pass
    addresses = requested(page)
    assert len(addresses) > 40
    assert [each for each in addresses if not each.startswith((server.address, "about:blank"))] == []
    failed = [event["params"] for event in page.events if event["method"] == "Network.loadingFailed"]
    assert [each for each in failed if not each.get("canceled")] == []
    assert [event for event in page.events if event["method"] == "Runtime.exceptionThrown"] == []


def test_the_token_is_stored_nowhere_and_sent_in_no_header(page, server):
    show(page, server)
    for address in VIEWS.values():
        go(page, address)
    stored = page.run(
        """Promise.all([indexedDB.databases(), caches.keys(), navigator.serviceWorker.getRegistrations()]).then(
            (lists) => [localStorage.length, sessionStorage.length, document.cookie, document.referrer,
                        ...lists.map((each) => each.length)])"""
    )
    assert stored == [0, 0, "", "", 0, 0, 0]
    headers = [
        event["params"]["headers"] for event in page.events if event["method"] == "Network.requestWillBeSentExtraInfo"
    ]
    assert headers
    assert not {name.lower() for each in headers for name in each} & {"referer", "cookie"}
    answers = [event["params"]["response"] for event in page.events if event["method"] == "Network.responseReceived"]
    assert {each["headers"].get("cache-control") for each in answers if each["url"].startswith("http")} == {"no-store"}


LOADS = {
    "image": "document.body.append(Object.assign(new Image(), { src: URL }))",
    "script": "document.body.append(Object.assign(document.createElement('script'), { src: URL }))",
    "module": "import(URL).catch(() => 0)",
    "style": "document.head.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: URL }))",
    "font": "new FontFace('x', `url(${URL})`).load().catch(() => 0)",
    "frame": "document.body.append(Object.assign(document.createElement('iframe'), { src: URL }))",
    "object": "document.body.append(Object.assign(document.createElement('object'), { data: URL }))",
    "video": "document.body.append(Object.assign(document.createElement('video'), { src: URL }))",
    "fetch": "fetch(URL, { mode: 'no-cors' }).catch(() => 0)",
    "request": "(() => { const request = new XMLHttpRequest(); request.open('GET', URL); request.send(); })()",
    "beacon": "navigator.sendBeacon(URL, 'x')",
    "socket": "new WebSocket(URL.replace('http', 'ws'))",
    "events": "new EventSource(URL)",
    "form": "(() => { const form = document.createElement('form'); form.action = URL; document.body.append(form);"
    " form.submit(); })()",
}
"""Ways in which a script of a page loads something from another address."""


def received(listener):
    """What comes at an address within a moment. For frames and forms Chromium connects, and then sends nothing."""
    listener.settimeout(0.2)
    with suppress(TimeoutError):
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(0.2)
            return connection.recv(1000)
    return b""


@pytest.mark.parametrize("way", LOADS)
def test_the_policy_blocks_what_is_loaded_from_elsewhere(page, server, way):
    show(page, server)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
        page.run(
            """void (window.violation = new Promise((resolve) =>
                addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective))))"""
        )
        page.run(f"((URL) => {{ {LOADS[way]}; }})({json.dumps(address)})")
        assert page.run("window.violation")
        assert received(listener) == b""


def test_the_policy_runs_no_text(page, server):
    show(page, server)
    page.run(
        """(() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            const inline = "<p id='inline' style='color: red' onclick='ran = true'>x</p>";
            document.body.insertAdjacentHTML("beforeend", inline);
            document.querySelector("#inline").click();
        })()"""
    )
    assert page.run("window.ran === undefined")
    assert page.run("getComputedStyle(document.querySelector('#inline')).color !== 'rgb(255, 0, 0)'")


# Accessibility.

CHECKS = """(() => {
    const luminance = ([r, g, b]) => [r, g, b].map((each) => each / 255)
        .map((each) => (each <= 0.03928 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
        .reduce((sum, each, at) => sum + each * [0.2126, 0.7152, 0.0722][at], 0);
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
    const ground = (element) => {
        for (let each = element; each; each = each.parentElement) {
            const [r, g, b, a = 1] = numbers(getComputedStyle(each).backgroundColor);
            if (a === 1) return [r, g, b];
        }
        return [255, 255, 255];
    };
    const contrast = (element) => {
        const [one, other] = [numbers(getComputedStyle(element).color), ground(element)].map(luminance);
        return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    };
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        const text = texts.currentNode.data.trim();
        const isLow = text && element.checkVisibility({ opacityProperty: true }) && contrast(element) < 4.5;
        if (isLow) found.push(`contrast ${contrast(element).toFixed(2)}: ${text}`);
    }
    const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
    for (const id of new Set(ids)) if (ids.filter((each) => each === id).length > 1) found.push(`id ${id} twice`);
    for (const name of ["aria-controls", "aria-activedescendant", "for"]) {
        for (const each of document.querySelectorAll(`[${name}]`)) {
            if (!ids.includes(each.getAttribute(name))) found.push(`${name} ${each.getAttribute(name)} leads nowhere`);
        }
    }
    const levels = [...document.querySelectorAll("h1, h2, h3")].map((each) => Number(each.tagName[1]));
    const skips = levels.filter((level, at) => level > (levels[at - 1] ?? 0) + 1);
    if (skips.length) found.push(`headings skip a level before h${skips}`);
    if (levels.filter((level) => level === 1).length !== 1) found.push("not one h1");
    for (const each of document.querySelectorAll("body *")) {
        const { overflowX, overflowY } = getComputedStyle(each);
        const isCut = (each.scrollWidth > each.clientWidth + 1 && /auto|scroll/.test(overflowX))
            || (each.scrollHeight > each.clientHeight + 1 && /auto|scroll/.test(overflowY));
        if (isCut && each.tabIndex < 0 && !each.querySelector("a, button, input, select, summary, [tabindex]")) {
            found.push(`no key scrolls ${each.tagName} ${each.className}`);
        }
    }
    return found;
})()"""
"""What can be checked without a library: contrast of text, ids, levels of headings, and scrolling by keys."""

NAMED_ROLES = {
    "link",
    "button",
    "textbox",
    "combobox",
    "searchbox",
    "slider",
    "spinbutton",
    "listbox",
    "option",
    "image",
}


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("dark", 420)])
def test_every_view_is_accessible(page, server, scheme, width):
    page.set_scheme(scheme)
    page.set_size(width, 800)
    show(page, server)
    for name, address in VIEWS.items():
        go(page, address)
        page.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        page.wait_until(ANSWERED)
        assert page.run(CHECKS) == [], name
        nodes = page.send("Accessibility.getFullAXTree")["nodes"]
        unnamed = [
            node
            for node in nodes
            if not node["ignored"]
            and node["role"]["value"] in NAMED_ROLES
            and not node.get("name", {}).get("value", "").strip()
        ]
        assert unnamed == [], name


def test_motion_is_reduced_where_the_system_says_so(page, server):
    page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    show(page, server)
    page.run("document.querySelector('main').setAttribute('aria-busy', 'true')")
    assert page.run("document.getAnimations().length") == 0


# Lighthouse.

LIGHTHOUSE_WITHIN_S = 240
LOADED_WITHIN_MS = 2500
"""The page asks for the state of the server every 5 s, so Lighthouse would wait 45 s for a quiet network."""

REFUSED = ("unknown symbol", "unknown end of a path", "unknown document")
"""A refusal is an error in the console of the browser, which Lighthouse counts."""

LOOKED_AT = [
    *((name, "light") for name in VIEWS if name not in ("nothing found", *REFUSED)),
    *((name, "dark") for name in ("map", "line")),
]
"""The contrast of all views is checked above in both."""

LEAST_SCORE = 0.95
N_TRIES = 3


@pytest.fixture(scope="module")
def lighthouse(tmp_path_factory):
    """The command of Lighthouse, from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm on this machine, which installs Lighthouse")
    folder = tmp_path_factory.mktemp("lighthouse")
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), "lighthouse@12"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIGHTHOUSE_WITHIN_S)
    if done.returncode:
        pytest.skip(f"npm could not install Lighthouse: {done.stderr.strip()[-200:]}")
    return ["node", str(folder / "node_modules" / "lighthouse" / "cli" / "index.js")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scheme"), LOOKED_AT)
def test_lighthouse_finds_nothing(server, lighthouse, tmp_path, name, scheme):
    report = tmp_path / "report.json"
    flags = f"--headless=new --no-sandbox --blink-settings=preferredColorScheme={int(scheme == 'light')}"
    options = ["--only-categories=accessibility,best-practices", "--preset=desktop", "--throttling-method=provided"]
    options += [f"--max-wait-for-load={LOADED_WITHIN_MS}"]
    options += ["--output=json", f"--output-path={report}", "--quiet", f"--chrome-flags={flags}"]
    variables = {**environment(tmp_path), "CHROME_PATH": CHROMIUM}
    command = [*lighthouse, server.address + VIEWS[name], *options]
    for _ in range(N_TRIES):  # its connection to the browser fails on a loaded machine
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=LIGHTHOUSE_WITHIN_S)
        if report.exists():
            break
    assert report.exists(), done.stderr
    found = json.loads(report.read_text("utf-8"))
    scores = {category: each["score"] for category, each in found["categories"].items()}
    print(f"{name}, {scheme}: {scores}")
    failed = [
        key for key, audit in found["audits"].items() if audit["scoreDisplayMode"] == "binary" and not audit["score"]
    ]
    assert failed == []
    assert min(scores.values()) >= LEAST_SCORE
