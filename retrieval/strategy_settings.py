"""The settings after a strategy's name: `as_printed,navigate=false`.

Owns the syntax and the types of values. Knows no strategy: `retrieve` and `memory/strategies.py` do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ..errors import InvalidArgument

AS_PRINTED = "as_printed"
"""The name of the preset with what a paper prints."""


def read_settings(given: str) -> tuple[bool, dict[str, Any]]:
    """Whether the preset is named, and the values by setting. Raises InvalidArgument for anything else."""
    is_printed, values = False, dict[str, Any]()
    for part in filter(None, map(str.strip, given.split(","))):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals and name != AS_PRINTED:
            raise InvalidArgument(
                f"{name!r} is neither a setting with its value nor a preset. Write `setting=value` or `{AS_PRINTED}`."
            )
        if equals:
            values[name] = _read_value(value)
        else:
            is_printed = True
    return is_printed, values


def _read_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # a word


def changed_settings(name: str, settings: Any, values: Mapping[str, Any], *, not_here: Sequence[str] = ()) -> Any:
    """The settings of a strategy, a frozen dataclass, with some values changed.

    Only numbers, words, switches and null can be written; `not_here` are fields that are set otherwise. Raises
    InvalidArgument for an unknown setting or a wrong value, with what there is instead.
    """
    hints = get_type_hints(type(settings))
    known = [field.name for field in fields(settings) if _is_plain(hints[field.name]) and field.name not in not_here]
    for setting, value in values.items():
        if setting not in known:
            raise InvalidArgument(
                f"`{name}` has no setting `{setting}`. Use one of {', '.join((AS_PRINTED, *not_here, *known))}."
            )
        if not _accepts(hints[setting], value):
            raise InvalidArgument(
                f"`{name}` takes no {setting}={json.dumps(value)}. Give {_described(hints[setting])}."
            )
    try:
        return replace(settings, **values)
    except ValueError as error:
        raise InvalidArgument(str(error)) from error


_PLAIN: dict[type, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a word"),
    NoneType: ((NoneType,), "null"),
}
"""The types of settings that can be written, each with the types of its values and their description."""


def _parts(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_plain(hint: Any) -> bool:
    return all(part in _PLAIN or get_origin(part) is Literal for part in _parts(hint))


def _accepts(hint: Any, value: Any) -> bool:
    for part in _parts(hint):
        if get_origin(part) is Literal:
            if value in get_args(part):
                return True
        elif isinstance(value, _PLAIN[part][0]) and (part is bool or not isinstance(value, bool)):
            return True
    return False


def _described(hint: Any) -> str:
    words = [
        ", ".join(json.dumps(value) for value in get_args(part)) if get_origin(part) is Literal else _PLAIN[part][1]
        for part in _parts(hint)
    ]
    return " or ".join(words)
