"""Shared fixtures of the editor tests: installed editors, the LSP relay, and the check for leaked processes."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from new_user import NewUser

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ARTEFACTS = HERE / "artefacts"

WAIT_S = 60
"""Time limit; only a failing test waits this long."""

RUN = f"WEFT_EDITOR_TESTS={uuid.uuid4().hex}"
"""An environment variable of every process that a test run starts, so that leaked processes are found."""

# The same lines in many files, so that the workspace model completes them with high confidence, on one line and on two.
SHOP = {
    f"part_{number}.py": f"""\
from ledger import open_ledger
from price import price_of


def handle_{number}(basket):
    total = price_of(basket)
    with open_ledger(basket) as ledger:
        ledger.write(total)
        ledger.close_day()
    return total
"""
    for number in range(6)
}

T = TypeVar("T")


def until(look: Callable[[], T | None], what: str, within_s: float = WAIT_S) -> T:
    """Polls `look` until its result is true, and returns the result."""
    end = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < end, f"waited for {what}"
        time.sleep(0.03)
    return found


class Wire:
    """The relay between editors and servers: recorded messages, and orders to the relay (see relay.py)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        self.command = [sys.executable, str(HERE / "relay.py"), str(folder)]
        """The command of a recorded server, for the settings of an editor."""
        self._orders: dict[str, Any] = {}

    def notes(self) -> list[dict[str, Any]]:
        """All messages so far, oldest first: `from` (editor, server, held, relay), `server` (pid), `message`."""
        try:
            text = (self._folder / "wire.jsonl").read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        # The last line may be incomplete.
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def now(self) -> int:
        """The number of messages so far, for `after`."""
        return len(self.notes())

    def said(self, method: str, *, after: int = 0, sender: str | None = None) -> list[dict[str, Any]]:
        """The messages of this method, and the responses to it."""
        return [
            note
            for note in self.notes()[after:]
            if method in (note["message"].get("method"), note["message"].get("answers"))
            and sender in (None, note["from"])
        ]

    def wait(
        self,
        method: str,
        fits: Callable[[Any], bool] = lambda _: True,
        *,
        after: int = 0,
        sender: str | None = None,
        server: int | None = None,
        within_s: float = WAIT_S,
    ) -> dict[str, Any]:
        """Waits for the first message of this method whose parameters (or result) satisfy `fits`."""

        def look() -> dict[str, Any] | None:
            for note in self.said(method, after=after, sender=sender):
                message = note["message"]
                told = message["params"] if "params" in message else message.get("result")
                if server in (None, note["server"]) and fits(told):
                    return note
            return None

        return until(look, f"{method} on the wire", within_s)

    def order(self, **orders: Any) -> None:
        """Sets the orders `blank`, `fill`, `hold`, `late` or `freeze`; an empty list or None cancels an order."""
        self._orders.update(orders)
        new = self._folder / "orders.json.new"
        new.write_text(json.dumps({name: order for name, order in self._orders.items() if order}))
        new.replace(self._folder / "orders.json")

    def kill(self, server: int) -> None:
        """Kills the server as a crash does."""
        os.kill(server, signal.SIGKILL)


def ours() -> dict[int, str]:
    """The processes of this test run with their command lines; empty without /proc."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != os.getpid() and RUN.encode() in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes()
                if command:  # a zombie has none
                    found[int(folder.name)] = command.replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return found


@pytest.fixture(scope="session")
def marked_environment() -> Iterator[dict[str, str]]:
    """The environment of all processes of the tests; fails, and kills them, when some are left at the end."""
    name, _, value = RUN.partition("=")
    # SIGTERM cleans up as Ctrl-C does.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield {**os.environ, name: value}
    signal.signal(signal.SIGTERM, before)
    end = time.monotonic() + 10
    while (left := ours()) and time.monotonic() < end:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left, f"left behind: {left}"


@pytest.fixture(scope="session")
def running() -> Callable[[], dict[int, str]]:
    """`running()`: the processes of this test run with their command lines."""
    return ours


@pytest.fixture(scope="session")
def shop_files() -> dict[str, str]:
    """The files of the workspace of the editor tests, by name."""
    return SHOP


@pytest.fixture(scope="session")
def editors_prefix() -> Path:
    """Where `make editors` installs."""
    return Path(os.environ.get("EDITORS_PREFIX", ROOT / ".editors")).resolve()


@pytest.fixture(scope="session")
def missing() -> Callable[[str], None]:
    """`missing(what)`: skips, or fails where editors are required."""

    def tell(what: str) -> None:
        message = f"{what}: run make editors"
        if os.environ.get("EDITORS_REQUIRED"):
            pytest.fail(f"EDITORS_REQUIRED is set, and there is no {message}")
        pytest.skip(f"no {message}")

    return tell


@pytest.fixture(scope="session")
def artefacts() -> Path:
    """The folder of screenshots and logs, which are kept after the run."""
    ARTEFACTS.mkdir(exist_ok=True)
    return ARTEFACTS


@pytest.fixture(scope="session")
def wires(artefacts: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Wire]:
    """`wires(kept="name")`: a new relay; with a name its record is kept after the run."""
    return lambda kept="": Wire(artefacts / "wires" / kept if kept else tmp_path_factory.mktemp("wire"))


@pytest.fixture(scope="session")
def waiting() -> Callable[..., Any]:
    """`waiting(look, what)`: polls `look` until its result is true, and returns the result."""
    return until


@pytest.fixture(scope="session")
def new_user(marked_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], NewUser]:
    """`new_user(name)`: a person with an empty home who has the wheel of `make test-installed` and nothing else."""
    wheel = os.environ.get("WEFT_WHEEL", "")
    if not wheel:
        pytest.skip("no wheel to install: run make dist test-installed")
    name, _, value = RUN.partition("=")
    return lambda who: NewUser(tmp_path_factory.mktemp(who), Path(wheel).resolve(), {name: value})
