"""Workflows, image and compose file agree with the project and with each other. The linters run in the workflow."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from repository import ROOT, copy_repository, repository_files
from weft.server.config import load_config
from weft.version import __version__

WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / ".github/workflows").glob("*.yml")}
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
STEPS = [
    (f"{name}/{job}", step)
    for name, workflow in WORKFLOWS.items()
    for job, details in workflow["jobs"].items()
    for step in details["steps"]
]


def commands(part: str) -> str:
    return "\n".join(step.get("run", "") for where, step in STEPS if where.startswith(part))


def test_tests_run_on_every_system_and_every_python_that_the_metadata_names():
    matrix = WORKFLOWS["test"]["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
    assert matrix["python"] == named == ["3.10", "3.11", "3.12", "3.13", "3.14"]


def test_targets_of_make_exist():
    used = set(re.findall(r"\bmake (\w+)", commands("")))
    assert {"check", "dist"} <= used
    assert not [target for target in used if not re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)]


def test_the_workflow_selects_the_tests_that_make_selects():
    marked = re.compile(r'-m "(not slow and[^"]*)"')
    assert marked.findall(commands("test/tests")) == marked.findall(MAKEFILE)[:1]


def test_tokens_may_only_read_where_nothing_is_published():
    for workflow in WORKFLOWS.values():
        assert workflow["permissions"] == {"contents": "read"}
    release = WORKFLOWS["release"]["jobs"].items()
    may_more = {job: details["permissions"] for job, details in release if "permissions" in details}
    assert may_more == {"pypi": {"id-token": "write"}, "github": {"contents": "write"}}
    assert not [job for job in WORKFLOWS["test"]["jobs"].values() if "permissions" in job]


def test_pypi_is_reached_without_a_stored_secret():
    release = WORKFLOWS["release"]["jobs"]
    assert release["pypi"]["environment"] == "pypi"
    assert [job for job, details in release.items() if "secrets." in str(details)] == ["extension"]


def test_packages_are_published_only_after_they_were_installed_and_run():
    release = WORKFLOWS["release"]["jobs"]
    assert "make dist" in commands("release/build")
    for job in ("pypi", "extension", "github"):
        while job != "build":
            job = release[job]["needs"]


@pytest.mark.skipif(sys.platform == "win32", reason="the step runs in bash")
def test_a_tag_that_is_not_the_version_stops_the_release():
    (step,) = [step for _, step in STEPS if step.get("name") == "The tag is the version"]
    script = step["run"].replace("python ", f"{sys.executable} ")
    for tag, status in ((f"v{__version__}", 0), ("v99.0.0", 1), (__version__, 1)):
        done = subprocess.run(["bash", "-c", script], cwd=ROOT, env={**os.environ, "TAG": tag})
        assert done.returncode == status


def test_expressions_are_not_pasted_into_scripts():
    # A branch or a tag may have a name that is a command.
    assert not [where for where, step in STEPS if "${{" in step.get("run", "")]


def test_the_image_runs_as_a_user_and_keeps_its_data_in_a_volume():
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    assert final.startswith("python:3.13-slim\n")
    assert re.search(r"^USER \$\{UID\}$", final, re.MULTILINE) and "ARG UID=1000" in final
    (volume,) = re.findall(r"^VOLUME (.*)$", final, re.MULTILINE)
    folders = re.findall(r"(?:WEFT_CACHE_DIR|XDG_\w+)=(\S+)", final)
    assert len(folders) == 3 and all(folder.startswith(f"{volume}/") for folder in folders)


def included() -> list[str]:
    """The files that `.dockerignore` lets into the image."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    allowed = [line[1:] for line in lines if line.startswith("!")]
    assert all((ROOT / path).exists() for path in allowed if path != "editors/vscode/weft.vsix")
    return [name for name in repository_files() if any(name == path or fnmatch(name, f"{path}/*") for path in allowed)]


def test_the_image_gets_no_tests_and_no_benchmarks():
    names = included()
    assert {"pyproject.toml", "constraints.txt", "server/cli/main.py"} <= set(names)
    assert not [
        name for name in names if name.startswith(("tests/", "benchmarks/", "docs/", ".git", "editors/vscode/"))
    ]


@pytest.mark.slow
def test_the_files_of_the_image_build_the_wheel(tmp_path):
    whole = copy_repository(tmp_path / "whole")
    part = tmp_path / "part"
    for name in included():
        (part / name).parent.mkdir(parents=True, exist_ok=True)
        (part / name).write_bytes((ROOT / name).read_bytes())
    assert files_of_wheel(part, tmp_path / "1") == files_of_wheel(whole, tmp_path / "2")


def files_of_wheel(source: Path, out: Path) -> set[str]:
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", out, source], check=True)
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_configuration_of_the_compose_file_is_valid(tmp_path, monkeypatch):
    text = re.sub(r"\$\{MODEL:-([^}]+)\}", r"\1", COMPOSE["configs"]["weft.toml"]["content"])
    service = COMPOSE["services"]["weft"]
    target = service["configs"][0]["target"]
    (folder,) = re.findall(r"XDG_CONFIG_HOME=(\S+)", DOCKERFILE)
    assert target == f"{folder}/weft/weft.toml"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "weft").mkdir()
    (tmp_path / "weft/weft.toml").write_text(text)
    config, problems = load_config()
    assert not problems
    models = [(model.backend, model.url) for model in config.model]
    assert models == [("ollama", "http://ollama:11434"), ("workspace", "")]


def test_the_compose_file_asks_for_the_model_that_the_configuration_names():
    (pulled,) = COMPOSE["services"]["model"]["entrypoint"][2:]
    assert f'name = "{pulled}"' in COMPOSE["configs"]["weft.toml"]["content"]
    assert "ollama" in COMPOSE["services"]
