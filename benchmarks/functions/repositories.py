"""The pinned releases of the function tasks: their source archives, the folders of code and tests, and their licences.

Every run unpacks the archive again after its hash was checked, so tests run on nothing else. None of the releases is
one that the workspace model was fitted on (`fit_trees`). Owns the list. Knows no task and no sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ..repoeval.archives import Archive, ArchiveError, download, unpack_file
from .sandbox import open_to_all


@dataclass(frozen=True, slots=True)
class Repository:
    """A release on the package index. Tasks come from the folder or file `code`, imports from the folder `imports`."""

    archive: Archive
    code: str
    imports: str
    tests: str
    licence: str

    @property
    def name(self) -> str:
        return self.archive.repo


# Left out after a try: Flask 3.1.3 (its fixtures need an older pytest), pyparsing 3.3.3 (two minutes of tests).
# Name, requirement, name of the file; its hash; code, folder of imports, tests, licence.
_PINNED = """
attrs attrs==26.1.0 attrs-26.1.0.tar.gz
    d03ceb89cb322a8fd706d4fb91940737b6642aa36998fe130a9bc96c985eff32 src/attr src tests MIT
boltons boltons==26.2.0 boltons-26.2.0.tar.gz
    d39cfd15c1a1c3bd4d705c82252fa9edb8e4f5e8cc039f8e39afac7b1b47e92c boltons . tests BSD-3-Clause
cachetools cachetools==8.0.2 cachetools-8.0.2.tar.gz
    30ac523adfc118b51d2b2e7bad8a0ddb31370dfe2700c7f10ca224f36ccf81e0 src/cachetools src tests MIT
glom glom==25.12.0 glom-25.12.0.tar.gz
    1ae7da88be3693df40ad27bdf57a765a55c075c86c971bcddd67927403eb0069 glom . glom/test BSD-3-Clause
humanize humanize==4.17.0 humanize-4.17.0.tar.gz
    1d6a36c453dbfbb3f0b34601d2e0b4ce5d48d780305cd45714843f0068fde6ac src/humanize src tests MIT
itsdangerous itsdangerous==2.2.0 itsdangerous-2.2.0.tar.gz
    e0050c0b7da1eea53ffaf149c0cfbb5c6e2e2b69c4bef22c81fa6eb73e5f6173 src/itsdangerous src tests BSD-3-Clause
mistune mistune==3.4.0 mistune-3.4.0.tar.gz
    2eaf7952af928ca8d33b779762effc1da517b62c6ad85ec8ca957e3b07b9782a src/mistune src tests BSD-3-Clause
more-itertools more-itertools==11.2.1 more_itertools-11.2.1.tar.gz
    cbf08fd0af284dc69718b9b76a8e6203df624d70209ea511e4219d350c856f63 more_itertools . tests MIT
parso parso==0.8.7 parso-0.8.7.tar.gz
    eaaac4c9fdd5e9e8852dc778d2d7405897ec510f2a298071453e5e3a07914bb1 parso . test MIT
sqlite-utils sqlite-utils==4.2.1 sqlite_utils-4.2.1.tar.gz
    76114b6a5414714e6c70e5fa5c4781b301b590f6951b5da39c8cc60c21382ba1 sqlite_utils . tests Apache-2.0
tabulate tabulate==0.10.0 tabulate-0.10.0.tar.gz
    e2cfde8f79420f6deeffdeda9aaec3b6bc5abce947655d17ac662b126e48a60d tabulate . test MIT
tomlkit tomlkit==0.15.2 tomlkit-0.15.2.tar.gz
    83e32755ba1d20d9340bd069ee97e9f6232ba2346b63ffcba425de01f7e327a6 tomlkit . tests MIT
toolz toolz==1.2.0 toolz-1.2.0.tar.gz
    9667a038e9d6ecba37995e26cb2f59ec6420b6ad8dd9677de59db9b956b08490 toolz . toolz/tests BSD-3-Clause
"""


def _repositories() -> Iterator[Repository]:
    lines = iter(_PINNED.split("\n")[1:-1])
    for names, contents in zip(lines, lines, strict=True):
        (name, requirement, filename), (sha256, *folders) = names.split(), contents.split()
        yield Repository(Archive(name, requirement, filename, sha256), *folders)


REPOSITORIES = {repository.name: repository for repository in _repositories()}


def chosen(parts: list[str] | None) -> list[Repository]:
    """The repositories whose names contain one of these parts; all for none. Raises ArchiveError."""
    found = [each for each in REPOSITORIES.values() if not parts or any(part in each.name for part in parts)]
    if not found:
        raise ArchiveError(f"No repository name contains any of {parts}. Choose one of {', '.join(REPOSITORIES)}.")
    return found


@contextmanager
def unpacked(repository: Repository, work: Path) -> Iterator[Path]:
    """A temporary folder with all files of the release, fresh from the archive with the pinned hash."""
    source = download(repository.archive, work / "downloads")
    with TemporaryDirectory(prefix="weft-functions-") as folder:
        tree = Path(folder) / repository.name
        unpack_file(source, tree, ("",), is_wheel=False)
        open_to_all(Path(folder))
        yield tree
