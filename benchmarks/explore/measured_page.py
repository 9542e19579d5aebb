"""Times of inputs on a page: from the event to the paint that shows the answer, and the part of the server in it.

Owns the script that runs in the page. Its clock is the browser's: the time stamp of the input event, the end of the
frame after the first one in which a condition holds, and Resource Timing for requests of views.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from ..chromium import Page
from .served import Served

ANSWERED = "!document.querySelector('[aria-busy=\"true\"]')"
"""True when no part of the page waits for the server."""

SCRIPT = """
{
const requestTime = (began) => {  // in which at least one request of a view runs
  const requests = performance.getEntriesByType("resource")
    .filter((each) => each.name.includes("/api/") && each.startTime >= began)
    .sort((one, other) => one.requestStart - other.requestStart);
  let [time, end] = [0, 0];
  for (const { requestStart, responseEnd } of requests) {
    time += Math.max(0, responseEnd - Math.max(requestStart, end));
    end = Math.max(end, responseEnd);
  }
  return time;
};
window.weftMeasure = (type, isShown) => {
  performance.clearResourceTimings();
  window.weftTimed = new Promise((resolve) => addEventListener(type, (event) => {
    const began = event.timeStamp;
    let feedback = 0;
    const afterPaint = (run) => {  // a message that is posted while a frame is made comes after its paint
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = run;
      port2.postMessage(0);
    };
    let isLooking = false;
    const look = () => {
      if (isLooking) return;
      isLooking = true;
      requestAnimationFrame(() => {
        isLooking = false;
        const shown = isShown();
        afterPaint(() => {
          const now = performance.now();
          feedback ||= now - began;
          if (!shown) return;
          changes.disconnect();
          resolve({ total: now - began, feedback, server: requestTime(began) });
        });
      });
    };
    const changes = new MutationObserver(look);
    changes.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    look();
  }, { capture: true, once: true }));
};
}
"""


@dataclass(frozen=True, slots=True)
class Timed:
    """Milliseconds from one input: to the paint with the answer, to the first paint, and with a request running.

    `server_cpu_ms` is processor time of the server, `browser_cpu_ms` of the page's main thread, without commands.
    """

    total_ms: float
    feedback_ms: float
    server_ms: float
    server_cpu_ms: float
    browser_cpu_ms: float

    @property
    def browser_ms(self) -> float:
        return self.total_ms - self.server_ms


class MeasuredPage:
    """A page with the script in each of its documents; the rules of the documents do not apply to it."""

    def __init__(self, page: Page, server: Served) -> None:
        self.page = page
        self._server = server
        page.send("Page.addScriptToEvaluateOnNewDocument", source=SCRIPT)
        page.send("Performance.enable", timeDomain="threadTicks")

    def time_input(self, event: str, condition: str, act: Callable[[], None]) -> Timed:
        """The times of the next input event of a type; `act` makes it. The answer is shown when `condition` is true."""
        self.page.run(f"void weftMeasure({json.dumps(event)}, () => Boolean({condition}))")
        server, browser = self._server.cpu_ms(), self._cpu_ms()
        act()
        found = self.page.run("weftTimed")
        server, browser = self._server.cpu_ms() - server, self._cpu_ms() - browser
        return Timed(found["total"], found["feedback"], found["server"], server, browser)

    def _cpu_ms(self) -> float:
        metrics = {each["name"]: each["value"] for each in self.page.send("Performance.getMetrics")["metrics"]}
        return float(1e3 * (metrics["TaskDuration"] - metrics["DevToolsCommandDuration"]))


def go(page: Page, address: str) -> None:
    """Go to an address after "#", and wait for the whole answer."""
    page.run(
        f"""new Promise((resolve) => {{
            if (location.hash === {json.dumps(address)}) return resolve();
            addEventListener("hashchange", resolve, {{ once: true }});
            location.hash = {json.dumps(address)};
            return undefined;
        }}).then(() => 0)"""
    )
    page.wait_until(ANSWERED)


def paints(page: Page, url: str) -> dict[str, float]:
    """Milliseconds from the start of a navigation to `first-paint` and to `first-contentful-paint`."""
    page.open(url)
    page.wait_until(ANSWERED)
    entries = page.run("performance.getEntriesByType('paint').map((each) => [each.name, each.startTime])")
    return dict(entries)
