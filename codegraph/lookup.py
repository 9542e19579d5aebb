"""Questions about names, what their answers depend on, and the answers that are kept.

Owns the record of what was asked, the memo of a snapshot, and the way out of cycles. Knows no language:
`python_names` and `plain_names` ask on this ground.
"""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable, Set
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from .modules import ModuleQuestion
from .symbols import Symbols, family

MIN_UNIQUE_LENGTH = 4
_BUILTIN_TYPES = (str, bytes, list, dict, set, tuple, int, float, type, object, BaseException, io.TextIOWrapper)
_EVERYDAY_VERBS = """
    apply build call check clean clear config create data debug delete execute exit fetch filter find forward
    from_dict generate handle info init initialize load load_state_dict log main make merge name next parse
    post predict print process push reduce register remove render report request reset resolve result run save
    send setup shape show size start state_dict status step stop submit summary test to_dict train transform
    unregister validate values warn warning
"""
EVERYDAY_NAMES = frozenset(_EVERYDAY_VERBS.split()).union(*(dir(kind) for kind in _BUILTIN_TYPES))
"""Names that are too common to be guessed from: methods of the built-in types, and everyday verbs."""

BUILTIN_NAMES = frozenset(dir(builtins))

# Chains of names longer than this are left unresolved; real code needs a handful of steps.
_MAX_STEPS = 40


class Target(NamedTuple):
    """A definition that a name leads to."""

    path: str
    qualified_name: str
    how: str  # one of resolve.HOW


class Part(NamedTuple):
    """One name of a dotted text, and how many times it is called there: `Shop().pay` is Shop once, pay not."""

    name: str
    n_calls: int


Question: TypeAlias = tuple[str, ...]
"""What an answer can depend on, told apart by length: (path, name) asks what a qualified name of a file stands
for, a `ModuleQuestion` which files a module is, and (key,) which place is the only one with a `unique_key`."""


class Remembered:
    """An answer with the questions it depends on. `height` is the longest chain of answers below it."""

    __slots__ = ("_paths", "answer", "asked", "height")

    def __init__(self, answer: object, asked: Set[Question], height: int) -> None:
        self.answer = answer
        self.asked = asked
        self.height = height
        self._paths: frozenset[str] | None = None

    def paths(self) -> frozenset[str]:
        """The files that were asked for a name."""
        if self._paths is None:
            self._paths = frozenset(question[0] for question in self.asked if len(question) == 2)
        return self._paths


Key: TypeAlias = tuple[str, ...]


class Memo:
    """Answers that hold as long as nothing they depend on changes. Readers in several threads may share one."""

    __slots__ = ("_answers",)

    def __init__(self, answers: dict[Key, Remembered] | None = None) -> None:
        self._answers = {} if answers is None else answers

    def get(self, key: Key) -> Remembered | None:
        return self._answers.get(key)

    def put(self, key: Key, remembered: Remembered) -> None:
        self._answers[key] = remembered

    def module_questions(self) -> set[Question]:
        """The modules that the answers depend on."""
        return {question for known in list(self._answers.values()) for question in known.asked if len(question) == 3}

    def without(self, is_doubtful: Callable[[Remembered], bool]) -> Memo:
        """The answers but the doubtful ones."""
        return Memo({key: known for key, known in list(self._answers.items()) if not is_doubtful(known)})


class MemoBeside(Memo):
    """The memo of a snapshot in which only `path` differs from another: what does not need that file is shared.

    `new_names` are names of modules that the file has there and not in the other snapshot: star imports may bring
    them to anyone, so answers about such a name are not shared.
    """

    __slots__ = ("_new_names", "_other", "_path")

    def __init__(self, other: Memo, path: str, new_names: Set[str]) -> None:
        super().__init__()
        self._other, self._path, self._new_names = other, path, new_names

    def get(self, key: Key) -> Remembered | None:
        found = self._answers.get(key)
        if found is None:
            found = self._other.get(key)
            if found is not None and not self._is_shared(found):
                return None
        return found

    def put(self, key: Key, remembered: Remembered) -> None:
        if self._is_shared(remembered):
            self._other.put(key, remembered)
        else:
            self._answers[key] = remembered

    def take_over(self, previous: Memo, is_doubtful: Callable[[Remembered], bool]) -> None:
        """Begin with what another such memo knows apart from the shared answers; nothing when its names differ."""
        if isinstance(previous, MemoBeside) and previous._new_names == self._new_names:
            self._answers = {key: known for key, known in list(previous._answers.items()) if not is_doubtful(known)}

    def _is_shared(self, remembered: Remembered) -> bool:
        if self._path in remembered.paths():
            return False
        return not self._new_names or not any(question[-1] in self._new_names for question in remembered.asked)


class Sources(Protocol):
    """What resolution reads of a snapshot."""

    @property
    def memo(self) -> Memo: ...

    def symbols(self, path: str) -> Symbols | None: ...

    def find_module(self, question: ModuleQuestion) -> tuple[str, ...]: ...

    def places_named(self, key: str) -> tuple[str, ...]: ...


_T = TypeVar("_T")


class Lookup:
    """One pass of questions to one snapshot, by one thread. `asked` is what the answers so far depend on."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.symbols = sources.symbols
        self.shared = sources.memo
        self.local = Memo()  # answers about locals, of no use to other files
        self.asked: set[Question] = set()
        # Answers on the way to the present one, and those that ran into such an answer: a cycle gives
        # nothing, and what ran into it holds for the present question only (see `remember`).
        self._open: dict[Key, object] = {}
        self._cut = False
        self._depth = 0
        self._height = 0

    def module(self, kind: str, directory: str, module: str) -> tuple[str, ...]:
        """The files of a module as imported in a directory; see `ModuleQuestion`."""
        question = ModuleQuestion(kind, directory, module)
        self.asked.add(question)
        return self._sources.find_module(question)

    def unique(self, language: str, name: str) -> Target | None:
        """The definition of a name that only one definition of the repository has."""
        key = unique_key(language, name)
        if key is None:
            return None
        self.asked.add((key,))
        places = self._sources.places_named(key)
        if len(places) != 1:
            return None
        path, _, qualified_name = places[0].partition("\0")
        return Target(path, qualified_name, "unique name")

    def remember(self, memo: Memo, key: Key, compute: Callable[..., _T | None], *arguments: object) -> _T | None:
        """`compute(*arguments)`, or what it gave before.

        An answer that ran into a question still open is kept only until that question is settled, because
        another order of questions can give another answer; so every answer is a function of the snapshot.
        """
        known = memo.get(key)
        if known is not None and self._depth + known.height < _MAX_STEPS:
            self.asked |= known.asked
            self._height = max(self._height, known.height)
            return known.answer  # type: ignore[return-value]
        if key in self._open or self._depth >= _MAX_STEPS:
            self._cut = True
            return self._open.get(key)  # type: ignore[return-value]
        outer, outer_cut, outer_height = self.asked, self._cut, self._height
        self.asked, self._cut, self._height = set(), False, 0
        self._open[key] = None
        self._depth += 1
        answer = compute(*arguments)
        self._depth -= 1
        height = self._height + 1
        if self._cut:
            self._open[key] = answer
        else:
            del self._open[key]
            memo.put(key, Remembered(answer, self.asked, height))
        outer |= self.asked
        self.asked, self._cut, self._height = outer, self._cut or outer_cut, max(outer_height, height)
        if self._depth == 0:
            self._open.clear()
            self._cut = False
            self._height = 0
        return answer


@lru_cache(maxsize=8192)
def parse_dotted(dotted: str) -> tuple[Part, ...]:
    """The names of a dotted text with their calls."""
    return tuple(Part(text.rstrip("()"), text.count("()")) for text in dotted.split("."))


def unique_key(language: str, name: str) -> str | None:
    """Under what a name is listed for the last resort; None for names that are too short or too common to guess."""
    if len(name) < MIN_UNIQUE_LENGTH or name in EVERYDAY_NAMES:
        return None
    return f"{family(language)} {name}"
