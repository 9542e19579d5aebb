"""The packages of a release: what is in the wheel and the source distribution, their metadata, and one version."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_string
from email.message import Message
from fnmatch import fnmatch
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from repository import ROOT, WRITTEN_BY_THE_BUILD, copy_repository, repository_files
from weft.llm.installation import DISTRIBUTION, REPOSITORY
from weft.version import __version__

try:
    import tomllib
except ImportError:
    import tomli as tomllib

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
TRAINERS = {"llm/training", "memory/memorag/beacon/training"}
NOT_INSTALLED = (
    "benchmarks/",
    "tests/",
    "docs/",
    "distribution/",
    "releases/",
    "licences/",
    "native/kernel.c",
    "editors/upstream/",
    "editors/vscode/",
    "editors/demo.sh",
    "setup.py",
)


def test_every_place_has_the_same_version():
    extension = json.loads((ROOT / "editors/vscode/package.json").read_text("utf-8"))
    locked = json.loads((ROOT / "editors/vscode/package-lock.json").read_text("utf-8"))
    plugin = re.search(r"^M\.version = '(.+)'$", (ROOT / "editors/neovim/lua/weft/init.lua").read_text("utf-8"), re.M)
    changelog = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert plugin and changelog
    assert {
        extension["version"],
        locked["version"],
        locked["packages"][""]["version"],
        plugin[1],
        changelog[1],
    } == {__version__}
    assert PROJECT["project"]["dynamic"] == ["version", "readme"] and "version" not in PROJECT["project"]


def test_the_address_of_the_repository_is_changed_by_one_command(tmp_path):
    """The files that repeat the address of pyproject.toml are known, and no other file has it."""
    distribution = runpy.run_path(str(ROOT / "distribution" / "__main__.py"))
    assert distribution["address"](ROOT) == PROJECT["project"]["urls"]["Repository"] == REPOSITORY
    files = {name: (ROOT / name).read_bytes() for name in repository_files()}
    with_address = {name for name, content in files.items() if REPOSITORY.encode() in content}
    assert with_address == set(distribution["NAME_REPOSITORY"])
    for name in with_address:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(files[name])
    distribution["change_address"](tmp_path, "https://example.org/weft")
    assert distribution["address"](tmp_path) == "https://example.org/weft"
    for name in with_address:
        text = (tmp_path / name).read_bytes()
        assert REPOSITORY.encode() not in text and b"https://example.org/weft" in text


def test_the_lock_file_has_what_is_required_with_hashes():
    text = (ROOT / "dev.lock").read_text("utf-8")
    blocks = re.findall(r"^([\w.-]+)==(\S+)([^\n]*(?:\n    --hash=sha256:\w+[^\n]*)+)", text, re.MULTILINE)
    assert len(blocks) == len(re.findall(r"^[\w.-]+==", text, re.MULTILINE)) > 50
    locked: dict[str, list[str]] = {}
    for name, version, _ in blocks:
        locked.setdefault(name, []).append(version)
    required = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["dev"]]
    for requirement in map(Requirement, required):
        versions = locked[requirement.name.lower().replace("_", "-")]
        assert any(requirement.specifier.contains(version) for version in versions), requirement
    assert "torch" not in locked and "://" not in text


def test_relative_links_of_the_readme_become_absolute():
    pytest.importorskip("setuptools", reason="Python 3.12 and newer bring none; the test of the description builds")
    with_absolute_links = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")["with_absolute_links"]
    text = "[a](docs/a.md#b) ![p](docs/p.png) [w](https://x.example) [h](#here) [![p](i.png)](c.md)"
    assert with_absolute_links(text, "https://r.example", "1.2") == (
        "[a](https://r.example/blob/v1.2/docs/a.md#b) ![p](https://r.example/raw/v1.2/docs/p.png) "
        "[w](https://x.example) [h](#here) [![p](https://r.example/raw/v1.2/i.png)](https://r.example/blob/v1.2/c.md)"
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution of these files."""
    folder = tmp_path_factory.mktemp("built")
    source = copy_repository(folder / "source")
    # Files that a build must leave out.
    for name in ("benchmarks/.work/tree/x.py", "build/lib/weft/benchmarks/__init__.py", "tests/__pycache__/x.pyc"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("")
    (source / "editors/vscode/weft.vsix").write_text("an extension")
    (folder / "dist").mkdir()
    runpy.run_path(str(ROOT / "distribution" / "__main__.py"))["build"](source, folder / "dist")
    return folder / "dist"


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel."""
    (wheel,) = built.glob("*.whl")
    folder = tmp_path_factory.mktemp("site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def metadata(installed: Path) -> Message:
    (folder,) = installed.glob("*.dist-info")
    return message_from_string((folder / "METADATA").read_text("utf-8"))


@pytest.mark.slow
def test_the_wheel_has_what_a_user_runs_and_nothing_else(installed):
    folder = installed / "weft"
    packaged = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    in_folders = {name for name in repository_files() if "/" in name and not name.startswith(NOT_INSTALLED)}
    hidden = {name for name in in_folders if name.startswith(".")}
    trainers = {name for name in in_folders if name.rpartition("/")[0] in TRAINERS}
    stubs = {f"{trainer}/{name}.py" for trainer in TRAINERS for name in ("__init__", "__main__")}
    root = {"__init__.py", "__main__.py", "errors.py", "string_table.py", "version.py", "py.typed"}
    assert packaged == in_folders - hidden - trainers | stubs | root | {"editors/vscode/weft.vsix"}


@pytest.mark.slow
def test_modules_of_the_wheel_import_modules_of_the_wheel(installed):
    missing = []
    examples = installed / "weft" / "examples"  # half-typed
    for path in (installed / "weft").rglob("*.py"):
        if path.is_relative_to(examples):
            continue
        package = path.relative_to(installed).parent.parts
        if "examples" in package:  # half-typed code for `weft demo`, which nothing imports
            continue
        for node in imports_at_run_time(ast.parse(path.read_text("utf-8"))):
            base = [*package[: len(package) - node.level + 1], *filter(None, (node.module or "").split("."))]
            if not exists(installed.joinpath(*base)) or "/".join(base[1:]) in TRAINERS:
                missing.append(f"{path.relative_to(installed)}: {'.'.join(base)}")
    assert not missing


def exists(module: Path) -> bool:
    return module.with_suffix(".py").is_file() or (module / "__init__.py").is_file()


def imports_at_run_time(tree: ast.AST) -> list[ast.ImportFrom]:
    """Relative imports, without those for types."""
    found = []
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.ImportFrom) and child.level:
            found.append(child)
        elif not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)):
            found += imports_at_run_time(child)
    return found


@pytest.mark.slow
def test_the_source_distribution_has_the_files_of_the_repository_without_models(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {member.name.partition("/")[2] for member in tar.getmembers() if member.isfile()}
        list_of_files = tar.extractfile(f"{archive.name.removesuffix('.tar.gz')}/weft_lsp.egg-info/SOURCES.txt")
        listed = list_of_files.read().decode().splitlines()
    assert {name.removeprefix("./") for name in listed} == names - {"PKG-INFO", "setup.cfg"}
    assert {name for name in names if not name.startswith(WRITTEN_BY_THE_BUILD)} == {
        name for name in repository_files() if not fnmatch(name, "releases/*.zip")
    }


@pytest.mark.slow
def test_the_metadata_is_complete(metadata):
    assert (metadata["Name"], metadata["Version"]) == (DISTRIBUTION, __version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert sorted(metadata.get_all("License-File")) == ["LICENSE", "licences/secret-patterns.txt"]
    supported = {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)}
    assert supported < set(metadata.get_all("Classifier"))
    assert len(metadata.get_all("Project-URL")) == 4
    assert metadata["Description-Content-Type"] == "text/markdown"


@pytest.mark.slow
def test_the_description_has_no_relative_link(metadata):
    links = re.findall(r"\]\(([^()\s]+)\)", metadata.get_payload())
    assert len(links) > 20
    assert not [link for link in links if not link.startswith(("https://", "#"))]


@pytest.mark.slow
@pytest.mark.parametrize("trainer", ["weft.llm.training", "weft.memory.memorag.beacon.training"])
def test_a_trainer_in_a_wheel_says_that_it_runs_from_a_clone(installed, tmp_path, trainer):
    done = run_installed(installed, tmp_path, "-m", trainer, "all", "--out", "x")
    assert done.returncode == 2 and done.stdout == ""
    assert f"weft: `python -m {trainer}` is not part of the installed package" in done.stderr
    assert f"git clone {REPOSITORY} && cd weft" in done.stderr and done.stderr.endswith(f"python -m {trainer}\n")


@pytest.mark.slow
def test_benchmarks_in_a_wheel_say_that_they_run_from_a_clone(installed, tmp_path):
    done = run_installed(installed, tmp_path, "-m", "weft", "bench", "typed")
    assert done.returncode == 2
    assert f"git clone {REPOSITORY}" in done.stderr and done.stderr.endswith(".venv/bin/weft bench typed\n")


@pytest.mark.slow
def test_a_wheel_completes_and_knows_its_plugins(installed, tmp_path):
    (tmp_path / "shop.py").write_text(
        "def pay(basket):\n    return total(basket)\n\n\ndef again(basket):\n    return to"
    )
    done = run_installed(installed, tmp_path, "-m", "weft", "complete", "shop.py:6")
    assert done.returncode == 0 and "6 │     return total(basket)" in done.stdout
    done = run_installed(installed, tmp_path, "-m", "weft", "editors", "--json")
    assert json.loads(done.stdout) == {
        "neovim": str(installed / "weft/editors/neovim"),
        "emacs": str(installed / "weft/editors/examples/weft.el"),
        "vscode": str(installed / "weft/editors/vscode/weft.vsix"),
    }


def run_installed(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    own = {"PYTHONPATH": str(installed), "WEFT_CACHE_DIR": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env={**os.environ, **own}, capture_output=True, text=True
    )
