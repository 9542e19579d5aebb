"""What `pyproject.toml` cannot say: a wheel without the trainers, a README whose links work on a package index, and the
C kernel, which is optional.

An editable installation runs the sources, trainers included. Without a C compiler, or with WEFT_KERNEL=0, nothing is
compiled and the plain twins of the kernel run.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
TRAINERS = ("weft.llm.training", "weft.memory.memorag.beacon.training")
STUB = Path("distribution", "trainer")  # relative, since a list of the source distribution has it


class BuildWithoutTrainers(build_py):
    """Replaces each trainer by a package that says where it is."""

    def run(self) -> None:
        if not self.editable_mode:
            # pip builds in this folder: files of an earlier build would be in the wheel.
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """The modules of a package as (package, module, file)."""
        if package in TRAINERS:
            return [(package, name, str(STUB / f"{name}.py")) for name in ("__init__", "__main__")]
        modules = super().find_package_modules(package, package_dir)
        return [module for module in modules if module[1] != "setup"]


def kernel() -> dict[str, Any]:
    """The arguments of `setup` for the C kernel: one file for CPython 3.10 and newer. Empty with WEFT_KERNEL=0."""
    if os.environ.get("WEFT_KERNEL") == "0":
        return {}
    extension = Extension(
        "weft.native.kernel",
        ["native/kernel.c"],
        define_macros=[("Py_LIMITED_API", "0x030A0000")],
        py_limited_api=True,
        optional=True,
    )
    return {"ext_modules": [extension], "options": {"bdist_wheel": {"py_limited_api": "cp310"}}}


def with_absolute_links(text: str, repository: str, version: str) -> str:
    """Markdown whose relative links lead to the files of this version in the repository."""
    text = re.sub(r"(!\[[^]]*\]\()(?![a-z]+:|#)", rf"\1{repository}/raw/v{version}/", text)
    return re.sub(r"(\]\()(?![a-z]+:|#)", rf"\1{repository}/blob/v{version}/", text)


def value_in(file: str, name: str) -> str:
    """The text in quotes that `name` is set to in a file."""
    found = re.search(rf'^{name} = "(.+)"$', (ROOT / file).read_text("utf-8"), re.MULTILINE)
    if not found:
        raise ValueError(f'{file} has no line `{name} = "…"`.')
    return found[1]


if __name__ == "__main__":
    setup(
        cmdclass={"build_py": BuildWithoutTrainers},
        long_description=with_absolute_links(
            (ROOT / "README.md").read_text("utf-8"),
            value_in("pyproject.toml", "Repository"),
            value_in("version.py", "__version__"),
        ),
        long_description_content_type="text/markdown",
        **kernel(),
    )
