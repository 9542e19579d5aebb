"""How Weft was installed, the command that adds an extra there, and no message with any other."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from repository import ROOT, copy_repository, repository_files
from weft.llm.installation import DISTRIBUTION, find_installation


@pytest.fixture
def installed(tmp_path: Path):
    """Finds an installation with this metadata in the environment `prefix`."""

    def find(prefix: str = "venv", installer: str = "pip", direct: object = None, **files: str):
        environment = tmp_path / prefix
        metadata = environment / "lib" / "weft_lsp-0.1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text("Name: weft-lsp\nVersion: 0.1.0\n")
        (metadata / "INSTALLER").write_text(f"{installer}\n")
        if direct is not None:
            (metadata / "direct_url.json").write_text(direct if isinstance(direct, str) else json.dumps(direct))
        for name, text in files.items():
            (environment / name.replace("__", "-").replace("_json", ".json").replace("_toml", ".toml")).write_text(text)
        return find_installation(environment, "/env/bin/python", Distribution.at(metadata), ROOT)

    return find


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "a clone"
    folder.mkdir()
    (folder / "constraints.txt").write_text("torch==2.13.0\n")
    return folder


def test_a_clone_is_extended_in_place_under_its_constraints(installed, clone):
    found = installed(direct={"url": clone.as_uri(), "dir_info": {"editable": True}})
    assert (
        found.extra_command("local")
        == f'/env/bin/python -m pip install -c "{clone}/constraints.txt" -e "{clone}[local]"'
    )
    assert found.package_command("spacy") == "/env/bin/python -m pip install spacy"


def test_sources_without_metadata_are_a_clone():
    found = find_installation(Path("/env"), "/env/bin/python", None, ROOT)
    assert found.extra_command("onnx").endswith(f'-e "{ROOT}[onnx]"')


def test_from_an_index_with_pip(installed):
    assert installed().extra_command("local", "models") == ('/env/bin/python -m pip install "weft-lsp[local,models]"')


def test_from_an_index_with_uv_pip(installed):
    assert installed(installer="uv").extra_command("onnx") == 'uv pip install --python /env/bin/python "weft-lsp[onnx]"'


def test_a_wheel_is_named_as_it_was(installed, tmp_path):
    wheel = tmp_path / "weft_lsp-0.1.0-py3-none-any.whl"
    direct = {"url": wheel.as_uri(), "archive_info": {}}
    assert installed("gone", direct=direct).extra_command("onnx") == ('/env/bin/python -m pip install "weft-lsp[onnx]"')
    wheel.touch()
    assert installed(direct=direct).extra_command("onnx") == (
        f'/env/bin/python -m pip install "weft-lsp[onnx] @ {wheel.as_uri()}"'
    )


def test_a_folder_keeps_its_constraints(installed, clone):
    found = installed(direct={"url": clone.as_uri(), "dir_info": {}}).extra_command("local")
    assert found == (
        f'/env/bin/python -m pip install -c "{clone}/constraints.txt" "weft-lsp[local] @ {clone.as_uri()}"'
    )


def test_a_commit_stays_the_commit(installed):
    direct = {"url": "https://git.example/weft", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}
    assert (
        installed(direct=direct)
        .extra_command("onnx")
        .endswith('install "weft-lsp[onnx] @ git+https://git.example/weft@abc123"')
    )


def test_pipx_keeps_the_extras_of_before(installed):
    recorded = json.dumps({"main_package": {"package_or_url": "weft-lsp[models]"}})
    found = installed("venvs/weft-lsp", "uv", pipx_metadata_json=recorded)
    assert found.extra_command("onnx") == 'pipx install --force "weft-lsp[models,onnx]"'
    assert found.package_command("llama-cpp-python") == "pipx inject weft-lsp llama-cpp-python"


def test_pipx_run_runs_the_requirement(installed):
    found = installed(".cache/bdf73d8e", pipx_metadata_json='{"main_package": {"package_or_url": "weft-lsp"}}')
    assert found.extra_command("onnx") == 'pipx run --spec "weft-lsp[onnx]" weft'
    assert found.package_command("spacy") == "pipx install weft-lsp, then pipx inject weft-lsp spacy"


def test_a_uv_tool_keeps_extras_and_packages_of_before(installed):
    receipt = (
        "[tool]\nrequirements = [\n"
        '    { name = "weft-lsp", extras = ["models", "onnx"] },\n    { name = "spacy" },\n]\n'
        'entrypoints = [\n    { name = "weft", install-path = "/bin/weft", from = "weft-lsp" },\n]\n'
    )
    found = installed("tools/weft-lsp", "uv", uv__receipt_toml=receipt)
    assert found.extra_command("local") == 'uv tool install "weft-lsp[local,models,onnx]" --with spacy'
    assert found.package_command("jieba") == 'uv tool install "weft-lsp[models,onnx]" --with spacy --with jieba'


def test_uvx_is_said_with_uvx(installed):
    found = installed("uv/archive-v0/shsokvo2LcimBOZF", "uv")
    assert found.extra_command("onnx") == 'uvx --from "weft-lsp[onnx]" weft'
    assert found.package_command("spacy") == "uvx --from weft-lsp --with spacy weft"


@pytest.mark.parametrize("direct", ["", "{", "[]", '{"url": 3}', '{"dir_info": 1}', '{"url": "file://"}'])
def test_damaged_metadata_still_names_a_command(installed, direct):
    assert "weft-lsp[onnx]" in installed(direct=direct).extra_command("onnx")


OTHER_PROJECT = re.compile(
    r"""(?:pip|uv\ pip|pipx|tool|uv)\s+(?:install|add|run|inject)\s+(?:-\S+\s+)*["'`]*weft(?![\w-])  # pip install weft
      | uvx\s+(?:--from\s+)?["'`]*weft(?![\w-])                                                    # uvx weft
      | (?:--from|--spec)\s+["'`]*weft(?![\w-])
      | (?<![\w.-])weft\[[a-z,. ]+\]                                                               # weft[local]
    """,
    re.VERBOSE,
)
EDITABLE = re.compile(r"pip\s+install\b[^\n]*\s-e\s")
MAY_BE_EDITABLE = {
    "README.md": "how a clone is set up",
    "Makefile": "how a clone is set up",
    "docs/dependencies.md": "the table of all commands",
    "CONTRIBUTING.md": "how a clone is set up from the lock file",
    ".github/workflows/test.yml": "the same in the workflow",
    "llm/installation.py": "how a clone is set up, for what runs in a clone only",
}


def test_no_message_and_no_document_names_another_command():
    paths = [ROOT / name for name in repository_files()]
    found = []
    for path in paths:
        relative = path.relative_to(ROOT).as_posix()
        if (
            relative.startswith(("tests/", "editors/vscode/test/"))
            or path.suffix in (".zip", ".png", ".jsonl")
            or not path.is_file()
        ):
            continue
        for number, line in enumerate(path.read_text("utf-8", errors="replace").splitlines(), 1):
            if OTHER_PROJECT.search(line) or (EDITABLE.search(line) and relative not in MAY_BE_EDITABLE):
                found.append(f"{relative}:{number}: {line.strip()[:120]}")
    assert len(paths) > 300
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "pip install weft",
        "pip install 'weft[local]'",
        'python -m pip install -U "weft"',
        "uvx weft serve",
        "uvx --from weft weft",
        "pipx install weft",
        "pipx run --spec weft weft",
        "uv tool install weft",
        "the extra weft[documents]",
    ],
)
def test_the_search_finds_the_other_project(text):
    assert OTHER_PROJECT.search(text)
    assert not OTHER_PROJECT.search(text.replace("weft", "weft-lsp", 1 if "weft serve" in text else -1))


def test_the_readme_says_whose_the_other_name_is():
    text = (ROOT / "README.md").read_text("utf-8")
    assert DISTRIBUTION in text and "another project" in text


@pytest.mark.slow
def test_a_wheel_in_a_fresh_environment_names_its_own_command(tmp_path):
    """The real thing: built, installed, and asked, without the dependencies."""
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    source = copy_repository(tmp_path / "source")
    subprocess.run([*pip, "wheel", "--no-deps", "-w", tmp_path, source], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith("weft_lsp-")
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", "--no-deps", "--no-index", wheel], check=True)
    code = (
        "import runpy, weft; from importlib.metadata import distributions\n"
        "module = runpy.run_path(weft.__path__[0] + '/llm/installation.py')\n"
        "print(weft.__file__); print(module['install_command']('onnx'))\n"
        "print(sorted(each.name for each in distributions() if 'weft' in each.name))"
    )
    own = {**os.environ, "PYTHONPATH": ""}
    asked = subprocess.run([python, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True, env=own)
    file, command, names = asked.stdout.splitlines()
    assert Path(file).is_relative_to(tmp_path / "env")
    assert command == f'{python} -m pip install "weft-lsp[onnx] @ {wheel.as_uri()}"'
    assert names == "['weft-lsp']"
