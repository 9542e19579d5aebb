"""What git ignores, Weft ignores; `.weftignore` overrides it. The reference of the first half is git itself."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from weft.server.config import IndexOptions
from weft.server.workspace.files import Membership, walk
from weft.server.workspace.ignore import FolderRules, RuleFile, open_root, rule_names

PATHS = """
    a b ab a.c x/a x/b x/y/a x/y/z/a.c x/a.log keep/a.log keep/b.py build/a build/x/b docs/build/a docs/x/build/b
    foo/bar/baz foobar/x fooX/bar foo/Y/bar X/foo/bar sp\\ ace  [a] a*b !bang #hash tail\\  -dash z/-dash 1 12 q/1
    """.replace("\\ ", "\0").split()

TABLE = [
    "a",
    "/a",
    "a/",
    "*.log\n!keep/",
    "*.log\n!keep",
    "*.log\n!keep/*.log",
    "build/\n!build/x",
    "build/*\n!build/x",
    "build/**\n!build/**/\n!build/x/b",
    "/build",
    "docs/build",
    "docs/**/build",
    "**/build",
    "**/build/b",
    "x/**",
    "x/**/a",
    "/**",
    "**",
    "*",
    "/*\n!/x\n!/keep/",
    "*\n!*/\n!*.c",
    "*\n!.gitignore\n!x/",
    "foo/**bar",
    "fo*/b?r",
    "foo*bar",
    "foo/*/baz",
    "**\\/bar",
    "x/***\\/b",
    "**/foo/**",
    "foo//bar",
    "foo/",
    "\\!bang",
    "!bang",
    "\\#hash",
    "#hash",
    "tail\\ ",
    "tail ",
    "sp ace   ",
    "[a]",
    "\\[a]",
    "\\[a\\]",
    "[[]a[]]",
    "a\\*b",
    "a[*]b",
    "[!a]",
    "[^a]",
    "[a-b]",
    "[b-a]",
    "[]a]",
    "[]-a]",
    "[a-]dash",
    "[-x]dash",
    "[[:digit:]]",
    "[[:digit:][:alpha:]]",
    "[[:nonsense:]]",
    "[[:digit:",
    "[a",
    "a\\",
    "\\a",
    "x/[a/]",
    "x[/]a",
    "?",
    "??",
    "x/?",
    "a\r\n",
    "\ufeffa",
    "a\n!a\na",
    "/",
    "//",
    "!",
    "\\",
    "*.c\n!x/y/z/*.c",
    "x/\n!x/a",
    "x/*\n!x/y\nx/y/*\n!x/y/z",
    "***/a",
    "x/***/a",
    "*/*/a",
    " a",
    "\ta",
    "a\t",
]


def test_the_rules_of_the_manual_mean_what_git_means(repository: Path) -> None:
    for number, text in enumerate(TABLE):
        case = make(repository / f"case{number}", dict.fromkeys((path.replace("\0", " ") for path in PATHS), ""))
        (case / ".gitignore").write_bytes(text.encode())
    assert_same_as_git(repository)


def test_two_stars_inside_a_name_are_one_star(tmp_path: Path) -> None:
    # So says the manual; git itself (2.39) lets them span folders when nothing wild stands before them.
    make(tmp_path, {".gitignore": "foo**/bar\n", "foo/x/bar": "", "foox/bar": "", "foobar": ""})
    assert kept(tmp_path) == {".gitignore", "foo/x/bar", "foobar"}


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(1, 3 if not os.environ.get("WEFT_FUZZ") else 30))
def test_random_rules_in_nested_files_mean_what_git_means(repository: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(120):
        grow(repository / f"case{number}", chance)
    assert_same_as_git(repository)


def test_the_repository_excludes_file_counts_and_is_weaker_than_gitignore(repository: Path) -> None:
    make(repository, {"a.log": "", "b.log": "", "c.tmp": "", ".gitignore": "!b.log\n"})
    (repository / ".git/info/exclude").write_text("*.log\n*.tmp\n")
    assert_same_as_git(repository)
    assert kept(repository) == {"b.log", ".gitignore"}


def test_rules_above_the_workspace_count_up_to_the_repository_root(repository: Path) -> None:
    make(repository, {".gitignore": "/sub/out/\n*.log\n", "sub/.gitignore": "!b.log\n"})
    make(repository / "sub/work", {"a.log": "", "b.log": "", "c": ""})
    make(repository / "sub/out", {"a.log": "", "c": ""})
    assert kept(repository / "sub/work") == {"b.log", "c"}
    # A folder that its repository ignores is somebody's workspace all the same.
    assert kept(repository / "sub/out") == {"a.log", "c"}


def test_a_repository_inside_the_repository_answers_to_its_own_rules(repository: Path) -> None:
    make(repository, {".gitignore": "lib/\n", "lib/x": "", "other/.gitignore": "out/\n", "other/out/x": ""})
    make(repository, {"other/lib/x": "", "other/.git/HEAD": ""})
    assert kept(repository) == {".gitignore", "other/.gitignore", "other/lib/x"}


def test_a_worktree_uses_the_excludes_of_its_repository(tmp_path: Path) -> None:
    main, work = tmp_path / "main", tmp_path / "work"
    make(main, {".git/info/exclude": "*.log\n", ".git/worktrees/work/commondir": "../..\n"})
    make(work, {".git": f"gitdir: {main}/.git/worktrees/work\n", "a.log": "", "a": ""})
    assert kept(work) == {"a"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({".weftignore": "a\n", "a": "", "b": ""}, {"b"}, id="it excludes"),
        pytest.param({".gitignore": "gen\n", ".weftignore": "!gen\n", "gen": ""}, {"gen"}, id="it re-includes a file"),
        pytest.param(
            {".gitignore": "gen/\n*.log\n", ".weftignore": "!gen/\n", "gen/x": "", "gen/y.log": ""},
            {"gen/x"},
            id="it re-includes a folder, in which git's other rules still count",
        ),
        pytest.param(
            {".gitignore": "gen/\n", ".weftignore": "!gen/x/*.py\n", "gen/x/a.py": "", "gen/x/a.c": "", "gen/b.py": ""},
            {"gen/x/a.py"},
            id="it re-includes below an ignored folder",
        ),
        pytest.param(
            {".gitignore": "gen/\n", ".weftignore": "!gen/**/a.py\n", "gen/x/y/a.py": "", "gen/a.py": "", "gen/b": ""},
            {"gen/x/y/a.py", "gen/a.py"},
            id="it re-includes anywhere below an ignored folder",
        ),
        pytest.param(
            {
                "p/.weftignore": "!node_modules/@types/**\n",
                "p/node_modules/@types/a/b.d.ts": "",
                "p/node_modules/c": "",
            },
            {"p/node_modules/@types/a/b.d.ts"},
            id="a nested file re-includes below a folder that is always skipped",
        ),
        pytest.param(
            {".gitignore": "gen/\n", ".weftignore": "!*.py\n", "gen/a.py": "", "b.py": ""},
            {"b.py"},
            id="a bare name does not reach into ignored folders",
        ),
        pytest.param(
            {".weftignore": "*\n!*/\n!*.py\n", "x/a.py": "", "x/a.c": "", "node_modules/b.py": ""},
            {"x/a.py"},
            id="a rule of wildcards alone brings back nothing that others exclude",
        ),
        pytest.param(
            {".weftignore": "x/\n!x/y/\n", "x/a": "", "x/y/b": ""},
            {"x/y/b"},
            id="it re-includes below its own exclusion",
        ),
        pytest.param(
            {".weftignore": "!gen/**\ngen/b\n", ".gitignore": "gen/\n", "gen/a": "", "gen/b": ""},
            {"gen/a"},
            id="its last line wins",
        ),
        pytest.param(
            {".weftignore": "x\n", "p/.weftignore": "!x\n", "x": "", "p/x": ""}, {"p/x"}, id="its nearest file wins"
        ),
        pytest.param({".weftignore": "!.git/\n!.git/**\n", ".git/config": "", "a": ""}, {"a"}, id=".git stays out"),
        pytest.param(
            {".weftignore": "!env/\n", "env/pyvenv.cfg": "", "env/a": ""}, {"env/a"} | {"env/pyvenv.cfg"}, id="env"
        ),
    ],
)
def test_weftignore_has_the_last_word(tmp_path: Path, files: dict[str, str], expected: set[str]) -> None:
    make(tmp_path, files)
    assert {path for path in kept(tmp_path) if not path.endswith("ignore")} == expected


def test_environments_caches_and_dependencies_are_skipped_without_any_rule(tmp_path: Path) -> None:
    make(tmp_path, {"a": "", "env3/pyvenv.cfg": "", "env3/lib/x": "", "tmp/CACHEDIR.TAG": "", "tmp/x": ""})
    make(tmp_path, {"node_modules/x": "", "p/__pycache__/x": "", "w-1.dist-info/x": "", ".tox/x": ""})
    assert kept(tmp_path) == {"a"}


def test_settings_exclude_and_include_below_weftignore(tmp_path: Path) -> None:
    make(tmp_path, {"a": "", "b": "", "c": "", ".gitignore": "c\n", ".weftignore": "!b\n"})
    assert kept(tmp_path, exclude=("a", "b"), include=("c",)) == {"b", "c", ".gitignore", ".weftignore"}


def test_ignored_folders_are_not_listed_unless_a_rule_reaches_into_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(
        tmp_path,
        {".gitignore": "out/\n", ".weftignore": "!out/keep/*\n!*.py\n", "out/keep/a": "", "out/big/x/b.py": ""},
    )
    make(tmp_path, {"node_modules/x/b.py": ""})
    listed: list[str] = []
    scandir = os.scandir

    def noted(path: str) -> Iterator[os.DirEntry[str]]:
        listed.append(os.path.relpath(path, tmp_path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", noted)
    assert "out/keep/a" in [found.path for found in walk(tmp_path, IndexOptions())]
    assert sorted(listed) == [".", "out", "out/keep"]


def test_no_pattern_runs_away(tmp_path: Path) -> None:
    hostile = [
        "*a" * 60 + "b",
        "**/a/" * 60 + "b",
        "*/" * 200 + "b",
        "x/" + "*a*/" * 60 + "**/c",
        "[" * 900,
        "x" + "*" * 900,
    ]
    make(tmp_path, {".gitignore": "\n".join(hostile) + "\n", "a" * 240: "", "/".join(["a"] * 150): "", "b": ""})
    assert kept(tmp_path) >= {".gitignore"}


def test_rules_that_are_no_regular_file_are_not_read(tmp_path: Path) -> None:
    make(tmp_path, {"a": "", "rules": "a\n", "p/.gitignore/a": ""})
    (tmp_path / ".gitignore").symlink_to("rules")
    os.mkfifo(tmp_path / ".weftignore")
    assert "a" in kept(tmp_path)


def test_thousands_of_patterns_cost_little_whatever_stands_in_them(tmp_path: Path) -> None:
    chance = random.Random(5)

    def letters(n: int) -> str:
        return "".join(chance.choice("abcdef") for _ in range(n))

    hostile = [f"*{letters(1)}*{letters(1)}*{letters(1)}*{letters(1)}*x{n % 9}" for n in range(2000)]
    hostile += [f"*{letters(3)}*{n}" for n in range(1000)] + [f"x/*{letters(2)}/**/*{n}" for n in range(1000)]
    rules = RuleFile.parse("", hostile)
    started_s = time.process_time()
    for n in range(100):
        name = f"{letters(8)}{n}.py"
        rules.last_match(f"src/{name}", name, False, anchored_only=False)
    assert time.process_time() - started_s < 1.5  # it was 6 s with regular expressions


@pytest.mark.parametrize("n_patterns", [30, 2000])
def test_an_index_of_strings_changes_no_answer(n_patterns: int) -> None:
    chance = random.Random(n_patterns)
    for _ in range(20 if n_patterns < 100 else 3):
        lines = [random_pattern(chance) + "".join(chance.choices("abc*", k=3)) for _ in range(n_patterns)]
        rules = RuleFile.parse("", lines)
        for _ in range(10):
            path = "/".join("".join(chance.choices("abc.x", k=chance.randint(1, 6))) for _ in range(3))
            name = path.rpartition("/")[2]
            plain = (r for r in rules.rules if r.parsed.matches(path if r.whole_path else name))
            expected = next((rule for rule in plain if not rule.folders_only), None)
            assert rules.last_match(path, name, False, anchored_only=False) is expected


def test_the_number_of_rules_does_not_change_what_git_means(repository: Path) -> None:
    chance = random.Random(3)
    grow(repository / "w", chance)
    rules = [random_pattern(chance) for _ in range(3000)] + [f"*{n}x{n}*" for n in range(500)] + ["!*", "a*c", "!x1"]
    (repository / "w/.gitignore").write_text("\n".join(rules))
    assert_same_as_git(repository)


@pytest.mark.parametrize("where", ["", "inner/"])
@pytest.mark.parametrize("name", [".gitignore", ".weftignore"])
def test_rules_beyond_the_limit_leave_their_folder_out_and_are_said(tmp_path: Path, where: str, name: str) -> None:
    make(tmp_path, {"a.py": "", "inner/b.py": "", "inner/deep/c.py": "", f"{where}{name}": "# x\n" * 500_001})
    (tmp_path / ".git").mkdir()
    membership = Membership(tmp_path, IndexOptions())
    assert [found.path for found in membership.walk()] == ([] if not where else ["a.py"])
    (problem,) = membership.unusable_rules.items()
    assert problem[0] == f"{where}{name}" and "nothing in its folder is indexed" in problem[1]


# --- helpers


def make(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder


def kept(folder: Path, exclude: tuple[str, ...] = (), include: tuple[str, ...] = ()) -> set[str]:
    """Every file that the rules keep, whatever its kind."""

    def below(rules: FolderRules, disk: Path, path: str) -> Iterator[str]:
        for name in sorted(os.listdir(disk)):
            place = disk / name
            is_folder = place.is_dir() and not place.is_symlink()
            verdict = rules.evaluate(name, is_folder)
            if is_folder and verdict.must_enter:
                inner = rules.enter(str(place), name, verdict, rule_names(str(place)))
                yield from below(inner, place, f"{path}{name}/")
            elif not is_folder and verdict.included:
                yield path + name

    return set(below(open_root(folder, exclude, include), folder, ""))


def assert_same_as_git(repository: Path) -> None:
    command = ["git", "-C", str(repository), "ls-files", "-z", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    expected = set(filter(None, listed.split("\0")))
    assert expected
    assert kept(repository) == expected


def grow(folder: Path, chance: random.Random, depth: int = 0) -> None:
    names = ["a", "b", "ab", "a.c", "b.c", "x1", "[a]", "a b", "a ", "#a", "!a", "a-b", "]", "a*", "c^"]
    folder.mkdir(parents=True)
    for name in chance.sample(names, 5):
        if depth < 3 and chance.random() < 0.4:
            grow(folder / name, chance, depth + 1)
        else:
            (folder / name).touch()
    if depth == 0 or chance.random() < 0.2:
        (folder / ".gitignore").write_text("\n".join(random_pattern(chance) for _ in range(chance.randint(1, 5))))


def random_pattern(chance: random.Random) -> str:
    atoms = ["a", "b", "c", "*", "?", "**", "/", "/", "[ab]", "[!a]", "[^a]", "[a-c]", "[]a]", "[[:alpha:]]"]
    atoms += ["\\*", "\\a", ".c", "*.c", "-", "[a-", "[!]a]", "[c-a]", "\\[", "[\\]a]", "\\", " "]
    head = chance.choice(["", "", "", "!", "/", "**/", "a/**/", "*/", "/*", "!a/", "!/"])
    return (
        head
        + "".join(chance.choice(atoms) for _ in range(chance.randint(1, 4)))
        + chance.choice(["", "", "/", " ", "/**"])
    )


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, safe from the settings of whoever runs the tests."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", "--template=", str(folder)], check=True)
    (folder / ".git/info").mkdir(exist_ok=True)
    return folder
