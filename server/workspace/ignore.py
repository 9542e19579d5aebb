"""Ignore rules: gitignore semantics, overridden by `.weftignore`.

Layers, in increasing precedence: built-in exclusions (`SKIPPED_FOLDERS`), `.git/info/exclude`, `.gitignore` files from
the repository's root down, the settings' patterns, `.weftignore` files from the workspace's root down. In a layer the
last matching line wins. A rule applies to the entry that it matches; entries below a folder follow that folder. As in
git, a git rule cannot re-include entries below an ignored folder. A `.weftignore` rule can if it is anchored:
`!vendor/schema/*.py` finds its files although `vendor/` is ignored, while a bare `!*.py` does not cause a search of
`node_modules`.

Owns the rules and their evaluation. Only reads ignore files: git itself is never run, because a repository's
configuration can make it start programs. Knows nothing about sizes, contents or secrets.

Patterns are not matched by a library, because a rule must match the entry itself (libraries match the entry or any
folder above it), and because an index of the literals in the patterns makes thousands of lines about as fast as a few.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...errors import ControlFlow
from ...llm.disk import read_regular
from .ignore_patterns import PathPattern, Segment, parse_pattern

GIT_RULES = ".gitignore"
WEFT_RULES = ".weftignore"
ENVIRONMENT_MARK = "pyvenv.cfg"
CACHE_MARK = "CACHEDIR.TAG"
REPOSITORY = ".git"

RULE_NAMES = frozenset({GIT_RULES, WEFT_RULES, ENVIRONMENT_MARK, CACHE_MARK, REPOSITORY})
"""Names whose creation, change or removal in a folder may change which of its entries are included."""

VERSION_CONTROL_FOLDERS = frozenset({".git", ".hg", ".svn", ".bzr", ".jj", "_darcs", "CVS"})
"""Never entered, regardless of rules: they contain configuration, credentials and copies of files."""

SKIPPED_FOLDERS = frozenset(
    {
        *("node_modules", "bower_components", "jspm_packages", "site-packages", "__pycache__", "__pypackages__"),
        *(".venv", ".tox", ".nox", ".eggs", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis"),
        *(".ipynb_checkpoints", ".gradle", ".terraform", ".next", ".nuxt", ".svelte-kit", ".parcel-cache"),
        *(".turbo", ".idea", ".vs", ".cache", "DerivedData"),
    }
)
"""Excluded unless `.weftignore` re-includes them, as are virtual environments, tagged caches and package metadata."""

SKIPPED_FOLDER_SUFFIXES = (".dist-info", ".egg-info")

MAX_RULES_BYTES = 2_000_000
"""Size limit of one ignore file. Nothing in the folder of a larger one is indexed, since its rules are not read."""

MAX_PATTERN_LENGTH = 1_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of the rules for one entry."""

    included: bool
    named: bool = False  # a `.weftignore` line or a setting re-includes exactly this entry
    must_enter: bool = False  # a folder that is included, or that a rule may re-include something below


@dataclass(frozen=True)
class FolderRules:
    """The rules that apply in one folder. Immutable: evaluate its entries, then `enter` a sub-folder."""

    path: str  # from the top, the root of the repository around the workspace; "" or with a slash at the end
    included: bool
    git: tuple[RuleFile, ...]  # strongest first
    weft: tuple[RuleFile, ...]
    unusable: str = ""  # the name of an ignore file in this folder that is too large to read

    @property
    def worth_walking(self) -> bool:
        """Whether anything in this folder can belong to the workspace."""
        return self.included or any(rules.may_include_below(self.path[:-1]) for rules in self.weft)

    def evaluate(self, name: str, is_folder: bool) -> Verdict:
        """Whether the entry `name` of this folder belongs to the workspace."""
        if name == REPOSITORY or (is_folder and name in VERSION_CONTROL_FOLDERS):
            return _NEVER
        path = self.path + name
        for rules in self.weft:
            rule = rules.last_match(path, name, is_folder, anchored_only=not self.included)
            if rule is None:
                continue
            # `!*/` reverts other lines of `.weftignore`; it does not override git's or the built-in rules.
            if rule.negated and rule.is_only_wildcards:
                break
            return _NAMED if rule.negated else self._excluded(path, is_folder)
        if not self.included:
            return self._excluded(path, is_folder)
        if is_folder and (name in SKIPPED_FOLDERS or name.endswith(SKIPPED_FOLDER_SUFFIXES)):
            return self._excluded(path, is_folder)
        for rules in self.git:
            rule = rules.last_match(path, name, is_folder, anchored_only=False)
            if rule is not None:
                return _INCLUDED if rule.negated else self._excluded(path, is_folder)
        return _INCLUDED

    def enter(self, disk_path: str, name: str, verdict: Verdict, names: Collection[str]) -> FolderRules:
        """The rules of the sub-folder `name`, which is at `disk_path` and contains `names`.

        Only members of `RULE_NAMES` among `names` matter. Ignore files in an excluded folder are not read.
        """
        path = f"{self.path}{name}/"
        included = verdict.included and (verdict.named or not (ENVIRONMENT_MARK in names or CACHE_MARK in names))
        if not included:
            return FolderRules(path, False, self.git, self.weft)
        # A nested repository has its own rules, as in git.
        git = () if REPOSITORY in names else self.git
        try:
            git, weft = _git_rules(disk_path, path, names) + git, _weft_rules(disk_path, path, names) + self.weft
        except _TooLarge as error:
            return FolderRules(path, False, (), (), unusable=error.name)
        return FolderRules(path, True, git, weft)

    def _excluded(self, path: str, is_folder: bool) -> Verdict:
        if is_folder and any(rules.may_include_below(path) for rules in self.weft):
            return _EXCLUDED_BUT_ENTER
        return _EXCLUDED


_INCLUDED = Verdict(True, must_enter=True)
_NAMED = Verdict(True, named=True, must_enter=True)
_EXCLUDED = Verdict(False)
_EXCLUDED_BUT_ENTER = Verdict(False, must_enter=True)
_NEVER = Verdict(False)


def open_root(root: Path, exclude: Sequence[str] = (), include: Sequence[str] = ()) -> FolderRules:
    """The rules at the root of a workspace folder, which is always included.

    If the folder is inside a repository, the rules from that repository's root down to it apply too. `exclude` and
    `include` are the settings' patterns; they apply like lines at the top of the root's `.weftignore`.
    """
    names = rule_names(str(root))
    try:
        path, git = ("", ()) if REPOSITORY in names else _rules_above(root)
        settings = RuleFile.parse(path, [*exclude, *(f"!{pattern}" for pattern in include)])
        weft = _weft_rules(str(root), path, names) + ((settings,) if settings.rules else ())
        return FolderRules(path, True, _git_rules(str(root), path, names) + git, weft)
    except _TooLarge as error:
        return FolderRules("", False, (), (), unusable=error.name)


def matches(patterns: Sequence[str], path: str) -> bool:
    """Whether ignore patterns match a relative path or a folder above it. Does not access the disk."""
    rules = RuleFile.parse("", patterns)
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        rule = rules.last_match("/".join(parts[:depth]), parts[depth - 1], depth < len(parts), anchored_only=False)
        if rule is not None and not rule.negated:
            return True
    return False


def rule_names(disk_path: str) -> frozenset[str]:
    """The members of `RULE_NAMES` in a folder."""
    return frozenset(name for name in RULE_NAMES if os.path.lexists(os.path.join(disk_path, name)))


@dataclass(frozen=True)
class Rule:
    """One line of an ignore file."""

    negated: bool
    folders_only: bool
    whole_path: bool  # the pattern has a slash: matched against the path relative to its file, else against the name
    pattern: str
    parsed: PathPattern

    @property
    def is_only_wildcards(self) -> bool:
        """Whether the pattern consists of wildcards alone."""
        return not self.pattern.strip("*?./")

    @property
    def is_anchored_negation(self) -> bool:
        """Whether the rule is anchored, so that a search for its entries below an excluded folder is bounded."""
        return self.negated and self.whole_path and not self.pattern.startswith("**/") and not self.is_only_wildcards


@dataclass(frozen=True)
class RuleFile:
    """The rules of one ignore file, strongest (last) first. They apply to `base` and below."""

    base: str
    rules: tuple[Rule, ...]

    @classmethod
    def parse(cls, base: str, lines: Iterable[str]) -> RuleFile:
        # Of duplicate lines only the last one matters.
        rules = [rule for line in dict.fromkeys(reversed(list(lines))) if (rule := _parse(line)) is not None]
        return cls(base, tuple(rules))

    def last_match(self, path: str, name: str, is_folder: bool, *, anchored_only: bool) -> Rule | None:
        """The strongest rule that matches the entry itself. `anchored_only`: below an excluded folder, unanchored
        negations do not apply."""
        below = path[len(self.base) :]
        for number in self._candidates(below, name):
            rule = self.rules[number]
            if rule.folders_only and not is_folder:
                continue
            if anchored_only and rule.negated and not rule.is_anchored_negation:
                continue
            if rule.parsed.matches(below if rule.whole_path else name):
                return rule
        return None

    def may_include_below(self, path: str) -> bool:
        """Whether an anchored negation may match an entry below the folder `path`."""
        below = path[len(self.base) :].split("/")
        return any(_may_match_below(pattern, below) for pattern in self._anchored_patterns)

    def _candidates(self, below: str, name: str) -> Sequence[int]:
        """The numbers of the rules that may match, in order: all matches and few false positives."""
        found = [*self._names.get(name, ()), *self._of_names.possible(name), *self._of_paths.possible(below)]
        if name.endswith(self._any_suffix):
            for suffix, numbers in self._suffixes.items():
                if name.endswith(suffix):
                    found += numbers
        return sorted(found) if len(found) > 1 else found

    @cached_property
    def _names(self) -> dict[str, list[int]]:
        return _by((rule.pattern, number) for number, rule in enumerate(self.rules) if _is_plain_name(rule))

    @cached_property
    def _suffixes(self) -> dict[str, list[int]]:
        return _by((rule.pattern[1:], number) for number, rule in enumerate(self.rules) if _is_plain_suffix(rule))

    @cached_property
    def _any_suffix(self) -> tuple[str, ...]:
        return tuple(self._suffixes)

    @cached_property
    def _of_names(self) -> LiteralIndex:
        return LiteralIndex(
            {
                number: rule.parsed.literals
                for number, rule in enumerate(self.rules)
                if not (rule.whole_path or _is_plain_name(rule) or _is_plain_suffix(rule))
            }
        )

    @cached_property
    def _of_paths(self) -> LiteralIndex:
        return LiteralIndex({number: rule.parsed.literals for number, rule in enumerate(self.rules) if rule.whole_path})

    @cached_property
    def _anchored_patterns(self) -> list[tuple[Segment | None, ...]]:
        """The path segments of each anchored negation; None represents `**`."""
        return [rule.parsed.segments for rule in self.rules if rule.is_anchored_negation]


class LiteralIndex:
    """Literal prefilter for many patterns: finds those that may match a text by the rarest literal of each.

    Up to FEW literals are searched one by one; with more, the substrings of the text are looked up in a dictionary.
    """

    FEW = 100
    LONGEST = 12
    """A longer literal is represented by its end."""

    def __init__(self, literals: Mapping[int, Sequence[str]]) -> None:
        keys = {number: [run[-self.LONGEST :] for run in runs] for number, runs in literals.items()}
        counts = Counter(key for runs in keys.values() for key in runs)
        self._always: list[int] = []
        self._by_key: dict[str, list[int]] = {}
        for number, runs in keys.items():
            if runs:
                rarest = min(runs, key=lambda run: (counts[run], -len(run)))
                self._by_key.setdefault(rarest, []).append(number)
            else:
                self._always.append(number)
        self._lengths = sorted(set(map(len, self._by_key)))

    def possible(self, text: str) -> list[int]:
        """The numbers of the patterns, in no order."""
        found = self._always.copy()
        by_key = self._by_key
        if len(by_key) <= self.FEW:
            for key, numbers in by_key.items():
                if key in text:
                    found += numbers
            return found
        for length in self._lengths:
            for part in {text[at : at + length] for at in range(len(text) - length + 1)}:
                if part in by_key:
                    found += by_key[part]
        return found


_WILD = re.compile(r"[*?\[\\]")


def _is_plain_name(rule: Rule) -> bool:
    return not rule.whole_path and not _WILD.search(rule.pattern)


def _is_plain_suffix(rule: Rule) -> bool:
    return not rule.whole_path and rule.pattern[0] == "*" and not _WILD.search(rule.pattern, 1)


def _by(pairs: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for key, number in pairs:
        found.setdefault(key, []).append(number)
    return found


def _may_match_below(pattern: Sequence[Segment | None], below: Sequence[str]) -> bool:
    for segment, name in zip(pattern, below, strict=False):
        if segment is None:
            return True
        if not segment.matches(name):
            return False
    return len(below) < len(pattern)


def _rules_above(root: Path) -> tuple[str, tuple[RuleFile, ...]]:
    """The path of `root` in the repository that contains it, and the git rules of the folders above it.

    Empty if there is no such repository, or if it ignores `root`: then its rules do not apply to `root` (a home folder
    under version control ignores most of its folders).
    """
    top = next((folder for folder in root.parents if (folder / REPOSITORY).exists()), None)
    if top is None:
        return "", ()
    here = FolderRules("", True, _git_rules(str(top), "", rule_names(str(top))), ())
    disk_path = top
    *pattern, last = root.relative_to(top).parts
    for name in pattern:
        disk_path /= name
        here = here.enter(str(disk_path), name, here.evaluate(name, True), rule_names(str(disk_path)) - {WEFT_RULES})
    return (f"{here.path}{last}/", here.git) if here.evaluate(last, True).included else ("", ())


def _git_rules(disk_path: str, base: str, names: Collection[str]) -> tuple[RuleFile, ...]:
    """The git rule files of one folder, strongest first."""
    found = []
    if GIT_RULES in names:
        found.append(RuleFile.parse(base, _rule_lines(Path(disk_path, GIT_RULES))))
    if REPOSITORY in names:
        found.append(RuleFile.parse(base, _rule_lines(_git_folder(Path(disk_path, REPOSITORY)) / "info" / "exclude")))
    return tuple(rules for rules in found if rules.rules)


def _weft_rules(disk_path: str, base: str, names: Collection[str]) -> tuple[RuleFile, ...]:
    if WEFT_RULES not in names:
        return ()
    rules = RuleFile.parse(base, _rule_lines(Path(disk_path, WEFT_RULES)))
    return (rules,) if rules.rules else ()


def head_commit(folder: Path) -> str:
    """The commit that is checked out in the repository of a folder, in hexadecimal digits; "" if it can't be told."""
    mark = next((path / REPOSITORY for path in (folder, *folder.parents) if (path / REPOSITORY).exists()), None)
    head = [] if mark is None else _read_lines(_own_git_folder(mark) / "HEAD")
    if mark is None or not head:
        return ""
    name = head[0].removeprefix("ref:").strip()
    if name == head[0].strip():
        return name if _COMMIT.fullmatch(name) else ""
    shared = _git_folder(mark)
    lines = [*_read_lines(shared / name), *(line.split(" ")[0] for line in _read_lines(shared / "packed-refs")
             if line.rstrip().endswith(f" {name}"))]  # fmt: skip
    return lines[0].strip() if lines and _COMMIT.fullmatch(lines[0].strip()) else ""


_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def _git_folder(mark: Path) -> Path:
    """The repository's data folder: `.git` itself, or for a worktree or submodule the folder that its text names."""
    folder = _own_git_folder(mark)
    common = [] if folder == mark else _read_lines(folder / "commondir")
    return folder / common[0].strip() if common else folder


def _own_git_folder(mark: Path) -> Path:
    """The folder with the `HEAD` of a working tree."""
    lines = _read_lines(mark)
    if not lines or not lines[0].startswith("gitdir:"):
        return mark
    return mark.parent / lines[0].removeprefix("gitdir:").strip()


class _TooLarge(ControlFlow):
    """An ignore file is larger than `MAX_RULES_BYTES`."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is larger than {MAX_RULES_BYTES:,} bytes")
        self.name = path.name


def _rule_lines(path: Path) -> list[str]:
    """The lines of an ignore file, as `_read_lines` reads them. Raises _TooLarge."""
    with suppress(OSError, ValueError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode) and found.st_size > MAX_RULES_BYTES:
            raise _TooLarge(path)
    return _read_lines(path)


def _read_lines(path: Path) -> list[str]:
    """The lines of a small regular file; empty if there is none, or it is a link, a pipe or too large."""
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_RULES_BYTES:
            return []
        data = read_regular(path)
    except (OSError, ValueError):
        return []
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _parse(line: str) -> Rule | None:
    """The rule of one line; None for an empty line, a comment, or a pattern that matches nothing."""
    if line.startswith("#") or len(line) > MAX_PATTERN_LENGTH:
        return None
    pattern = line.rstrip(" ")
    if len(pattern) < len(line) and _ends_in_escape(pattern):
        pattern += " "
    negated = pattern.startswith("!")
    pattern = pattern[negated:]
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    whole_path = "/" in pattern
    pattern = pattern.removeprefix("/")
    if not pattern:
        return None
    parsed = parse_pattern(pattern)
    return None if parsed is None else Rule(negated, folders_only, whole_path, pattern, parsed)


def _ends_in_escape(pattern: str) -> bool:
    return (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1
