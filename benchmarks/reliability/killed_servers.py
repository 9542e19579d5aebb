"""SIGKILL to the real server at random moments: what the next start finds, and what is left over.

Owns the moments: during a first index, a warm start, questions and their answers, completions and edits, and shutdown,
when index and counters are written. Each start follows a kill.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from ...llm.disk import NEW_SUFFIX, abandoned
from ...memory.storage import MemoryStore
from ...server.config import Config, load_config
from ...server.workspace.memory import memory_file
from ...server.workspace.workspace import Workspace
from ..lsp_client import Client, ServerGone, when_ready
from .damaged_files import user_at, write_project
from .probe import texts_of

MOMENTS = ("first index", "warm start", "questions", "questions", "edits", "end")
N_FILES = 80
LATEST_S = {"first index": 2.0, "warm start": 1.0, "questions": 2.0, "edits": 1.5, "end": 0.3}


def kill_servers(work: Path, rng: random.Random, n_kills: int, until_s: float) -> Counter[str]:
    """Kill `n_kills` servers, one after the other, until the time is over."""
    project, home = work / "project", work / "home"
    write_project(project)
    for number in range(N_FILES):
        text = "".join(f"def work_{number}_{n}(basket):\n    return total(basket) + {n}\n\n\n" for n in range(20))
        (project / f"module_{number}.py").write_text(f"from price import total\n\n\n{text}")
    home.mkdir()
    campaign = _KillCampaign(project, home, rng)
    with user_at(home):
        for number in range(n_kills):
            if time.monotonic() > until_s:
                break
            campaign.one(MOMENTS[number % len(MOMENTS)])
        campaign.check_last()
    return campaign.counts


class _KillCampaign:
    def __init__(self, project: Path, home: Path, rng: random.Random) -> None:
        self._project, self._home, self._rng = project, home, rng
        self._acknowledged: list[str] = []
        self._n_edits = 0
        names = ("kills", "questions acknowledged", "questions lost", "temporary files left", "start problems")
        self.counts: Counter[str] = Counter(dict.fromkeys((*names, "indexes unlike fresh"), 0))

    def one(self, moment: str) -> None:
        if moment == "first index":
            for index in (self._home / "indexes").glob("*.weft"):
                index.unlink()
        try:
            client = Client(self._project, self._home)
        except (ServerGone, OSError) as error:
            self._problem(f"at a start ({moment})", error)
            return
        kill_at_s = time.monotonic() + self._rng.uniform(0, LATEST_S[moment])
        asked: dict[int, str] = {}
        try:
            if moment not in ("first index", "warm start"):
                self._check_start(client)
                kill_at_s = time.monotonic() + self._rng.uniform(0, LATEST_S[moment])
            if moment == "questions":
                self._ask(client, kill_at_s, asked)
            elif moment in ("edits", "end"):
                self._edit(client)
            if moment == "end":
                client.request("shutdown", None)
            time.sleep(max(0.0, kill_at_s - time.monotonic()))
        except (ServerGone, OSError) as error:
            self._problem(moment, error)
        for message in client.kill():
            self._take(message, asked)
        self.counts["kills"] += 1
        self.counts[f"killed during {moment}"] += 1

    def check_last(self) -> None:
        """Check a last start without a kill: a complete history, no file left over, an index that equals the disk."""
        try:
            with Client(self._project, self._home) as client:
                self._check_start(client)
        except (ServerGone, OSError) as error:
            self._problem("at the last start", error)
        with Workspace([self._project], Config()) as cached:
            report = cached.index()
            with Workspace([self._project], Config(), cache=False) as fresh:
                fresh.index()
                self.counts["indexes unlike fresh"] += texts_of(cached) != texts_of(fresh)
            self.counts["warm starts at the end"] += report.warm
        file = memory_file(self._project, load_config(self._project)[0])
        with closing(MemoryStore(file)) as store:
            questions = {turn.question for _, turns in store.conversations.all() for turn in turns if turn.answer}
            self.counts["start problems"] += len(store.notes)
        self.counts["questions acknowledged"] = len(self._acknowledged)
        self.counts["questions lost"] = sum(question not in questions for question in self._acknowledged)
        self.counts["start problems"] += len(list(file.parent.glob("*.aside")))

    def _check_start(self, client: Client) -> None:
        status = when_ready(client)
        client.ask("weft/conversations", {"action": "list"})  # opens the history
        if status["notes"]:
            self._problem("after a start", RuntimeError(" ".join(status["notes"])))
        # Without files that this server is writing now.
        folders = {path.parent for path in self._home.rglob(f"*{NEW_SUFFIX}")}
        left = [path.name for folder in folders for path in abandoned(folder)]
        self.counts["temporary files left"] += len(left)
        if left:
            print(f"left: {left}", file=sys.stderr)
        self.counts["starts checked"] += 1

    def _ask(self, client: Client, kill_at_s: float, asked: dict[int, str]) -> None:
        """Ask questions one after the other; one counts from the arrival of its answer."""
        for number in range(1000):
            question = f"what calls work_{self._rng.randrange(N_FILES)}_{number}? ({self.counts['kills']}.{number})"
            identifier, _ = client.request("weft/ask", {"question": question})
            asked[identifier] = question
            while identifier in asked:
                arrived = client.next_or_none(max(0.001, kill_at_s - time.monotonic()))
                if arrived is None:
                    return
                self._take(arrived.message, asked)

    def _take(self, message: Mapping[str, Any], asked: dict[int, str]) -> None:
        if "method" in message or message.get("id") not in asked:
            return
        question = asked.pop(message["id"])
        if "result" in message:
            self._acknowledged.append(question)
        else:
            self._problem("asking", RuntimeError(str(message)))

    def _edit(self, client: Client) -> None:
        for _ in range(10):
            self._n_edits += 1
            name = f"module_{self._rng.randrange(N_FILES)}.py"
            path = self._project / name
            path.write_text(path.read_text() + f"\n\ndef edited_{self._n_edits}():\n    return total([])\n")
            changed: Mapping[str, Any] = {"changes": [{"uri": path.as_uri(), "type": 2}]}
            client.notify("workspace/didChangeWatchedFiles", changed)

    def _problem(self, where: str, error: Exception) -> None:
        self.counts["start problems"] += 1
        print(f"{where}: {error}", file=sys.stderr)
