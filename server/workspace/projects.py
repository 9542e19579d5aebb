"""Project detection: the project of a file, and folders that are too broad to index without a question.

Owns the marker files of projects and the names of broad folders: the home folder, the root of a disk, folders for
temporary files, system folders, and folders of several projects. Reads names on disk, no content.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

_REPOSITORY_FOLDERS = (".git", ".hg", ".svn")
_PROJECT_FILES = (
    *("weft.toml", "pyproject.toml", "setup.py", "package.json", "go.mod", "Cargo.toml", "pom.xml", "build.sbt"),
    *("settings.gradle", "settings.gradle.kts", "Package.swift", "composer.json", "Gemfile", "*.sln", "*.slnx"),
)
_BUILD_FILES = ("CMakeLists.txt", "meson.build", "configure.ac", "Makefile", "build.gradle", "build.gradle.kts")

_SYSTEM_FOLDERS = (
    *("/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/proc", "/run"),
    *("/sbin", "/srv", "/sys", "/usr", "/usr/include", "/usr/lib", "/usr/local", "/usr/share", "/usr/src", "/var"),
    *("/var/lib", "/Applications", "/Library", "/System", "/Users", "/Volumes", "/private", "/opt/homebrew"),
    *("C:/Windows", "C:/Users", "C:/Program Files", "C:/Program Files (x86)", "C:/ProgramData"),
)
_TEMPORARY_FOLDERS = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm")

MIN_PROJECTS = 5
"""A folder with this many projects as direct subfolders, and in no project itself, is a folder of projects."""

MAX_SUBFOLDERS = 500
"""At most this many subfolders are examined for projects."""


def project_folder(path: Path) -> Path | None:
    """The project of a file: its repository, else the nearest folder with the files of a project, else of a build.

    Markers in a broad folder such as the home folder do not count. None if there are none.
    """
    for names in (_REPOSITORY_FOLDERS, _PROJECT_FILES, _BUILD_FILES):
        for folder in path.parents:
            if _has_any(folder, names) and not _broad_by_name(folder):
                return folder
    return None


def lone_file_root(path: Path) -> Path:
    """The folder below which the imports of a lone file are found.

    Its project; without one, its folder, or for a file of a Python package the folder that contains the package.
    """
    project = project_folder(path)
    if project is not None:
        return project
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


def broad_reason(folder: Path) -> str:
    """Why a folder is too broad to index without a question, as the end of a sentence; "" if it is not."""
    reason = _broad_by_name(folder)
    if reason:
        return reason
    if any(_has_any(each, _REPOSITORY_FOLDERS) for each in (folder, *folder.parents) if not _broad_by_name(each)):
        return ""
    if _has_any(folder, (*_PROJECT_FILES, *_BUILD_FILES)):
        return ""
    return f"contains {MIN_PROJECTS} or more projects" if _holds_projects(folder) else ""


def _broad_by_name(folder: Path) -> str:
    if folder == folder.parent:
        return "is the root of a disk"
    home = _real(os.path.expanduser("~"))
    if folder == home:
        return "is your home folder"
    if folder in {_real(tempfile.gettempdir()), *map(_real, _TEMPORARY_FOLDERS)}:
        return "is a folder for temporary files"
    if folder in home.parents:
        return "contains your home folder"
    return "is a system folder" if folder in map(Path, _SYSTEM_FOLDERS) else ""


def _holds_projects(folder: Path) -> bool:
    names = (*_REPOSITORY_FOLDERS, *(name for name in _PROJECT_FILES if "*" not in name))
    n_folders = n_projects = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
                continue
            n_folders += 1
            n_projects += any(os.path.lexists(os.path.join(entry.path, name)) for name in names)
            if n_projects >= MIN_PROJECTS or n_folders >= MAX_SUBFOLDERS:
                break
    return n_projects >= MIN_PROJECTS


def _has_any(folder: Path, names: tuple[str, ...]) -> bool:
    with suppress(OSError):
        return any(
            any(folder.glob(name)) if "*" in name else os.path.lexists(os.path.join(folder, name)) for name in names
        )
    return False


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))
