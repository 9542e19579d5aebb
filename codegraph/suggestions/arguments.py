"""The next argument of the call at a cursor, and all arguments that are left.

Owns which parameters a call gives, in which order, by position or by keyword, and their weights. Sources: the header of
the callee, names around the cursor, and the arguments that other calls pass.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ..parameters import Parameter
from .argument_values import locals_at_hand, values_for
from .call_target import Target, target_of
from .cursor_facts import CursorFacts, words_of
from .open_call import OpenCall, open_call
from .usual_arguments import Call
from .values import Suggested, weighted

N_VALUES = 10
"""Values of one parameter."""
N_COMBINED = 4
"""Values of one parameter in whole lists."""
N_BEST = 6
"""Lists of arguments that are continued with the next one."""
N_WHOLE = 12
"""Suggestions of whole lists of arguments."""
FIRST_KEYWORD = 3
"""From this index on a parameter is often given by its keyword."""
STRONG = 0.45
"""An optional parameter with a value of this weight is often given."""
USUAL = 0.85
"""Share of the values that other calls pass."""
ALIKE, LATE = 0.5, 0.25
"""Shares of values of other calls in which a name is replaced by a local: one with a word of it, and a late one."""
MAX_VALUE = 70
"""Characters of a value of another call."""


class Slot(NamedTuple):
    """An argument of a plan: the number of its parameter, from 0, and whether it is written with the keyword."""

    number: int
    with_keyword: bool


Plan = tuple[Slot, ...]
"""The arguments that are left."""


def arguments(facts: CursorFacts, written: str) -> list[Suggested]:
    """Suggestions where an argument of a call of a known function or type begins; none elsewhere."""
    call = open_call(facts, written)
    if call is None:
        return []
    line = written.rpartition("\n")[2]
    target = target_of(facts, call, line)
    if target is None:
        return []
    return _Writer(facts, call, target, line).suggestions()


class _Writer:
    """The suggestions for one open call."""

    def __init__(self, facts: CursorFacts, call: OpenCall, target: Target, line: str) -> None:
        assert facts.language.call_syntax is not None
        self._facts = facts
        self._syntax = facts.language.call_syntax
        self._call = call
        self._target = target
        self._line = line

    def suggestions(self) -> list[Suggested]:
        call = self._call
        if call.keyword:
            return self._value_of_keyword()
        if call.has_lines and call.is_behind_comma:
            return [Suggested("argument", "\n", 0.9)]
        plans = self._plans()
        whole = [] if call.has_lines else self._whole(plans)
        return [*self._next(plans), *whole]

    def _value_of_keyword(self) -> list[Suggested]:
        names = [self._keyword(each) for each in self._target.parameters]
        if self._call.keyword not in names:
            return []
        found = self._values_of(names.index(self._call.keyword))
        end = ",\n" if self._call.has_lines else ""
        texts = [(f"{self._call.space}{_ended(text, end)}", weight) for text, weight in found]
        return weighted("argument", texts, min(0.95, sum(weight for _, weight in found)))

    # Plans

    def _plans(self) -> dict[Plan, float]:
        """The lists of arguments that may be left, with weights that sum to 1."""
        found: Counter[Plan] = Counter()
        total = 0.0
        for call, weight in self._target.calls:
            plan = self._plan_of(call)
            if plan is not None:
                found[plan] += weight  # type: ignore[assignment]
                total += weight
        for plan, weight in self._default_plans():
            found[plan] += weight  # type: ignore[assignment]
            total += weight
        return {plan: weight / total for plan, weight in found.most_common(8)} if total else {}

    def _plan_of(self, call: Call) -> Plan | None:
        """What is left of the arguments of another call, if it begins like this one."""
        slots = self._slots(call)
        given = self._slots(self._call.given)
        if slots is None or given is None or len(slots) < len(given):
            return None
        left = [slot for slot in slots if slot.number not in {each.number for each in given}]
        return tuple(left) if len(left) + len(given) == len(slots) else None

    def _slots(self, call: Call) -> list[Slot] | None:
        """The parameters that the arguments of a call are for; None if there is another argument."""
        found = []
        parameters = self._target.parameters
        names = [self._keyword(each) for each in parameters]
        positional = [at for at, each in enumerate(parameters) if each.takes_position]
        for number, argument in enumerate(call):
            if argument.keyword:
                if argument.keyword not in names:
                    return None
                found.append(Slot(names.index(argument.keyword), True))
            elif number < len(positional):
                found.append(Slot(positional[number], False))
            else:
                return None
        return found

    def _default_plans(self) -> list[tuple[Plan, float]]:
        given = self._slots(self._call.given)
        if given is None:
            return []
        parameters, seen = self._target.parameters, {slot.number for slot in given}
        left = [at for at in range(len(parameters)) if at not in seen]
        by_keyword = any(slot.with_keyword for slot in given)
        required = [at for at in left if parameters[at].is_required]
        if self._call.is_literal:
            required = required[:1] if len(required) > 6 else required
        found: list[tuple[Plan, float]] = [(self._in_style(required, by_keyword), 0.5 if required else 0.35)]
        if len(required) > 1 and not by_keyword and self._has_keywords:
            likely = self._call.has_lines or len(required) > FIRST_KEYWORD
            found.append((self._in_style(required, True), 0.3 if likely else 0.1))
        optional = [at for at in left if not parameters[at].is_required and parameters[at].name.isidentifier()]
        strong = [at for at in optional if any(weight >= STRONG for _, weight in self._values_of(at)[:1])]
        if strong:
            found.append((self._in_style(sorted({*required, *strong[:3]}), by_keyword), 0.4))
            if len(strong) > 1:
                found.append((self._in_style(sorted({*required, strong[0]}), by_keyword), 0.15))
        if strong and strong[0] == len(self._call.given) and not by_keyword and parameters[strong[0]].takes_position:
            found.append(((Slot(strong[0], False),), 0.3))
        elif optional and not strong:
            found.append((self._in_style(sorted({*required, optional[0]}), by_keyword), 0.15))
            for at in optional[1:6] if self._has_keywords else ():
                found.append((self._in_style(sorted({*required, at}), by_keyword), 0.03))
        return found

    def _in_style(self, indices: Sequence[int], by_keyword: bool) -> Plan:
        """Slots for parameters: by position as long as it is possible and usual."""
        parameters = self._target.parameters
        slots = []
        expected = len(self._call.given)
        for index in indices:
            parameter = parameters[index]
            must = not parameter.takes_position or index != expected or by_keyword or self._call.is_literal
            can = self._has_keywords and parameter.takes_keyword and bool(parameter.name)
            with_keyword = can and (must or not parameter.is_required or index >= FIRST_KEYWORD + 2)
            if self._syntax.has_labels and not self._call.is_literal:
                with_keyword = parameter.label != "_"
            if must and not with_keyword and index != expected:
                break
            expected += 1
            by_keyword = by_keyword or (with_keyword and not self._syntax.has_labels)
            slots.append(Slot(index, with_keyword))
        return tuple(slots)

    @property
    def _has_keywords(self) -> bool:
        return bool(self._syntax.keyword_sign) or self._call.is_literal

    # Texts

    def _next(self, plans: dict[Plan, float]) -> list[Suggested]:
        call = self._call
        texts: list[tuple[str, float]] = []
        closer = "}" if call.is_literal else ")"
        for plan, share in plans.items():
            if not plan:
                if not call.is_behind_comma and not call.has_lines:
                    texts.append((closer, share * 0.9))
                continue
            slot = plan[0]
            sign = self._sign(slot)
            end = ""
            if call.has_lines:
                has_comma = (self._syntax.has_trailing_comma and sign != "..") or len(plan) > 1
                end = ",\n" if has_comma else "\n"
            rest = 1.0
            for text, weight in self._values_of(slot.number):
                texts.append((f"{call.space}{sign}{_ended(text, end)}", share * weight))
                rest -= weight
            if sign and rest > 0.05:
                texts.append((f"{call.space}{sign.rstrip()}", share * rest * 0.9))
        return weighted("argument", texts, min(0.95, sum(weight for _, weight in texts)))

    def _whole(self, plans: dict[Plan, float]) -> list[Suggested]:
        """All arguments that are left, with the closing bracket."""
        call = self._call
        closer = (" }" if self._syntax.has_spaced_literals else "}") if call.is_literal else ")"
        texts: list[tuple[str, float]] = []
        for plan, share in plans.items():
            if not plan and (call.is_behind_comma or call.has_lines):
                continue
            best: list[tuple[tuple[str, ...], float]] = [((), share)]
            for slot in plan:
                values = self._values_of(slot.number)[:N_COMBINED]
                grown = []
                for texts_so_far, weight in best:
                    if texts_so_far and texts_so_far[-1].endswith("\n"):
                        continue
                    for text, value_weight in values:
                        is_again = any(each.removeprefix(self._sign(slot)) == text for each in texts_so_far)
                        factor = 0.15 if is_again and re.fullmatch(r"[\w.]+", text) else 1.0
                        grown.append(((*texts_so_far, self._sign(slot) + text), weight * value_weight * factor))
                best = sorted(grown, key=lambda item: -item[1])[:N_BEST]
            for each, weight in best:
                if each or not plan:
                    texts.append((f"{call.space}{_ended(', '.join(each), closer)}", weight))
        texts.sort(key=lambda item: -item[1])
        total = min(0.95, sum(weight for _, weight in texts))
        return weighted("arguments", texts[:N_WHOLE], total) if texts else []

    def _sign(self, slot: Slot) -> str:
        if not slot.with_keyword:
            return ""
        keyword = self._keyword(self._target.parameters[slot.number])
        if not keyword.isidentifier():
            return keyword  # `**` of a spread argument
        sign = ": " if self._call.is_literal else self._syntax.keyword_sign
        return f"{keyword}{sign}"

    def _keyword(self, parameter: Parameter) -> str:
        return parameter.label or parameter.name

    def _values_of(self, index: int) -> list[tuple[str, float]]:
        """The values for a parameter, best first, with weights that sum to at most 0.95."""
        target = self._target
        which = f"{index} {target.parameters[index].name} {len(target.parameters)} {self._call.callee}"
        key = "values", *target.owner, which, self._facts.within(self._line)
        return self._facts.remembered(*key, find=lambda: self._rank_values(index))

    def _rank_values(self, index: int) -> list[tuple[str, float]]:
        parameter = self._target.parameters[index]
        found: dict[str, float] = {}
        if not parameter.name or parameter.name.isidentifier():
            found = values_for(self._facts, parameter, self._target.owner, self._line, self._call.callee)
        usual: Counter[str] = Counter()
        total = 0.0
        for call, weight in self._target.calls:
            slots = self._slots(call)
            given = next((call[at] for at, slot in enumerate(slots or ()) if slot.number == index), None)
            text = given.text if given is not None else ""
            if text and "\n" not in text[:-1]:
                total += weight
                for adapted, share in self._adapted(text):
                    if given is not None and adapted != text and given.keyword in _SPREAD_SIGNS:
                        continue
                    usual[adapted] += weight * share  # type: ignore[assignment]
        for text, weight in usual.items():
            found[text] = found.get(text, 0.0) * 0.7 + USUAL * weight / (total + 0.3)
        whole = sum(found.values())
        factor = min(1.0, 0.95 / whole) if whole else 1.0
        ranked = sorted(found.items(), key=lambda item: -item[1])[:N_VALUES]
        return [(text, weight * factor) for text, weight in ranked]

    def _adapted(self, text: str) -> list[tuple[str, float]]:
        """An argument of another call as it may be written here, and how likely.

        If one name of it is unknown at the cursor, that is replaced by a local: one with a word of it, or a late one.
        """
        bare = _STRINGS.sub(lambda found: '"' * len(found[0]), text)
        if len(text) > MAX_VALUE or len(_OPENS_TYPES.findall(bare)) != len(_CLOSES_TYPES.findall(bare)):
            return []
        unknown = self._unknown_names(bare)
        if not unknown:
            return [(text, 1.0)]
        if len(unknown) > 1:
            return []
        (name,) = unknown
        uses = [found.span(1) for found in self._free_names.finditer(bare) if found[1] == name]
        found = []
        for other, share in self._replacements(name):
            adapted = text
            for start, end in reversed(uses):
                adapted = f"{adapted[:start]}{other}{adapted[end:]}"
            found.append((adapted, share))
        return found

    @property
    def _free_names(self) -> re.Pattern[str]:
        return _VARIABLES if self._facts.language.name == "php" else _FREE_NAMES

    def _unknown_names(self, bare: str) -> set[str]:
        """The names of an expression that are unknown at the cursor."""
        bound = {name for group in _LAMBDA.findall(bare) for each in group for name in _NAME.findall(each)}
        facts, own = self._facts, self._facts.language.own_object.split()
        unknown = set()
        for name in self._free_names.findall(bare):
            if name in own:
                if facts.object_around(self._line) is None:
                    unknown.add(name)
            elif name not in bound and not _KEYWORDS.fullmatch(name):
                role = facts.role_of(name, self._line)
                if role in ("not bound", "") or (role == "in the file" and facts.is_closed_name(name)):
                    unknown.add(name)
        return unknown

    def _replacements(self, name: str) -> list[tuple[str, float]]:
        """Locals that may be meant here by a name of other code."""
        words = {*words_of(name)}
        own = self._facts.language.own_object.split()
        late = [each for each in locals_at_hand(self._facts, self._line) if each not in own]
        alike = [each for each in late if words & {*words_of(each)}][:2]
        return [(each, ALIKE) for each in alike] or [(each, LATE) for each in late[:1]]


def _ended(text: str, end: str) -> str:
    """An argument or arguments with what follows; one that opens a block ends its line itself."""
    return text if text.endswith("\n") else f"{text}{end}"


_SPREAD_SIGNS = frozenset({"*", "**", "...", ".."})
_OPENS_TYPES, _CLOSES_TYPES = re.compile(r"<(?=\S)"), re.compile(r"(?<=[^\s=-])>")
_NAME = re.compile(r"[^\W\d]\w*")
_LAMBDA = re.compile(r"\blambda\b([^:]*):|(\([^()]*\)|\w+)\s*[-=]>|\|([^|]*)\||\bfunc\b\s*(\([^()]*\))")
_FREE_NAMES = re.compile(r"(?<![\w.$'\"])([^\W\d]\w*)(?!\w|\s*=(?![=>])|\??:(?!:))")
_VARIABLES = re.compile(r"(?<=\$)([^\W\d]\w*)")
_STRINGS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
_KEYWORDS = re.compile(
    r"if|else|for|in|not|and|or|is|new|await|async|typeof|as|b|f|r|rb|br|u|mut|ref|out|true|false|null|nil|func"
    r"|function|lambda|move|return|void"
)
