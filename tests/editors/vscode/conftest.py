"""Drives the real VS Code: code-server with the built extension, in windows of a headless Chromium.

`vscode.open(folder)` gives a `Window`. A test types, presses keys, runs commands by their titles, and waits for what
a person would see or for what goes over the wire (`vscode.wire`); nothing waits for seconds.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
NOWHERE = Path("/nowhere")
"""The folder of a window without one."""
# Longer than the time limits of the driver, whose errors have the reason.
ANSWER_S = 90

SETTINGS = {
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.colorTheme": "Default Dark Modern",
    "git.enabled": False,
    "telemetry.telemetryLevel": "off",
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "security.workspace.trust.enabled": False,
    # As text in the page, which tests read.
    "terminal.integrated.gpuAcceleration": "off",
    # The suggestion widget would take the keys from ghost text.
    "editor.wordBasedSuggestions": "off",
    "files.hotExit": "off",
    "files.autoSave": "off",
}


# VS Code has no default keybinding to accept a line.
KEYS = [{"key": "ctrl+alt+l", "command": "editor.action.inlineSuggest.acceptNextLine"}]

BEGUN = """\
from ledger import open_ledger
from price import price_of


def checkout(basket):
    """


class Driver:
    """The process that drives the browser (driver.mjs)."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("wb"),
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self._numbers = itertools.count()
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def ask(self, action: str, **details: Any) -> Any:
        assert self._process.stdin is not None
        number = next(self._numbers)
        self._process.stdin.write(json.dumps({"id": number, "do": action, **details}) + "\n")
        self._process.stdin.flush()
        line = self._answers.get(timeout=ANSWER_S)
        assert line, "the browser's driver ended"
        answer = json.loads(line)
        assert answer["id"] == number
        assert "error" not in answer, f"{action}: {answer['error']}"
        return answer["value"]

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


class Window:
    """A window of VS Code.

    Where something is looked for, `selector` is CSS, `text` a part of what it says, and `frame` a selector of
    something inside the webview that is meant.
    """

    def __init__(self, driver: Driver, number: int, folder: Path, calls: Path, until: Callable[..., Any]) -> None:
        self.folder = folder
        self._driver, self._number, self._calls, self._until = driver, number, calls, until

    def do(self, action: str, **details: Any) -> Any:
        return self._driver.ask(action, window=self._number, **{k: v for k, v in details.items() if v is not None})

    # User actions

    def type(self, text: str) -> None:
        self.do("type", text=text)

    def press(self, *keys: str) -> None:
        """Presses keys in sequence, such as `Tab` or `Control+ArrowRight`."""
        for key in keys:
            self.do("press", key=key)

    def click(self, selector: str, text: str | None = None, frame: str | None = None, **how: Any) -> None:
        self.do("click", selector=selector, text=text, frame=frame, **how)

    def follow(self, text: str | None = None) -> None:
        """Follows the first link of the focused editor with this text, with the mouse and Control."""
        self.do("follow", text=text)

    def fill(self, selector: str, value: str, frame: str | None = None) -> None:
        self.do("fill", selector=selector, value=value, frame=frame)

    def command(self, title: str) -> None:
        """Runs a command of the Command Palette by its title, such as `Weft: Status`."""
        self._quick_input("F1", ">" + title)
        self.click(".quick-input-widget .monaco-list-row", title)

    def _quick_input(self, key: str, typed: str) -> None:
        """Opens the quick input with its keybinding, and fills it."""
        # While an earlier quick input closes, the keybinding would be lost.
        self.gone(".quick-input-widget")
        self.press(key)
        self.fill(".quick-input-widget input.input", typed)

    def open(self, name: str | Path) -> None:
        """Opens a file of the workspace, with focus."""
        # By full path: the file list may not have a new file yet.
        self._quick_input("Control+p", str((self.folder / name).resolve()))
        self.click(".quick-input-widget .monaco-list-row", Path(name).name)
        self.wait(".tab.active", Path(name).name)
        self.wait(".monaco-editor.focused .view-lines")

    def write(self, name: str, text: str) -> None:
        """Writes a file to disk and opens it."""
        (self.folder / name).write_bytes(text.encode())
        self.open(name)

    def begin(self, name: str, statement: str = "total = ", line_end: str = "\n") -> str:
        """Opens a new file with the cursor at its end, where `price_of(basket)` is expected; returns its text."""
        text = (BEGUN + statement).replace("\n", line_end)
        self.write(name, text)
        self.press("Control+End")
        return text

    def go(self, line: int, column: int) -> None:
        """Moves the cursor; both are 1-based."""
        self._quick_input("Control+g", f":{line}:{column}")
        # Enter has no effect before the item appears.
        self.wait(".quick-input-widget .monaco-list-row", f"line {line} at column {column}.")
        self.press("Enter")
        self.wait("#status\\.editor\\.selection", f"Ln {line}, Col {column}")
        self.wait(".monaco-editor.focused")

    def save(self, name: str) -> str:
        """Saves the file, and returns its content on disk."""
        self.wait(".tab.active.dirty")
        self.press("Control+s")
        self.gone(".tab.active.dirty")
        return (self.folder / name).read_bytes().decode()

    def close_editors(self) -> None:
        """Closes all editors without saving."""
        self.press("Escape")
        self.command("View: Close All Editors")

        def closed() -> bool:
            if self.texts(".monaco-dialog-box .monaco-button", "Don't Save"):
                self.click(".monaco-dialog-box .monaco-button", "Don't Save")
            return not self.texts(".tab")

        self._until(closed, "the editors to close")

    def call(self, call: str, **details: Any) -> Any:
        """A call of VS Code's interface by another extension of this window (caller/extension.js)."""
        port = self._until(self._caller, "the extension that calls")
        body = json.dumps({"call": call, **details}).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", body, ANSWER_S) as response:
            answer = json.load(response)
        assert "error" not in answer, f"{call}: {answer['error']}"
        return answer["value"]

    def _caller(self) -> int | None:
        """The port of the extension in the newest extension host on this folder."""
        for file in sorted(self._calls.glob("*.json"), key=lambda each: each.stat().st_mtime, reverse=True):
            found = json.loads(file.read_text())
            is_running = Path("/proc", file.stem).exists()
            if is_running and self.folder.resolve() in [Path(each).resolve() for each in found["folders"] or [NOWHERE]]:
                port: int = found["port"]
                return port
        return None

    def reload(self) -> None:
        self.do("reload")
        self.wait(".monaco-workbench .part.statusbar")

    def close(self) -> None:
        self.do("close")

    # Visible state

    def wait(self, selector: str, text: str | None = None, frame: str | None = None) -> str:
        """Waits for a visible element that matches, and returns its text."""
        found: str = self.do("wait", selector=selector, text=text, frame=frame)
        return found

    def gone(self, selector: str, text: str | None = None, frame: str | None = None) -> None:
        self.do("gone", selector=selector, text=text, frame=frame)

    def texts(self, selector: str, text: str | None = None, frame: str | None = None) -> list[str]:
        """The texts of all visible elements that match now."""
        found: list[str] = self.do("texts", selector=selector, text=text, frame=frame)
        return found

    def attribute(self, selector: str, name: str, text: str | None = None, frame: str | None = None) -> str | None:
        found: str | None = self.do("attribute", selector=selector, name=name, text=text, frame=frame)
        return found

    def ghost(self) -> str | None:
        """The current ghost text, or None."""
        lines = self.do("ghost")
        return None if lines is None else "\n".join(lines)

    def drawn(self) -> list[tuple[str, str, list[str]]]:
        """The lines of the active editor on which decorations draw: the code, what is struck, and the drawn texts."""
        return [(each["line"], each["struck"], each["texts"]) for each in self.do("drawn")]

    def draws(self, *lines: tuple[str, str, list[str]]) -> None:
        """Waits until exactly this is drawn."""
        try:
            self._until(lambda: self.drawn() == list(lines), f"{lines} to be drawn")
        except AssertionError:
            texts = "\n".join(self.texts(".monaco-editor .view-lines"))
            raise AssertionError(f"waited for {lines} to be drawn, but {self.drawn()} is, in\n{texts}") from None

    def shows(self, ghost: str | None, **within: float) -> None:
        """Waits until this is the ghost text."""
        self._until(lambda: self.ghost() == ghost or None, f"the ghost text {ghost!r}", **within)

    def lines(self) -> str:
        """The visible lines of the focused editor."""
        return self.wait(".monaco-editor.focused .view-lines")

    def reads(self, text: str) -> None:
        """Waits until the focused editor contains this text, ignoring white space."""
        self._until(lambda: _run_on(text) in _run_on(self.lines()), f"an editor with {text!r}")

    def status(self) -> str:
        """The accessible label of the status bar item."""
        return self.attribute(".statusbar-item[id$='weft.status']", "aria-label") or ""

    def notices(self) -> list[str]:
        return self.texts(".notification-toast .notification-list-item-message")

    def accessibility(self, selector: str = "body", frame: str | None = None) -> str:
        """The accessibility tree in Playwright's notation."""
        tree: str = self.do("accessibility", selector=selector, frame=frame)
        return tree

    def screenshot(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.do("screenshot", path=str(path))


def _run_on(text: str) -> str:
    return "".join(text.split())


class VSCode:
    """code-server with the extension installed, and the windows on it."""

    def __init__(
        self,
        url: str,
        driver: Driver,
        home: Path,
        logs: Path,
        environment: dict[str, str],
        wire: Any,
        until: Callable[..., Any],
    ) -> None:
        self.home, self.environment, self.wire = home, environment, wire
        self.logs = logs
        self.packages = home / "packages"
        """The only folder where pip and uv find packages."""
        self.windows: list[Window] = []
        self.kept: Window | None = None
        """The window that the tests share; None before the first, and after a test that failed."""
        self._url, self._driver, self._until = url, driver, until
        self.set()
        (home / "user" / "User" / "keybindings.json").write_text(json.dumps(KEYS))

    def set(self, machine: dict[str, Any] | None = None, **user: Any) -> None:
        """The settings, from now on: those of this machine (with the real server behind the relay, if there is a
        relay), and the user's.

        What is not named is as tests have it; None leaves one out.
        """
        command = {} if self.wire is None else {"weft.server.command": self.wire.command}
        given = {**command, **(machine or {})}
        # Settings that reach outside the workspace have machine scope.
        for scope, settings in (("Machine", given), ("User", {**SETTINGS, **user})):
            file = self.home / "user" / scope / "settings.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({name: value for name, value in settings.items() if value is not None})
            if not file.exists() or file.read_text() != text:
                # Atomically: a partial file would be read as changed settings, and restart the server.
                new = file.with_suffix(".new")
                new.write_text(text)
                new.replace(file)

    def settings(self) -> dict[str, Any]:
        """The settings of the machine and of the user, as they are on disk."""
        files = (self.home / "user" / scope / "settings.json" for scope in ("Machine", "User"))
        return {name: value for file in files for name, value in json.loads(file.read_text()).items()}

    def open_empty(self) -> Window:
        """Opens a window without a folder."""
        number = self._driver.ask("open", url=f"{self._url}/?ew=true")
        window = Window(self._driver, number, NOWHERE, self.home / "calls", self._until)
        self.windows.append(window)
        window.wait(".monaco-workbench .part.statusbar")
        return window

    def open(self, place: Path, file: str | None = None, *, ready: bool = True, **options: Any) -> Window:
        """Opens a window on a folder or a `.code-workspace` file; waits for the index if `ready`."""
        host = self._url.removeprefix("http://")
        mark = self.wire.now() if ready else 0
        kind = "workspace" if place.suffix == ".code-workspace" else "folder"
        url = f"{self._url}/?{kind}={quote(str(place))}"
        folder = place.parent if kind == "workspace" else place
        if file is not None:
            actions = [["openFile", f"vscode-remote://{host}{folder / file}"]]
            url += f"&payload={quote(json.dumps(actions))}"
        number = self._driver.ask("open", url=url, **options)
        window = Window(self._driver, number, folder, self.home / "calls", self._until)
        self.windows.append(window)
        if file is not None:
            window.wait(".monaco-editor .view-lines")
            window.click(".monaco-editor .view-lines")
        else:
            window.wait(".monaco-workbench .part.statusbar")
        if ready:
            self.wire.wait("weft/didChangeStatus", lambda status: status["kind"] == "ready", after=mark)
        return window

    def wait_for_restart(self, mark: int) -> None:
        """Waits until a server that started after `mark` is ready; the old one may still send its status."""
        server = self.wire.wait("started", after=mark)["server"]
        self.wire.wait("weft/didChangeStatus", lambda status: status["kind"] == "ready", after=mark, server=server)

    def close(self, window: Window) -> None:
        self.windows.remove(window)
        window.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("vscode")
            # VS Code, the browser and the file watcher lose a key or an event now and then. What fails twice is ours.
            if "vscode" in item.fixturenames:
                item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def vsix(editors_prefix: Path) -> Path:
    """The package of the extension, rebuilt if a source is newer."""
    built = subprocess.run(
        ["make", "vsix", f"EDITORS_PREFIX={editors_prefix}"], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert built.returncode == 0, f"make vsix: {built.stdout[-3000:]}{built.stderr[-3000:]}"
    return ROOT / "editors" / "vscode" / "weft.vsix"


@pytest.fixture(scope="session")
def code_server(
    editors_prefix: Path, missing: Callable[[str], None], waiting: Callable[..., Any]
) -> Callable[..., contextlib.AbstractContextManager[tuple[str, Driver]]]:
    """`code_server(vsix, home, logs, environment)`: the address of a code-server with the extension, and a driver.

    Its settings are in `home/user`. Both end with the context.
    """
    node, program = editors_prefix / "bin/node", editors_prefix / "cs/bin/code-server"
    playwright = editors_prefix / "pw/node_modules/playwright-core/index.mjs"
    for path in (node, program, playwright):
        if not path.exists():
            missing(str(path))
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        missing("Chromium")

    @contextlib.contextmanager
    def start(vsix: Path, home: Path, logs: Path, environment: dict[str, str]) -> Iterator[tuple[str, Driver]]:
        (home / "config.yaml").write_text("")
        places = {
            "--config": home / "config.yaml",
            "--user-data-dir": home / "user",
            "--extensions-dir": home / "extensions",
        }
        base = [str(program), *(part for flag, name in places.items() for part in (flag, str(name)))]
        install = [*base, "--install-extension", str(vsix), "--force"]
        subprocess.run(install, env=environment, check=True, capture_output=True, timeout=120)
        log = logs / "code-server.log"
        quiet = ["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"]
        with log.open("wb") as output:
            server = subprocess.Popen(
                # The extension host of a closed window ends at once.
                [*base, "--auth", "none", "--bind-addr", "127.0.0.1:0", "--reconnection-grace-time", "1", *quiet],
                env=environment,
                cwd=home,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        driver = None
        try:

            def listening() -> re.Match[str] | None:
                text = log.read_text(errors="replace")
                assert server.poll() is None, text
                return re.search(r"listening on (http://127\.0\.0\.1:\d+)", text)

            url = waiting(listening, "code-server")[1]
            driver = Driver(
                [str(node), str(HERE / "driver.mjs")],
                {**environment, "PLAYWRIGHT": str(playwright), "CHROMIUM": str(chromium)},
                logs / "driver.log",
            )
            yield url, driver
        finally:
            if driver is not None:
                driver.stop()
            os.killpg(server.pid, signal.SIGTERM)
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()

    return start


@pytest.fixture(scope="session")
def vscode(
    editors_prefix: Path,
    code_server: Callable[..., Any],
    marked_environment: dict[str, str],
    vsix: Path,
    artefacts: Path,
    wires: Callable[..., Any],
    waiting: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[VSCode]:
    home = tmp_path_factory.mktemp("vscode")
    logs = artefacts / "vscode"
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir()
    homes = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "WEFT_CACHE_DIR", "WEFT_DATA_DIR")
    environment = {**marked_environment, **dict.fromkeys(homes, str(home))}
    settings_file = home / "weft" / "weft.toml"  # of the user
    settings_file.parent.mkdir(parents=True)
    settings_file.write_text("[completion]\nmin_confidence = 0.01\n")  # whole texts, independent of what is fitted
    # Only the server that a test configures is found.
    others = [folder for folder in environment["PATH"].split(os.pathsep) if not Path(folder, "weft").exists()]
    environment["PATH"] = os.pathsep.join([str(editors_prefix / "bin"), *others])
    packages = home / "packages"
    packages.mkdir()
    for tool in ("PIP", "UV"):
        environment |= {f"{tool}_NO_INDEX": "1", f"{tool}_FIND_LINKS": str(packages)}
    shutil.copytree(HERE / "caller", home / "extensions" / "weft-tests.caller-1.0.0")
    (home / "calls").mkdir()
    environment["WEFT_TEST_CALLS"] = str(home / "calls")
    with code_server(vsix, home, logs, environment) as (url, driver):
        yield VSCode(url, driver, home, logs, environment, wires(kept="vscode"), waiting)


@pytest.fixture
def vscode_of(
    editors_prefix: Path, code_server: Callable[..., Any], artefacts: Path, waiting: Callable[..., Any]
) -> Iterator[Callable[..., VSCode]]:
    """`vscode_of(user, vsix)`: the VS Code of a `NewUser` with the extension and no setting of Weft. No message of its
    server is recorded.
    """
    mine: list[VSCode] = []
    with contextlib.ExitStack() as running:

        def start(user: Any, vsix: Path) -> VSCode:
            logs = artefacts / "installed"
            logs.mkdir(exist_ok=True)
            path = os.pathsep.join([str(editors_prefix / "bin"), user.environment["PATH"]])
            environment = {**user.environment, "PATH": path}
            url, driver = running.enter_context(code_server(vsix, user.home, logs, environment))
            mine.append(VSCode(url, driver, user.home, logs, environment, None, waiting))
            return mine[-1]

        yield start
        for vscode in mine:
            for number, window in enumerate(vscode.windows):
                window.screenshot(vscode.logs / f"{vscode.home.parent.name}-last-{number}.png")


@pytest.fixture(scope="session")
def shop_workspace(shop_files: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace file with one folder, `shop`."""
    place = tmp_path_factory.mktemp("work")
    (place / "shop").mkdir()
    for name, text in shop_files.items():
        (place / "shop" / name).write_text(text)
    (place / "work.code-workspace").write_text(json.dumps({"folders": [{"path": "shop"}]}))
    return place / "work.code-workspace"


@pytest.fixture
def shop(vscode: VSCode, shop_workspace: Path, shop_files: dict[str, str]) -> Iterator[Window]:
    """The shared window on the shop; resets orders, settings, editors, files and notifications after each test."""
    window = vscode.kept
    if window is None or window not in vscode.windows:
        for other in list(vscode.windows):
            vscode.close(other)  # of a test that failed: `Window.call` would reach it
        window = vscode.kept = vscode.open(shop_workspace)
        window.folder = shop_workspace.parent / "shop"
    yield window
    vscode.wire.order(blank=None, fill=None, hold=None, freeze=None)
    vscode.set()
    for other in [each for each in vscode.windows if each is not vscode.kept]:
        vscode.close(other)
    if vscode.kept is not None:
        window.close_editors()
    for file in window.folder.iterdir():
        if file.name not in shop_files:
            file.unlink()
    if vscode.kept is not None and window.notices():
        window.command("Notifications: Clear All Notifications")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Keeps screenshots of the windows of a failed test; the next test gets a new window."""
    report = yield
    vscode = getattr(item, "funcargs", {}).get("vscode")
    if report.when == "call" and report.failed and isinstance(vscode, VSCode):
        for number, window in enumerate(vscode.windows):
            window.screenshot(vscode.logs / "failed" / f"{item.name}-{number}.png")
        vscode.kept = None
    return report


@pytest.fixture
def picture(artefacts: Path, request: pytest.FixtureRequest) -> Callable[[Window, str], None]:
    """`picture(window, name)`: saves a screenshot."""
    return lambda window, name: window.screenshot(artefacts / "vscode" / f"{name}.png")
