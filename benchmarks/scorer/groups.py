"""Groups of features that can be left out of a fit, to measure what each adds.

Owns their names. A token that only a suggestion names stays a candidate without the features of its source.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from ...llm.protocol import SUGGESTION_SOURCES
from ...llm.workspace_model.features import FEATURES, ROLES, SCOPES, SUGGESTED, SUGGESTING

_ARGUMENTS, _MEMBERS, _OTHERS = SUGGESTING
_PROGRESS = ("suggested further", "suggested end")
_NO_MEMBER = "no member of the receiver"

BRACKETS = (
    *("closes the innermost bracket", "closes no open bracket"),
    *("open round brackets", "open other brackets", "in a string"),
)

GROUPS: Mapping[str, tuple[str, ...]] = {
    **dict(zip(SUGGESTION_SOURCES, ((feature,) for feature in SUGGESTED), strict=True)),
    "member": ("suggested member", _MEMBERS, _NO_MEMBER),
    "call": ("suggested argument", "suggested arguments", _ARGUMENTS),
    "no-member": (_NO_MEMBER,),
    "suggested": (*SUGGESTED, *_PROGRESS, *SUGGESTING, _NO_MEMBER),
    "roles": ROLES,
    "brackets": (*BRACKETS, *SCOPES),
    "scopes": SCOPES,
    "token-model": ("token model", "token model, unlikely", "best share of the token model"),
    "words": ("occurrences in other files", "characters of the word"),
    "graph": (*SUGGESTED, *_PROGRESS, *SUGGESTING, _NO_MEMBER, *ROLES),
}
"""Features by group: one group for each source of suggestions, both sources of arguments ("call"), all suggestions,
the roles of names, the open brackets and the scope, the token model, the counts of words, and everything from the code
graph."""


def mask_of(groups: Collection[str]) -> NDArray[np.float32]:
    """(n_features,): 0 for the features of the groups, 1 for all others. Raises KeyError for an unknown group."""
    left_out = {feature for group in groups for feature in GROUPS[group]}
    return np.array([feature not in left_out for feature in FEATURES], np.float32)
