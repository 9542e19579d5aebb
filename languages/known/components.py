"""Vue and Svelte components: markup with scripts in TypeScript or JavaScript.

The grammar of TypeScript reads the scripts. The markup is prose: no rule for code applies to a cursor in it.
"""

from __future__ import annotations

from dataclasses import replace

from ..embedded import ScriptBlocks
from .typescript import LANGUAGES as TYPESCRIPT

_RECORD = replace(
    TYPESCRIPT[0],
    name="vue",
    suffixes="vue",
    title="",
    is_prose=True,
    comment=("<!-- ", " -->"),
    decorator="",
    blocks="",
    indent="  ",
    embedded=ScriptBlocks("typescript"),
)

LANGUAGES = (_RECORD, replace(_RECORD, name="svelte", suffixes="svelte"))
