"""Generate `docs/papers.md`: every setting in which Weft's defaults differ from what the papers print, and why.

    python tests/papers/write.py

The settings and their values are read from the classes: a default beside its preset `as_printed`. `reasons.toml` has
the reason and the measurement of each difference, and what the papers leave open. `tests/test_papers_page.py` checks
that each difference has a reason, that no reason is left over, and that the page is up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

from weft.memory.fragrel import AS_PRINTED_CHAT, RETURNING_CHAT
from weft.memory.memorag.beacon.training.recipe import STAGE_1, STAGE_1_AS_PRINTED, STAGE_2, STAGE_2_AS_PRINTED
from weft.memory.strategies import SYSTEMS
from weft.retrieval import RetrievalOptions
from weft.retrieval.retrieve import PRINTED

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DOCUMENT = ROOT / "docs" / "papers.md"

HEAD = """\
# The papers as printed

Each system of the papers can be run as its paper prints it: the preset `as_printed` beside Weft's defaults.
This page lists every setting in which the two differ, with the measurement that justifies the default.
"Not measured" means that there is none.
`python tests/papers/write.py` generates the page from the settings themselves, and a test compares it with them.
F1 to F11 and the numbers after "papers' spec" are those of the project's specification, which resolves what the papers
leave open.

```
weft ask --strategy qrmem:as_printed "Who built the lamp?"
weft ask --strategy qrmem:as_printed,navigate=false "Who built the lamp?"
weft bench memory answers --data quality FILE --model none --strategies qrmem qrmem:as_printed
weft retrieve --strategy fragrel:as_printed app.py:12
```

A preset is chosen after a colon, and `setting=value` after it changes it.
In Python, `strategy_named("qrmem:as_printed", context)` is the same.
Each package has its preset as `AS_PRINTED` (`weft.memory.qrmem.AS_PRINTED`).

What no preset has: the models of the papers (Contriever, GPT, Llama), and their prompts word for word.
Any model of `[[model]]` answers, `memory.embeddings = "local"` takes Contriever or another embedding model, and the
prompts ask for the same in Weft's own words.
"""


@dataclass(frozen=True)
class System:
    """A default beside its preset, under a heading."""

    name: str  # in reasons.toml
    title: str
    spelling: str
    default: Any
    as_printed: Any


SYSTEMS_OF_PAGE = (
    System(
        "fragrel",
        "FragRel for stories and documents",
        "`fragrel:as_printed`, and `fragrel A:as_printed` with the semantic relation; default `fragrel`",
        SYSTEMS["fragrel"].default,
        SYSTEMS["fragrel"].as_printed,
    ),
    System(
        "fragrel_chat",
        "FragRel for chats",
        "`chat fragrel:as_printed`; default `chat returning`, which `auto` takes for conversations. "
        "`chat fragrel` is the preset with `score` auto",
        RETURNING_CHAT,
        AS_PRINTED_CHAT,
    ),
    System(
        "fragrel_code",
        "FragRel for code",
        '`retrieval.strategy = "fragrel:as_printed"`; default `weft`',
        RetrievalOptions(),
        PRINTED["fragrel"],
    ),
    System(
        "repocoder",
        "RepoCoder",
        '`retrieval.strategy = "jaccard:as_printed"`, with `weft complete --iterations N`; default `weft`',
        RetrievalOptions(),
        PRINTED["jaccard"],
    ),
    System(
        "qrmem",
        "QRMeM",
        "`qrmem:as_printed`, `qrmem expansion:as_printed`, `qrmem trial:as_printed`; default `qrmem`",
        SYSTEMS["qrmem"].default,
        SYSTEMS["qrmem"].as_printed,
    ),
    System(
        "memorag",
        "MemoRAG",
        "`memorag:as_printed`; default `memorag`",
        SYSTEMS["memorag"].default,
        SYSTEMS["memorag"].as_printed,
    ),
    System(
        "beacon",
        "MemoRAG: training of the beacon memory",
        "`--placement appended`, or `STAGE_1_AS_PRINTED` and `STAGE_2_AS_PRINTED` in Python",
        (STAGE_1, STAGE_2),
        (STAGE_1_AS_PRINTED, STAGE_2_AS_PRINTED),
    ),
    System(
        "segment_plus",
        "SEGMENT+",
        "`segment_plus:as_printed`; default `segment_plus`",
        SYSTEMS["segment_plus"].default,
        SYSTEMS["segment_plus"].as_printed,
    ),
)


def differences(default: Any, printed: Any, within: str = "") -> Iterator[tuple[str, str, str]]:
    """The settings that differ, with both values; those of a nested class as `memory.alpha`."""
    if isinstance(default, tuple) and default and all(map(is_dataclass, default)):
        found = [list(differences(one, other)) for one, other in zip(default, printed, strict=True)]
        yield from dict.fromkeys(row for rows in found for row in rows)
        return
    for field in fields(default):
        one, other = getattr(default, field.name), getattr(printed, field.name)
        if one == other:
            continue
        if is_dataclass(one) and type(one) is type(other):
            yield from differences(one, other, f"{within}{field.name}.")
        else:
            yield within + field.name, _shown(one), _shown(other)


def reasons() -> dict[str, Mapping[str, Any]]:
    """What reasons.toml says of each system."""
    with (HERE / "reasons.toml").open("rb") as file:
        return tomllib.load(file)


def document() -> str:
    said, parts = reasons(), [HEAD]
    for system in SYSTEMS_OF_PAGE:
        of_system = said[system.name]
        parts.append(f"## {system.title}\n\n{system.spelling}.\n")
        lines = [
            "| setting | default | as printed | in the paper | why the default | measured |",
            "|---|---|---|---|---|---|",
        ]
        for setting, default, printed in differences(system.default, system.as_printed):
            about = of_system["settings"][setting]
            lines.append(
                f"| `{setting}` | {default} | {printed} | {about['paper']} | {about['why']} | {_measured(about)} |"
            )
        parts.append("\n".join(lines) + "\n")
        if points := of_system.get("open", ()):
            parts.append("What the paper leaves open, or contradicts, and what both do:\n")
            parts.append("\n".join(f"- {point}" for point in points) + "\n")
    return "\n".join(parts)


def _measured(about: Mapping[str, Any]) -> str:
    if "source" not in about:
        return "not measured" + (f": {about['measured']}" if about.get("measured") else "")
    return f"{about['measured']} ([{Path(about['source']).name}](../{about['source']}))"


def _shown(value: Any) -> str:
    if value is None:
        return "`null`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
