"""Kills, damaged files, special files, and hostile ignore rules.

Owns the number of each and the counts. The attacks are in `killed_servers.py`, `damaged_files.py`, `special_files.py`
and `hostile_rules.py`.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from .campaign import Counts, Settings
from .damaged_files import damage_histories, damage_other_files
from .hostile_rules import slowest_walks
from .killed_servers import kill_servers
from .special_files import COMMANDS, KINDS, check_special_files

QUESTION = "Do kills, damaged files and special files lose, leave, block or delete anything?"

MUST_BE_ZERO = (
    "questions lost",
    "temporary files left",
    "start problems",
    "indexes unlike fresh",
    "history failures",
    "histories deleted",
    "other failures",
    "hangs",
    "tracebacks",
    "slow rules",
)

FULL, SHORT = (120, 320, 40, 200, 40_000), (3, 24, 2, 16, 2_000)
"""Kills, damaged histories, those of them used by whole commands, other damaged files, and patterns to ignore."""

KILLS_BOUND_S = 480.0
SLOWEST_RULES_S = 10.0
"""Of processor time, for 100 files; 40,000 patterns take up to 3 s on two busy cores."""


def run(settings: Settings) -> Counts:
    rng = random.Random(settings.seed)
    n_kills, n_histories, n_commands, n_others, n_patterns = SHORT if settings.is_short else FULL
    kinds, n_opened = (("pipe",), 2) if settings.is_short else (tuple(KINDS), len(COMMANDS))
    counts: Counter[str] = Counter()
    special, kills, histories, others, rules = (
        settings.work / name for name in ("special", "kills", "histories", "others", "rules")
    )
    with ThreadPoolExecutor(1) as pool:  # runs in other processes
        checked = pool.submit(check_special_files, special, kinds, n_opened)
        counts.update(kill_servers(kills, rng, n_kills, time.monotonic() + KILLS_BOUND_S))
        counts.update(checked.result())
    counts.update(damage_histories(histories, rng, n_histories, n_commands))
    counts.update(damage_other_files(others, rng, n_others))
    seconds = slowest_walks(rules, rng, n_patterns)
    counts["slow rules"] = sum(each > SLOWEST_RULES_S for each in seconds.values())
    return {**counts, **{f"seconds under {name}": each for name, each in seconds.items()}}
