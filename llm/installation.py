"""Detection of the installer of this Weft, and the command that adds an extra or a package to its environment.

Owns the name of the distribution. Reads the metadata of installers: `direct_url.json` (PEP 610), `INSTALLER` (PEP 376),
`pipx_metadata.json` and `uv-receipt.toml`. Runs nothing. In `llm/`, since all rooms that need it may import `llm/`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

# `weft` on the Python package index is another project. The command and the package are still `weft`.
DISTRIBUTION = "weft-lsp"
REPOSITORY = "https://github.com/weft-lsp/weft"
CLONE, PIP, UV_PIP, PIPX, PIPX_RUN, UV_TOOL, UVX = "clone", "pip", "uv pip", "pipx", "pipx run", "uv tool", "uvx"

_COMMANDS = {
    PIPX: "pipx install --force {requirement}",
    PIPX_RUN: "pipx run --spec {requirement} weft",
    UV_TOOL: "uv tool install {requirement}{beside}",
    UVX: "uvx --from {requirement}{beside} weft",
}
_PLAIN = re.compile(r"[\w./:\\+=~-]+")
_EXTRAS = re.compile(rf'{DISTRIBUTION}(?:", extras = )?\[([^\]]*)\]')
_UV_REQUIREMENT = re.compile(r'\{ name = "([\w.-]+)"')


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation of Weft, with the values that its commands need."""

    kind: str
    python: str
    clone: str = ""  # the folder of an editable installation
    source: str = ""  # the URL of the distribution; "" for a package index
    constraints: str = ""
    extras: frozenset[str] = field(default_factory=frozenset)  # installed ones, which pipx and uv would remove
    packages: tuple[str, ...] = ()  # the same for packages beside Weft

    def extra_command(self, *extras: str) -> str:
        """The command that installs extras of Weft."""
        if self.kind in _COMMANDS:
            extras = tuple(sorted(self.extras.union(extras)))
        return self._command(f"[{','.join(extras)}]", ())

    def package_command(self, *packages: str) -> str:
        """The command that installs other packages beside Weft."""
        if self.kind == PIPX:
            return f"pipx inject {DISTRIBUTION} {_words(packages)}"
        if self.kind in (UV_TOOL, UVX):
            return self._command(f"[{','.join(sorted(self.extras))}]" if self.extras else "", packages)
        if self.kind == PIPX_RUN:
            return f"pipx install {_word(self._requirement(''))}, then pipx inject {DISTRIBUTION} {_words(packages)}"
        return f"{self._installer} {_words(packages)}"

    @property
    def _installer(self) -> str:
        python = _word(self.python)
        return f"uv pip install --python {python}" if self.kind == UV_PIP else f"{python} -m pip install"

    def _command(self, extras: str, packages: tuple[str, ...]) -> str:
        requirement = _word(self._requirement(extras))
        beside = "".join(f" --with {_word(each)}" for each in dict.fromkeys((*self.packages, *packages)))
        if self.kind in _COMMANDS:
            return _COMMANDS[self.kind].format(requirement=requirement, beside=beside)
        constraints = f" -c {_word(self.constraints)}" if self.constraints else ""
        editable = f" -e {_quoted(self.clone + extras)}" if self.clone else f" {requirement}"
        return f"{self._installer}{constraints}{editable}"

    def _requirement(self, extras: str) -> str:
        return f"{DISTRIBUTION}{extras}{f' @ {self.source}' if self.source else ''}"


def install_command(*extras: str) -> str:
    """The command that installs extras of Weft, for how it was installed here."""
    return _this_one().extra_command(*extras)


def install_packages_command(*packages: str) -> str:
    """The command that installs other packages where this Weft can import them."""
    return _this_one().package_command(*packages)


def runs_in_place() -> bool:
    """Whether the command of `install_command` changes this installation, which then has the extra."""
    return _this_one().kind not in (PIPX_RUN, UVX)


def clone_command(run: str, *extras: str) -> str:
    """The commands that clone the repository, set it up with extras of Weft, and run `run` there."""
    install = f'.venv/bin/pip install -c constraints.txt -e ".[{",".join(extras)}]"'
    return f"git clone {REPOSITORY} && cd weft && python3 -m venv .venv && {install} && {run}"


def find_installation(prefix: Path, python: str, installed: Distribution | None, root: Path) -> Installation:
    """The installation in the environment at `prefix`; `installed` is None for sources in `root`."""
    direct = _json(installed.read_text("direct_url.json") if installed else None)
    installer = (installed.read_text("INSTALLER") or "").strip() if installed else ""
    url = str(direct.get("url", ""))
    folder = _folder_of(url)
    how = direct.get("dir_info")
    is_editable = isinstance(how, dict) and how.get("editable") is True
    clone = folder if is_editable else "" if installed else str(root)
    constraints = str(Path(folder or clone, "constraints.txt")) if folder or clone else ""
    pipx, uv = _text(prefix / "pipx_metadata.json"), _text(prefix / "uv-receipt.toml").partition("entrypoints")[0]
    recorded = _EXTRAS.search(pipx or uv)
    beside = (name for name in _UV_REQUIREMENT.findall(uv) if name != DISTRIBUTION)
    return Installation(
        _kind(prefix, installer, bool(pipx), bool(uv), bool(clone)),
        python,
        clone=clone,
        source="" if clone else _source(direct, url, folder),
        constraints=constraints if constraints and Path(constraints).is_file() else "",
        extras=frozenset(re.findall(r"[\w-]+", recorded.group(1)) if recorded else ()),
        packages=tuple(beside),
    )


def _kind(prefix: Path, installer: str, has_pipx: bool, has_uv: bool, has_clone: bool) -> str:
    if has_pipx:
        return PIPX if prefix.parent.name == "venvs" else PIPX_RUN
    if has_uv:
        return UV_TOOL
    if installer == "uv":
        return UVX if prefix.parent.name.startswith(("archive-v", "environments-v")) else UV_PIP
    return CLONE if has_clone else PIP


def _source(direct: dict[str, object], url: str, folder: str) -> str:
    """The URL for PEP 508; "" for a deleted file, which only an index can replace."""
    version_control = direct.get("vcs_info")
    if isinstance(version_control, dict):
        return f"{version_control.get('vcs', 'git')}+{url}@{version_control.get('commit_id', 'HEAD')}"
    return url if not folder or Path(folder).exists() else ""


def _folder_of(url: str) -> str:
    if not url.startswith("file://"):
        return ""
    return url2pathname(urlsplit(url).path)


@cache
def _this_one() -> Installation:
    # Source folders have metadata without INSTALLER, which a process started there finds first.
    installed = next((each for each in distributions(name=DISTRIBUTION) if each.read_text("INSTALLER")), None)
    return find_installation(Path(sys.prefix), sys.executable, installed, Path(__file__).resolve().parents[1])


def _json(text: str | None) -> dict[str, object]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _words(texts: Iterable[str]) -> str:
    return " ".join(map(_word, texts))


def _word(text: str) -> str:
    """An argument, quoted if needed for a POSIX or Windows shell."""
    return text if _PLAIN.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    return f'"{text}"'
