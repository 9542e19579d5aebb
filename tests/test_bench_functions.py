"""Function bodies: the sandbox holds and proves it, tasks are told apart by tests, bodies are cut where they end."""

import io
import json
import shutil
import sys
import tarfile
import tempfile
import textwrap
import time
import venv
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path

import pytest
from weft.benchmarks import fit_trees
from weft.benchmarks.functions import repositories, run, sandbox, tasks
from weft.benchmarks.functions.bodies import (
    body_end,
    compiles,
    empty_bodies,
    functions_of,
    indent_of,
    truncated,
    with_body,
)
from weft.benchmarks.functions.repositories import Repository
from weft.benchmarks.functions.sandbox import Limits, SandboxError, find_sandbox
from weft.benchmarks.functions.tasks import code_of, draw_functions, passes, tasks_of, write_tasks
from weft.benchmarks.repoeval.archives import Archive
from weft.benchmarks.repoeval.sources import parse_source


def programs(method):
    return [name for name in sandbox._METHODS[method] if shutil.which(name, path=sandbox._search_path()) is None]


needs_sandbox = pytest.mark.skipif(
    bool(programs("bwrap")) and bool(programs("unshare")),
    reason="needs bubblewrap, or unshare and setpriv of util-linux",
)


@pytest.fixture(scope="module")
def python():
    """An environment with pytest that every user can read."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        venv.create(Path(folder) / "environment", symlinks=True)
        target = next(Path(folder).glob("environment/lib/python*/site-packages"))
        for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
            for file in distribution(name).files or ():
                if ".." not in file.parts:
                    copy = target / file
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file.locate(), copy)
        yield Path(folder) / "environment" / "bin" / "python"


@pytest.fixture(scope="module")
def box(python):
    try:
        return find_sandbox(python)
    except SandboxError as error:
        pytest.skip(str(error))


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "shop.py").write_text("price = 3\n")
    sandbox.open_to_all(tmp_path)
    return tmp_path


def inside(box, tree, code, limits=None):
    limits = limits or Limits(seconds=20)
    return box.run_python(tree, "main.py", {"main.py": textwrap.dedent(code)}, "", limits)


# The sandbox


@needs_sandbox
def test_the_network_is_out_of_reach(box, tree):
    with sandbox._listening() as port:
        code = f"""
            import socket
            for address in (("127.0.0.1", {port}), ("192.0.2.1", 80)):
                try:
                    socket.create_connection(address, 2)
                    print("connected")
                except OSError as error:
                    print(type(error).__name__)
            """
        said = inside(box, tree, code).stdout.split()
    assert len(said) == 2 and "connected" not in said


@needs_sandbox
def test_only_a_copy_of_the_tree_can_be_written(box, tree):
    code = f"""
        open("shop.py", "w").write("price = 0")
        print(open("shop.py").read())
        for path in ({str(tree / "new")!r}, {str(box.environment.executable)!r}, "/usr/new", "/new", "/etc/new"):
            try:
                open(path, "w")
                print("wrote", path)
            except OSError:
                pass
        """
    done = inside(box, tree, code)
    assert done.stdout.splitlines() == ["price = 0"]
    assert (tree / "shop.py").read_text() == "price = 3\n" and not (tree / "new").exists()


@needs_sandbox
def test_files_of_the_user_and_variables_are_hidden(box, tree, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("API_KEY", "very-secret")
    private = tmp_path_factory.mktemp("private") / "key.txt"
    private.write_text("very-secret")
    code = f"""
        import glob, os
        print(os.path.exists({str(private)!r}), "API_KEY" in os.environ)
        found = [path for path in glob.glob("/proc/*/environ") if b"very-secret" in open(path, "rb").read()]
        print(found, [line for line in open("/proc/self/status") if line.startswith("CapEff") and int(line[7:], 16)])
        """
    assert inside(box, tree, code).stdout.splitlines() == ["False False", "[] []"]


@needs_sandbox
@pytest.mark.parametrize(
    "code",
    [
        "import time; time.sleep(600)",
        "while True: pass",
        "import os, time\nif os.fork(): os._exit(time.sleep(600))\nos.setsid(); time.sleep(600)",
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
    ],
)
def test_what_hangs_is_killed_and_reported(box, tree, code):
    started = time.monotonic()
    done = inside(box, tree, code, Limits(seconds=1, cpu_seconds=30))
    assert done.timed_out and done.status is None
    assert time.monotonic() - started < 30


@needs_sandbox
def test_memory_files_and_processes_are_limited(box, tree):
    code = """
        import os
        try:
            bytearray(1 << 30)
        except MemoryError:
            print("memory")
        try:
            for number in range(20):
                open(f"/tmp/{number}", "wb").write(bytes(1 << 20))
        except OSError:
            print("disk")
        try:
            for _ in range(50):
                if os.fork() == 0:
                    os.execv("/bin/sleep", ["sleep", "20"])
        except OSError:
            print("processes")
        """
    limits = Limits(seconds=15, memory_mb=512, disk_mb=8, processes=20)
    assert inside(box, tree, code, limits).stdout.split() == ["memory", "disk", "processes"]


@needs_sandbox
def test_cpu_time_and_the_size_of_a_file_are_limited(box, tree):
    limits = Limits(seconds=40, cpu_seconds=1, file_mb=1)
    done = inside(box, tree, "while True: pass", limits)
    assert done.status not in (0, None) and done.seconds < 40
    code = """
        with open("/tmp/large", "wb") as file:
            try:
                file.write(bytes(2 << 20))
                file.flush()
            except OSError as error:
                print(error.strerror)
        """
    assert inside(box, tree, code, limits).stdout.strip() == "File too large"


@needs_sandbox
def test_a_sandbox_with_a_network_is_refused(box, python, monkeypatch):
    whole = sandbox.Sandbox._command

    def with_network(self, *arguments):
        return [word for word in whole(self, *arguments) if word not in ("--net", "--unshare-net")]

    monkeypatch.setattr(sandbox.Sandbox, "_command", with_network)
    with pytest.raises(SandboxError, match=r"no tests run: .*(connected to|network|not start)"):
        find_sandbox(python)


@needs_sandbox
def test_a_sandbox_that_shows_the_users_files_is_refused(box, python, monkeypatch):
    shown = tempfile.gettempdir()
    environment = sandbox.Environment(box.environment.executable, (*box.environment.folders, shown))
    monkeypatch.setattr(sandbox.Environment, "of", lambda python: environment)
    with pytest.raises(SandboxError, match=r"sees a file outside of its folder|not start"):
        find_sandbox(python)


def test_without_a_sandbox_nothing_runs_and_the_next_step_is_named(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    with pytest.raises(SandboxError, match=r"no tests run: bwrap.* not installed.*Install bubblewrap"):
        find_sandbox(Path(sys.executable))


def test_a_program_that_is_no_python_is_refused(tmp_path):
    with pytest.raises(SandboxError, match="Name one with --python"):
        find_sandbox(tmp_path / "python")


def test_a_home_folder_is_no_environment(monkeypatch):
    monkeypatch.setattr(Path, "home", lambda: Path(sys.prefix))
    with pytest.raises(SandboxError, match="virtual environment in its own folder"):
        find_sandbox(Path(sys.executable))


# Bodies

SHOP = '''\
import functools


class Shop:
    @functools.cache
    def total(self, prices):
        """The sum."""

        # Tax comes later.
        result = 0
        for price in prices:
            result += price
        return result

    def one_line(self): return 1

    def short(self):
        return 2


def outer(
    first,
):
    def inner():
        a = 1
        b = 2
        return a + b
    return inner
'''


def shop():
    return parse_source("shop.py", SHOP, "")


def test_functions_of_three_lines_and_more_are_found_behind_their_docstrings():
    total, outer = functions_of(shop())
    assert (total.qualname, total.key) == ("Shop.total", "shop.py:5")
    assert shop().lines[total.start].strip() == "" and shop().lines[total.end - 1].strip() == "return result"
    assert (outer.qualname, shop().lines[outer.start]) == ("outer", "    def inner():")


def test_a_body_of_thirty_one_lines_is_too_long():
    def body_of(n_lines):
        return parse_source("a.py", "def f():\n" + "    x = 1\n" * n_lines, "")

    assert [len(list(functions_of(body_of(n)))) for n in (2, 3, 30, 31)] == [0, 1, 1, 0]


def test_a_file_with_its_own_body_is_the_same_and_with_an_empty_one_still_compiles():
    source = shop()
    for function in functions_of(source):
        assert with_body(source, function, "\n".join(source.lines[function.start : function.end])) == SHOP
        assert [body.strip() for body in empty_bodies(source, function)] == ["pass", "raise NotImplementedError"]
        for body in empty_bodies(source, function):
            assert body.startswith(indent_of(source, function)) and compiles(with_body(source, function, body))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("    return 1\n\n\ndef other():\n    pass\n", "    return 1"),
        ("    a = 1\n    # why\n", "    a = 1"),
        ("    a = '''\nx\n'''\n    return a\nb = 2\n", "    a = '''\nx\n'''\n    return a"),
        ("    a = f(\n1,\n)\n    return a\n@cache\n", "    a = f(\n1,\n)\n    return a"),
        ("return 1\n", ""),
        ("    if a:\n\n        b\n  c\n", "    if a:\n\n        b"),
    ],
)
def test_a_text_is_cut_where_the_body_ends(text, kept):
    assert truncated(text, 4) == kept


def test_an_unfinished_string_or_line_does_not_end_a_body():
    assert body_end("    a = '''\nx\ny", 4) is None
    assert body_end("    a = 1\n  ", 4) is None
    assert body_end("    a = 1\nb", 4) == len("    a = 1\n")


# Releases


def test_no_release_is_one_that_a_model_of_ours_was_fitted_on():
    fitted = {
        requirement.partition("==")[0].lower()
        for use in fit_trees.PACKAGES
        for requirement in fit_trees.requirements(use)
    }
    assert not fitted & {name.lower() for name in repositories.REPOSITORIES}
    assert all(len(each.archive.sha256) == 64 for each in repositories.REPOSITORIES.values())


# Tasks

CODE = """\
def total(prices):
    result = 0
    for price in prices:
        result += price
    return result


def never_called(prices):
    first = prices[0]
    second = prices[1]
    return first + second


def result_is_ignored(prices):
    first = prices[0]
    second = first
    return second


def slow(prices):
    first = prices[0]
    second = first
    return second
"""
TESTS = """\
import time
import pytest
from shop.prices import result_is_ignored, slow, total

@pytest.mark.parametrize("prices, wanted", [([1, 2], 3), ([], 0)])
def test_total(prices, wanted):
    assert total(prices) == wanted

def test_ignored():
    try:
        result_is_ignored([1])
    except NotImplementedError:
        pass

def test_slow():
    assert slow([1]) == 1
    time.sleep(60)
"""


@pytest.fixture
def release(tmp_path):
    """A repository, its archive and its tree."""
    files = {"src/shop/prices.py": CODE, "src/shop/__init__.py": "", "tests/test_prices.py": TESTS}
    archive = tmp_path / "work" / "downloads" / "shop-1.0.tar.gz"
    archive.parent.mkdir(parents=True)
    with tarfile.open(archive, "w:gz") as target:
        for path, text in files.items():
            info = tarfile.TarInfo(f"shop-1.0/{path}")
            info.size = len(text)
            target.addfile(info, io.BytesIO(text.encode()))
    pinned = Archive("shop", "shop==1.0", archive.name, sha256(archive.read_bytes()).hexdigest())
    return Repository(pinned, "src/shop", "src", "tests", "MIT")


def test_tests_inside_of_the_package_are_no_code(release, tmp_path):
    for path in ("shop/prices.py", "shop/checks/prices.py"):
        file = tmp_path / "tree" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(CODE)
    repository = replace(release, code="shop", tests="shop/checks")
    assert list(code_of(repository, tmp_path / "tree")) == ["shop/prices.py"]


@pytest.mark.slow
@needs_sandbox
def test_a_task_is_covered_and_its_tests_tell_an_empty_body(box, release, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "SOME_TESTS", Limits(seconds=15, cpu_seconds=15))  # for the body that hangs
    with repositories.unpacked(release, tmp_path / "work") as tree:
        sources = code_of(release, tree)
        assert sorted(sources) == ["src/shop/__init__.py", "src/shop/prices.py"]
        drawn = draw_functions(box, release, tree, sources, 10)
        assert [each.function.qualname for each in drawn] == ["total"]
        assert drawn == draw_functions(box, release, tree, sources, 10)
        (each,) = tasks_of(release, sources, drawn)
        assert len(each.tests) == 2 and each.task.ground_truth.startswith("    result = 0")
        assert each.task.task_id == "shop/function/0"
        source = sources["src/shop/prices.py"]
        bodies = {
            "    return sum(prices)": True,
            "    return 3": False,
            "    import os\n    os._exit(0)": False,
            "    while True: pass": False,
            "    import sys\n    sys.exit(0)": False,
        }
        for body, wanted in bodies.items():
            assert passes(box, release, tree, source, each.function, each.tests, body) == wanted, body
        target = write_tasks(tmp_path / "tasks", release, [each])
    note, record = map(json.loads, target.read_text().splitlines())
    assert note["licence"].startswith("MIT") and release.archive.sha256 in note["source"]
    assert record["function"] == "total" and record["tests"] == list(each.tests) and record["kind"] == "function"


@needs_sandbox
def test_the_command_prints_pass_at_1(box, python, release, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(repositories, "REPOSITORIES", {"shop": release})
    options = ["--run-tests", "--python", str(python), "--work", str(tmp_path / "work"), "--settings", "none", "weft"]
    assert run.main(options) == 0
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    (model,) = printed["models"]
    assert printed["tasks"] == {"shop": 1} and model["model"] == "workspace"
    assert model["weft"]["n"] == 1 and 0 <= model["weft"]["pass_at_1"][1] <= 100
    assert run.main(options) == 0, "rows are cached"


def test_no_test_runs_without_the_flag(monkeypatch, capsys):
    monkeypatch.setattr(run, "find_sandbox", lambda python: pytest.fail("a sandbox was made"))
    assert run.main([]) == 2
    assert "Add --run-tests" in capsys.readouterr().err


def test_a_workspace_cannot_be_named():
    with pytest.raises(SystemExit):
        run.main(["--run-tests", "--trees", "."])


def test_a_changed_archive_is_refused(release, tmp_path):
    (tmp_path / "work" / "downloads" / "shop-1.0.tar.gz").write_bytes(b"other")
    with pytest.raises(repositories.ArchiveError, match="SHA-256"), repositories.unpacked(release, tmp_path / "work"):
        pass
