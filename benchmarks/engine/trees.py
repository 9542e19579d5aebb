"""Pinned source trees that speed is measured on, alone and side by side.

Owns the list and its layout on disk. Downloading and checking is the completion benchmark's.
"""

from __future__ import annotations

from pathlib import Path

from ..repoeval.archives import ARCHIVES, Archive, checkout, link_files

_LINUX = "manylinux2014_x86_64"

NETWORKX = Archive(
    "networkx",
    "networkx==3.4.2",
    "networkx-3.4.2-py3-none-any.whl",
    "df5d4365b724cf81b8c6a7312509d0c22386097011ad1abe274afd5e9d3bbc5f",
    python="3.10",
)
DI_ENGINE = next(archive for archive in ARCHIVES if archive.requirement.startswith("DI-engine"))
SIDE_BY_SIDE = (
    NETWORKX,
    Archive(
        "django",
        "Django==5.1.4",
        "Django-5.1.4-py3-none-any.whl",
        "236e023f021f5ce7dee5779de7b286565fdea5f4ab86bae5338e3f7b69896cf0",
        python="3.10",
    ),
    Archive(
        "pandas",
        "pandas==2.2.3",
        "pandas-2.2.3-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "86976a1c5b25ae3f8ccae3a5306e443569ee3c3faf444dfd0f41cda24667ad57",
        python="3.10",
        platform=_LINUX,
    ),
    Archive(
        "sqlalchemy",
        "SQLAlchemy==2.0.36",
        "SQLAlchemy-2.0.36-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "c245b1fbade9c35e5bd3b64270ab49ce990369018289ecfde3f9c318411aaa07",
        python="3.10",
        platform=_LINUX,
    ),
)

TREES = ("DI-engine", "networkx", "million")
"""About 73 thousand, 183 thousand and 1.2 million lines."""


def tree(name: str, work: Path) -> Path:
    """The folder of one of `TREES`, downloaded when it is not there yet."""
    if name == "DI-engine":
        return checkout(DI_ENGINE, work)
    if name == "networkx":
        return checkout(NETWORKX, work)
    if name != "million":
        raise ValueError(f"there is no tree {name!r}; choose one of {', '.join(TREES)}")
    folder = work / "trees" / "million"
    folder.mkdir(parents=True, exist_ok=True)
    for archive in SIDE_BY_SIDE:
        target = folder / archive.repo
        if not target.is_dir():
            half = target.with_name(target.name + ".part")
            link_files(checkout(archive, work), half)
            half.rename(target)
    return folder
