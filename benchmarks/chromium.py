"""A headless Chromium, driven over the DevTools protocol on two pipes.

Owns the process, the messages, and real input: clicks and keys go through the browser as those of a person do. Knows
no page. POSIX only, because the browser gets its pipes as file descriptors 3 and 4.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import UserError

ANSWER_WITHIN_S = 30.0

AGAIN = "Run it again, with less else on this machine."

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-features=Translate,OptimizationHints,MediaRouter",
    "--remote-debugging-pipe",
)

KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39}
"""Windows key codes of named keys; a letter has none."""

Event = Mapping[str, Any]
"""A message of the protocol with `method` and `params`."""


class BrowserError(UserError):
    """The browser did not answer in time, refused a command, or a script of the page raised."""


def find_chromium() -> str | None:
    """The command of a browser of this kind: `CHROMIUM` in the environment, or one on the path."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


class Chromium:
    """A browser process with a profile of its own. A context manager; its end is the end of the process."""

    def __init__(self, command: str, profile: Path, width: int = 1280, height: int = 800) -> None:
        to_browser, from_browser = _high_pipe(), _high_pipe()
        theirs = (to_browser[0], from_browser[1])

        def place_pipes() -> None:
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        self._process = subprocess.Popen(
            [command, *OPTIONS, f"--window-size={width},{height}", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place_pipes,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for each in theirs:
            os.close(each)
        self._write_fd, self._read_fd = to_browser[1], from_browser[0]
        self._buffer = b""
        self._last_id = 0
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._write_fd)  # the browser ends with its pipe
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read_fd)

    def page(self) -> Page:
        """A new page in a context of its own, without the cookies and the storage of others."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", {"url": "about:blank", "browserContextId": context})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self._pages[session] = Page(self, session, context)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.send(f"{domain}.enable")
        return page

    def send(self, method: str, parameters: Mapping[str, Any] | None = None, session: str = "") -> dict[str, Any]:
        """The result of a command. Raises BrowserError."""
        self._last_id += 1
        number = self._last_id
        message = {"id": number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        self._write(json.dumps(message).encode() + b"\0")
        until = time.monotonic() + ANSWER_WITHIN_S
        while True:
            answer = self.receive(until)
            if answer is None:
                raise BrowserError(f"Chromium did not answer {method} within {ANSWER_WITHIN_S:.0f} s. {AGAIN}")
            if answer.get("id") == number:
                if "error" in answer:
                    raise BrowserError(f"Chromium refused {method}: {answer['error']['message']}. {AGAIN}")
                result: dict[str, Any] = answer["result"]
                return result

    def receive(self, until: float) -> dict[str, Any] | None:
        """The next message; events are also added to their page. None if there is none until a time."""
        while b"\0" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._read_fd], [], [], left)[0]:
                return None
            piece = os.read(self._read_fd, 1 << 20)
            if not piece:
                raise BrowserError(f"Chromium has ended. {AGAIN}")
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        page = self._pages.get(message.get("sessionId", ""))
        if page is not None and "method" in message:
            page.events.append(message)
        return message

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._write_fd, data) :]


class Page:
    """One page. `events` are all messages of the browser about it, oldest first."""

    def __init__(self, browser: Chromium, session: str, context: str) -> None:
        self.events: list[Event] = []
        self._browser = browser
        self._session = session
        self._context = context

    def close(self) -> None:
        self._browser.send("Target.disposeBrowserContext", {"browserContextId": self._context})

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.send(method, parameters, self._session)

    def open(self, url: str) -> None:
        """Go to an address, and wait for its `load` event, if that is not the same document at another fragment."""
        n_before = len(self.events)
        if "loaderId" in self.send("Page.navigate", url=url):
            self.wait_for_event(lambda event: event["method"] == "Page.loadEventFired", n_before)

    def wait_for_event(self, is_wanted: Callable[[Event], bool], start: int = 0) -> Event:
        """The first event from number `start` on that is wanted. Raises BrowserError."""
        until = time.monotonic() + ANSWER_WITHIN_S
        while True:
            for event in self.events[start:]:
                if is_wanted(event):
                    return event
            start = len(self.events)
            if self._browser.receive(until) is None:
                raise BrowserError(f"An event of Chromium did not come within {ANSWER_WITHIN_S:.0f} s. {AGAIN}")

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression as JSON; a promise is awaited. Raises BrowserError."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            reason = details.get("exception", {}).get("description", details["text"])
            raise BrowserError(f"A script of the page failed: {reason}. Correct it.")
        return answer["result"].get("value")

    def wait_until(self, condition: str) -> None:
        """Wait until a JavaScript expression is true. Raises BrowserError."""
        until = time.monotonic() + ANSWER_WITHIN_S
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > until:
                raise BrowserError(f"Not true within {ANSWER_WITHIN_S:.0f} s: {condition}. {AGAIN}")
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Click the middle of the first element of a CSS selector, scrolled into view. Raises BrowserError."""
        found = self.run(
            f"""(() => {{
                const element = document.querySelector({json.dumps(selector)});
                if (!element) return null;
                element.scrollIntoView({{ block: "nearest", behavior: "instant" }});
                const box = element.getBoundingClientRect();
                return [box.left + Math.min(box.width, innerWidth) / 2, box.top + box.height / 2];
            }})()"""
        )
        if found is None:
            raise BrowserError(f"The page has no element {selector}. Correct the selector.")
        at = {"x": found[0], "y": found[1], "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, **at)

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press a key: a character, or a name of `KEYS`."""
        text = {"text": "\r" if key == "Enter" else key} if key == "Enter" or len(key) == 1 else {}
        code = {"windowsVirtualKeyCode": KEYS[key]} if key in KEYS else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers, **text, **code)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers, **code)

    def set_scheme(self, scheme: str) -> None:
        """The colours that the system is said to prefer: `light` or `dark`."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def set_size(self, width: int, height: int) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self) -> bytes:
        """What is visible, as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])


def _high_pipe() -> tuple[int, int]:
    """A pipe above the descriptors 3 and 4, which the browser reads."""
    found = os.pipe()
    high = tuple(fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in found)
    for each in found:
        os.close(each)
    return high[0], high[1]
