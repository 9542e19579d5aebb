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

N_KILLS, N_HISTORIES, N_COMMANDS, N_OTHERS, N_PATTERNS = 120, 320, 40, 200, 40_000
N_KILLS_SHORT, N_HISTORIES_SHORT, N_COMMANDS_SHORT, N_OTHERS_SHORT, N_PATTERNS_SHORT = 3, 24, 2, 16, 2_000
KILLS_BOUND_S = 480.0
SLOWEST_RULES_S = 10.0
"""Of processor time, for 100 files; 40,000 patterns take up to 3 s on two busy cores."""


def run(settings: Settings) -> Counts:
    rng = random.Random(settings.seed)
    short = settings.is_short
    counts: Counter[str] = Counter()
    special, kills, histories, others, rules = (
        settings.work / name for name in ("special", "kills", "histories", "others", "rules")
    )
    kinds = ("pipe",) if short else tuple(KINDS)
    n_kills = N_KILLS_SHORT if short else N_KILLS
    with ThreadPoolExecutor(1) as pool:  # runs in other processes
        checked = pool.submit(check_special_files, special, kinds, 2 if short else len(COMMANDS))
        counts.update(kill_servers(kills, rng, n_kills, time.monotonic() + KILLS_BOUND_S))
        counts.update(checked.result())
    n_histories, n_commands = (N_HISTORIES_SHORT, N_COMMANDS_SHORT) if short else (N_HISTORIES, N_COMMANDS)
    counts.update(damage_histories(histories, rng, n_histories, n_commands))
    counts.update(damage_other_files(others, rng, N_OTHERS_SHORT if short else N_OTHERS))
    seconds = slowest_walks(rules, rng, N_PATTERNS_SHORT if short else N_PATTERNS)
    counts["slow rules"] = sum(each > SLOWEST_RULES_S for each in seconds.values())
    return {**counts, **{f"seconds under {name}": each for name, each in seconds.items()}}
