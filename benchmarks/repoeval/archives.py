"""Pinned archives: download with pip, check the hash, unpack the Python files.

Owns the list of archives and the layout of the work folder (`downloads/`, `trees/`).
Knows no task and no metric.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ...errors import UserError


class ArchiveError(UserError):
    """An archive could not be had. The message says which file, and what to do."""


@dataclass(frozen=True, slots=True)
class Archive:
    """One release on the package index. `repo` names the repository whose tasks it stands for."""

    repo: str
    requirement: str
    filename: str
    sha256: str
    python: str = "3.9"  # the interpreter whose wheel is wanted; the code is read, never run
    platform: str = ""

    @property
    def is_wheel(self) -> bool:
        return self.filename.endswith(".whl")


ARCHIVES = (
    Archive(
        "huggingface_diffusers",
        "diffusers==0.12.0",
        "diffusers-0.12.0-py3-none-any.whl",
        "050a0cc766c322a4fa6d462fa68bb1c94b1cc1cdeaf39ec14953ef54e38ad1b6",
    ),
    Archive(
        "nerfstudio-project_nerfstudio",
        "nerfstudio==0.1.14",
        "nerfstudio-0.1.14.tar.gz",
        "7f758b248e57ef2bf6b032cb5ac8b3a8579dc0fbf75139f4d3dd4fe7880b1a6a",
    ),
    Archive(
        "awslabs_fortuna",
        "aws-fortuna==0.1.8",
        "aws_fortuna-0.1.8-py3-none-any.whl",
        "41e1c5c5ae0c13f73cdf61da392dc1acf1f24aad9e4261ca9c8f6c90b1b21d5c",
    ),
    Archive(
        "huggingface_evaluate",
        "evaluate==0.4.0",
        "evaluate-0.4.0-py3-none-any.whl",
        "4b528de0f270cdfb077ca4877035dc17584d2c4b1cbc3fdd46afc3942ed557fd",
    ),
    Archive(
        "google_vizier",
        "google-vizier==0.0.19",
        "google_vizier-0.0.19-py3-none-any.whl",
        "111c6ace8b4be04a23788b3224793853674780c04464eb7d69e95be1df6c024e",
    ),
    Archive(
        "pytorch_rl",
        "torchrl==0.0.4a0",
        "torchrl-0.0.4a0-cp39-cp39-manylinux1_x86_64.whl",
        "c10e22c80d6bc6ea2c2c1cc1638c40398de34982d196c52b2036ddff55ba151b",
        platform="manylinux1_x86_64",
    ),
    Archive(
        "opendilab_ACE~DI-engine",
        "DI-engine==0.2.0",
        "DI-engine-0.2.0.tar.gz",
        "6dcdc948708d83b2e200e018a098f52538f6ba12caf4ff6b26185f9c10f32bba",
    ),
    Archive(
        "alibaba_FederatedScope~nvflare",
        "nvflare==2.2.3",
        "nvflare-2.2.3-py3-none-any.whl",
        "b29e9faba164e81fc874580553f73a79a73a89ef36040e00ed3c6aeaca1aa4cb",
        python="3.8",
    ),
)
"""Smallest set that covers RepoEval's repositories: ACE is a fork of DI-engine, and nvflare stands in for
FederatedScope, which is not packaged. Wheels hold no tests and examples, so figures are not the paper's."""


def checkout(archive: Archive, work: Path) -> Path:
    """Folder with the archive's Python files, downloaded and unpacked when it is not there yet.

    Raises `ArchiveError` when pip cannot download it or when the file is another one than pinned.
    """
    return unpack(archive, work, work / "trees" / archive.repo, (".py",))


def unpack(archive: Archive, work: Path, tree: Path, suffixes: tuple[str, ...]) -> Path:
    """`tree` with the archive's files of these suffixes, downloaded and unpacked when it is not there yet.

    Raises `ArchiveError` as `checkout` does.
    """
    if tree.is_dir():
        return tree
    source = download(archive, work / "downloads")
    # Unpacked beside and renamed, so an interrupted run leaves no half tree behind.
    half = tree.with_name(tree.name + ".part")
    shutil.rmtree(half, ignore_errors=True)
    for path, content in _files(source, archive.is_wheel, suffixes):
        target = half / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    half.rename(tree)
    return tree


def link_files(source: Path, target: Path) -> None:
    """The Python files of `source` under another folder, as hard links: a walk does not follow symbolic ones."""
    for path in source.rglob("*.py"):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists():
            os.link(path, copy)


def download(archive: Archive, folder: Path) -> Path:
    """The archive's file in `folder`, its hash checked. Raises `ArchiveError`."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / archive.filename
    if not target.exists():
        _run_pip(archive, folder)
    if not target.exists():
        raise ArchiveError(f"pip brought no {archive.filename} for {archive.requirement}: put it into {folder} by hand")
    found = hashlib.sha256(target.read_bytes()).hexdigest()
    if found != archive.sha256:
        raise ArchiveError(f"{target} has sha256 {found}, pinned is {archive.sha256}: delete it and run again")
    return target


def _run_pip(archive: Archive, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(folder)]
    environment = dict(os.environ)
    if archive.is_wheel:
        command += ["--only-binary", ":all:", "--python-version", archive.python, "--pre"]
        command += ["--platform", archive.platform] if archive.platform else []
    else:
        # pip asks a source archive for its metadata, and set-up files of that age need an old setuptools where
        # there is one for the interpreter.
        # Old pips take the constraint of a build from the first variable, new ones from the second;
        # each ignores what it does not know, which an option on the command line would not.
        constraints = folder / "build-constraints.txt"
        constraints.write_text("setuptools<66; python_version < '3.12'\n")
        environment |= {"PIP_CONSTRAINT": str(constraints), "PIP_BUILD_CONSTRAINT": str(constraints)}
        command += ["--no-binary", archive.requirement.partition("==")[0], "--ignore-requires-python"]
    done = subprocess.run([*command, archive.requirement], env=environment, capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise ArchiveError(
            f"pip could not download {archive.requirement} ({reason[0]}): put {archive.filename} into {folder} by hand"
        )


def _files(source: Path, is_wheel: bool, suffixes: tuple[str, ...]) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Relative path and content of every file of these suffixes; names that would leave the folder are refused."""
    if is_wheel:
        with zipfile.ZipFile(source) as wheel:
            for name in wheel.namelist():
                if name.endswith(suffixes):
                    yield _inside(PurePosixPath(name), source), wheel.read(name)
        return
    with tarfile.open(source) as sdist:
        for member in sdist:
            content = sdist.extractfile(member) if member.isfile() and member.name.endswith(suffixes) else None
            if content is not None:
                # The first folder is the release's own name, which is no part of the repository.
                yield _inside(PurePosixPath(*PurePosixPath(member.name).parts[1:]), source), content.read()


def _inside(path: PurePosixPath, source: Path) -> PurePosixPath:
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ArchiveError(f"{source} holds {path}, which lies outside its folder: do not use this archive")
    return path
