"""The entries for other projects name what this project is: its distribution, version, command and address."""

from __future__ import annotations

import json
import re

import yaml
from repository import ROOT
from weft.llm.installation import DISTRIBUTION, REPOSITORY
from weft.version import __version__

FOLDER = ROOT / "editors" / "upstream"
README = (FOLDER / "README.md").read_text("utf-8")


def test_masons_entry_installs_this_version_of_this_distribution():
    entry = yaml.safe_load((FOLDER / "mason.yaml").read_text("utf-8"))
    assert entry["source"]["id"] == f"pkg:pypi/{DISTRIBUTION}@{__version__}"
    assert (entry["name"], entry["homepage"], entry["licenses"]) == (DISTRIBUTION, REPOSITORY, ["Apache-2.0"])
    assert entry["bin"] == {"weft": "pypi:weft"}
    assert '\nweft = "weft.server.cli:main"\n' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_lsp_modes_list_of_clients_is_json():
    (block,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    entry = json.loads(block)
    assert entry["server-url"] == REPOSITORY and entry["installation"] == f"pipx install {DISTRIBUTION}"


def test_emacs_entries_are_balanced_and_start_the_server():
    (block,) = re.findall(r"```elisp\n(.*?)```", README, re.DOTALL)
    for text in ((FOLDER / "lsp-weft.el").read_text("utf-8"), block):
        code = re.sub(r'"[^"]*"|;[^\n]*', "", text)
        assert code.count("(") == code.count(")") > 0
        assert '("weft" "serve")' in text or '"weft" "serve"' in text


def test_every_entry_is_in_the_list():
    listed = set(re.findall(r"^\| `([\w.-]+)` \|", README, re.MULTILINE))
    assert listed == {path.name for path in FOLDER.iterdir()} - {"README.md"}
