"""Filter stage of Segment+: a model labels each note; empty notes are dropped without a call.

Knows no other stage.
"""

from __future__ import annotations

from ...llm.protocol import Cancel
from ..json_repair import read_json
from ..metered_model import Call, MeteredModel
from .notes import Note
from .prompts import FILTER

LABEL_TOKENS = 32


def is_kept(model: MeteredModel, question: str, note: Note, shown: str, cancel: Cancel | None = None) -> bool:
    """Whether the model labels a note "keep"; `shown` is the note as text. An invalid label keeps it. Raises
    ModelError.
    """
    if note.is_empty:
        return False
    prompt = FILTER.format(question=question, note=shown)
    return _label(model.ask(Call.of("filter", prompt, max_new_tokens=LABEL_TOKENS), cancel)) != "remove"


def _label(text: str) -> str:
    try:
        value = read_json(text)
    except ValueError:
        value = text
    if isinstance(value, dict):
        value = next((said for name, said in value.items() if str(name).lower() == "label"), "")
    return str(value).strip().strip(".").lower()
