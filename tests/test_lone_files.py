"""A file outside all folders indexes itself and the files that it imports, by each module style, within limits."""

import os
from pathlib import Path

import pytest
from weft import Config, Workspace
from weft.server.workspace import imported_files
from weft.server.workspace.projects import lone_file_root, project_folder

PYTHON = """\
#- x.py
import json
import x
import helper
from pkg.sub import thing
from missing import nothing
#- helper.py
from pkg import deep
#- pkg/__init__.py
#- pkg/sub.py
thing = 1
#- pkg/deep.py
import x
#- pkg/unused.py
#- unrelated.py
"""


def indexed(path: Path) -> list[str]:
    with Workspace([], Config(), cache=False) as workspace:
        workspace.add_file(path)
        workspace.index()
        return [key for folder in workspace._folders.with_lone for key in sorted(folder.snapshot.index.texts)]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (PYTHON, ["helper.py", "pkg/__init__.py", "pkg/deep.py", "pkg/sub.py", "x.py"]),
        ("#- x.ts\nimport { a } from './lib/a';\n#- lib/a.ts\nexport * from '../b';\n#- b.ts\n#- c.ts\n", "b lib/a x"),
        ('#- x.c\n#include <stdio.h>\n#include "a.h"\n#- include/a.h\n#- b.h\n', ["include/a.h", "x.c"]),
        ("#- x.lua\nlocal a = require('lib.a')\n#- lib/a.lua\n#- b.lua\n", ["lib/a.lua", "x.lua"]),
        ("#- x.sh\n. ./lib.sh\n#- lib.sh\n#- other.sh\n", ["lib.sh", "x.sh"]),
        ("#- x.rb\nrequire_relative 'lib/a'\n#- lib/a.rb\n#- b.rb\n", ["lib/a.rb", "x.rb"]),
        ("#- x.java\nimport shop.Price;\n#- shop/Price.java\n#- shop/Other.java\n", ["shop/Price.java", "x.java"]),
        ("#- main.rs\nmod a;\n#- a.rs\nuse crate::b::B;\n#- b.rs\n#- c.rs\n", ["a.rs", "b.rs", "main.rs"]),
        (
            '#- go.mod\nmodule ex.com/m\n#- x.go\npackage main\nimport "ex.com/m/pkg"\n#- pkg/a.go\npackage pkg\n'
            "#- pkg/b.go\npackage pkg\n#- other/c.go\npackage other\n",
            ["go.mod", "pkg/a.go", "pkg/b.go", "x.go"],
        ),
    ],
    ids=["python", "typescript", "c", "lua", "shell", "ruby", "java", "rust", "go"],
)
def test_a_lone_file_indexes_itself_and_what_it_imports(project, files, expected):
    folder = project(files)
    name = next(path.name for path in folder.iterdir() if path.stem in ("x", "main"))
    expected = expected if isinstance(expected, list) else [f"{stem}.ts" for stem in expected.split()]
    assert indexed(folder / name) == expected


def test_imports_of_an_open_file_are_followed_while_it_changes(project):
    folder = project(PYTHON)
    path = folder / "x.py"
    with Workspace([], Config(), cache=False) as workspace:
        workspace.watch()
        workspace.index()
        workspace.open_buffer(path, "import helper\n")
        workspace.flush()
        assert workspace.status().n_files == 4
        workspace.edit_buffer(path, "import unrelated\n")
        workspace.flush()
        assert workspace.status().n_files == 2
        workspace.close_buffer(path)
        workspace.flush()
        assert workspace.status().n_files == 0


def test_links_secrets_and_ignored_files_are_no_imports(project, tmp_path):
    folder = project(
        """
        #- x.py
        import linked, ignored, way_out.stolen, id_rsa, credentials
        #- ignored.py
        #- .gitignore
        ignored.py
        #- .git/HEAD
        #- credentials.json
        """
    )
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "stolen.py").write_text("stolen = 1\n")
    os.symlink(outside / "stolen.py", folder / "linked.py")
    os.symlink(outside, folder / "way_out")
    assert indexed(folder / "x.py") == ["x.py"]


def test_a_link_to_a_lone_file_and_a_missing_folder_are_safe(project, tmp_path):
    folder = project(PYTHON)
    os.symlink(folder / "x.py", tmp_path / "link.py")
    assert len(indexed(tmp_path / "link.py")) == 5
    assert indexed(tmp_path / "nowhere" / "x.py") == []


def test_the_number_of_files_is_limited(project, monkeypatch):
    monkeypatch.setattr(imported_files, "MAX_FILES", 4)
    chain = "".join(f"#- m{n}.py\nimport m{n + 1}\n" for n in range(20))
    assert indexed(project(chain) / "m0.py") == ["m0.py", "m1.py", "m2.py", "m3.py"]


def test_the_root_of_a_lone_file_is_its_project_or_above_its_package(project, monkeypatch):
    folder = project(
        """
        #- app/package.json
        #- app/src/a.ts
        #- pkg/__init__.py
        #- pkg/inner/__init__.py
        #- pkg/inner/a.py
        #- plain/a.py
        """
    )
    assert lone_file_root(folder / "app" / "src" / "a.ts") == folder / "app"
    assert lone_file_root(folder / "pkg" / "inner" / "a.py") == folder
    assert lone_file_root(folder / "plain" / "a.py") == folder / "plain"
    monkeypatch.setenv("HOME", str(folder / "app"))
    assert project_folder(folder / "app" / "src" / "a.ts") is None  # a manifest in the home folder makes no project
