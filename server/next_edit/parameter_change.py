"""How the parameters of a function changed, and what becomes of the arguments of a call.

Owns the pairing of old and new parameters, and the rewriting of arguments. Knows no text and no file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...codegraph.parameters import Parameter

Filler = Callable[[Parameter], str]
"""The text of an argument for a new parameter."""


class Argument(NamedTuple):
    """An argument as written. `keyword` is "" for one by position, `value` the text without the keyword."""

    text: str
    keyword: str
    value: str
    spreads: bool = False


@dataclass(frozen=True)
class ParameterChange:
    """Two lists of parameters. `origins` has for each new parameter the index of the old one, None for an added one."""

    old: tuple[Parameter, ...]
    new: tuple[Parameter, ...]
    origins: tuple[int | None, ...]

    @classmethod
    def between(cls, old: Sequence[Parameter], new: Sequence[Parameter]) -> ParameterChange:
        """Parameters of one name are paired, then what stands alone between equal neighbours."""
        names = [each.name for each in old]
        origins = [names.index(each.name) if each.name in names else None for each in new]
        left = [at for at in range(len(old)) if at not in origins]
        if len(old) == len(new):
            for at in left:
                if origins[at] is None:
                    origins[at] = at
        return cls(tuple(old), tuple(new), tuple(origins))

    @property
    def added(self) -> list[Parameter]:
        return [each for each, origin in zip(self.new, self.origins, strict=True) if origin is None]

    @property
    def removed(self) -> list[Parameter]:
        return [each for at, each in enumerate(self.old) if at not in self.origins]

    @property
    def renamed(self) -> dict[str, str]:
        pairs = zip(self.new, self.origins, strict=True)
        return {self.old[at].name: each.name for each, at in pairs if at is not None and self.old[at].name != each.name}

    @property
    def changes_calls(self) -> bool:
        """Whether a call may have to change."""
        return _for_calls(self.old) != _for_calls(self.new)

    def sentence(self, name: str) -> str:
        """What happened, for a person."""
        parts = [f"`{name}` "]
        if self.added:
            parts.append(f"takes {_listed(self.added)} now")
        elif self.removed:
            parts.append(f"takes no {_listed(self.removed)} any more")
        elif self.renamed:
            parts.append(" and ".join(f"has `{new}` for `{old}` now" for old, new in self.renamed.items()))
        elif [each.name for each in self.old] != [each.name for each in self.new]:
            parts.append("has its parameters in another order now")
        else:
            parts.append("takes its arguments in another way now")
        return f"{''.join(parts)}."

    def arguments(self, written: Sequence[Argument], fill: Filler, keyword_sign: str) -> list[str] | None:
        """The arguments of a call as they have to be now; None if they do not fit the old parameters.

        `keyword_sign` is written between a keyword and its argument, "" in a language without keywords.
        """
        bound = self._bound(written)
        if bound is None:
            return None
        by_position: list[str] = []
        keywords: dict[int, str] = {}  # by number of the written argument
        added: list[str] = []
        is_open = True  # the next argument can be given by position
        for parameter, origin in zip(self.new, self.origins, strict=True):
            number = None if origin is None else bound.get(origin)
            if number is None:
                was_required = origin is not None and self.old[origin].is_required
                if not parameter.is_required or was_required:
                    is_open = False
                    continue
                value, keyword = fill(parameter), ""
            else:
                value, keyword = written[number].value, written[number].keyword
            if is_open and not keyword and parameter.takes_position:
                by_position.append(value)
                continue
            if not keyword_sign:
                if is_open:
                    by_position.append(value)
                    continue
                return None  # an optional argument before it would have to be given
            is_open = is_open and not keyword
            text = f"{parameter.name}{keyword_sign}{value}"
            if number is None:
                added.append(text)
            else:
                keywords[number] = text
        return [*by_position, *self._rest(written), *(keywords[number] for number in sorted(keywords)), *added]

    def _bound(self, written: Sequence[Argument]) -> dict[int, int] | None:
        """Which written argument each old parameter has."""
        if any(each.spreads for each in written):
            return None
        by_position = [at for at, each in enumerate(self.old) if each.takes_position]
        names = {each.name: at for at, each in enumerate(self.old)}
        bound: dict[int, int] = {}
        for number, each in enumerate(written):
            if each.keyword:
                if each.keyword in names:
                    bound[names[each.keyword]] = number
            elif number < len(by_position):
                bound[by_position[number]] = number
            else:
                return None
        return bound

    def _rest(self, written: Sequence[Argument]) -> list[str]:
        """Keywords that no old parameter has: those of `**kwargs`."""
        names = {each.name for each in self.old}
        return [each.text for each in written if each.keyword and each.keyword not in names]


def _for_calls(parameters: Sequence[Parameter]) -> list[tuple[object, ...]]:
    return [(each.name, each.is_required, each.takes_position, each.takes_keyword, each.label) for each in parameters]


def _listed(parameters: Sequence[Parameter]) -> str:
    return " and ".join(f"`{each.name}`" for each in parameters[:3])
