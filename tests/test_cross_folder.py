"""A workspace with several folders: code of one folder is found from another, and shown with the folder's name."""

import json
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft import Config, RetrievalOptions, Workspace
from weft.codegraph import CodeGraph, parse_file, strongest_paths
from weft.codegraph.modules import ModuleIndex, ModuleQuery, read_manifest
from weft.llm import Cancel, CompletionRequest
from weft.llm.workspace_model.model import WorkspaceModel
from weft.server.config import IndexOptions
from weft.server.output.as_json import explanation_json
from weft.server.workspace.analysis import analyse
from weft.server.workspace.cross_folder import CrossFolderIndex, CrossFolderSnapshot
from weft.server.workspace.folder import Folder
from weft.server.workspace.writer import Writer

PRICE = "def total_price(items, discount):\n    return sum(item.price for item in items) * (1 - discount)\n"
SHOP = "from price import total_price\n\n\ndef pay(cart):\n    return total_price(cart.items, cart.discount)\n"


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setattr("weft.server.workspace.buffers.MAX_INDEXING_WAIT_S", 30)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def opened(root: Path, folders: str, files: dict[str, str], *, cache: bool = False, **options) -> Workspace:
    """A workspace with these folders below a root; "." is the root."""
    write(root, files)
    config = Config(index=IndexOptions(**options))
    workspace = Workspace([root / folder for folder in folders.split()], config, cache=cache)
    workspace.index()
    workspace.flush()
    return workspace


def shown(workspace: Workspace, path: Path, text: str, strategy: str = "weft") -> list[str]:
    """The paths of the fragments for the end of a text."""
    return [place.path for place in places(workspace, path, text, strategy)]


def places(workspace: Workspace, path: Path, text: str, strategy: str = "weft"):
    workspace.open_buffer(path, text)
    lines = text.split("\n")
    found = workspace.retrieve(path, len(lines) - 1, len(lines[-1]), options=RetrievalOptions(strategy=strategy))
    return [place for ranked in found.fragments for place in ranked.fragment.locations]


def edges(workspace: Workspace, root: Path, folder: str, path: str) -> list[str]:
    """The resolved calls of a file of a folder, as shown paths and names."""
    workspace.flush()
    snapshot = workspace._folders.snapshot_of(str((root / folder).resolve()))
    found = snapshot.index.graph.call_edges(snapshot.index_path(path))
    show = snapshot.paths if isinstance(snapshot, CrossFolderSnapshot) else lambda: None
    return [f"{show[edge.path]}::{edge.qualified_name}" for edge in found]


# What crosses folders


def test_a_definition_in_another_folder_is_found_and_named_by_its_folder(tmp_path):
    with opened(tmp_path, "api app", {"api/price.py": PRICE, "app/shop.py": SHOP}) as workspace:
        found = shown(workspace, tmp_path / "app/pay.py", "from price import total_price\n\ntotal = total_")
        assert "api/price.py" in found
        assert "shop.py" in found  # the plain path of the own folder
        assert edges(workspace, tmp_path, "app", "shop.py") == ["api/price.py::total_price"]


@pytest.mark.parametrize("strategy", ["weft", "bm25", "jaccard", "fragrel"])
def test_every_strategy_crosses(tmp_path, strategy):
    with opened(tmp_path, "api app", {"api/price.py": PRICE, "app/shop.py": SHOP}) as workspace:
        text = "def sum_items(items, discount):\n    return sum(item.price for item in items)"
        assert "api/price.py" in shown(workspace, tmp_path / "app/pay.py", text, strategy)


def test_links_and_explanations_lead_to_the_other_folder(tmp_path):
    with opened(tmp_path, "api app", {"api/price.py": PRICE, "app/shop.py": SHOP}) as workspace:
        text = "from price import total_price\n\n\ndef owe(cart):\n    due = total_price(cart.items, 0)\n    return "
        workspace.open_buffer(tmp_path / "app/owe.py", text)
        result = explanation_json(workspace.explain(tmp_path / "app/owe.py", 5, 11))
        uris = {place["path"]: place["uri"] for fragment in result["fragments"] for place in fragment["places"]}
        assert uris["api/price.py"] == (tmp_path / "api/price.py").resolve().as_uri()
        assert uris["shop.py"] == (tmp_path / "app/shop.py").resolve().as_uri()
        assert {line["uri"] for line in result["page"] if line["text"].startswith("1. ")} <= set(uris.values())
        (price,) = [f for f in result["fragments"] if f["places"][0]["path"] == "api/price.py"]
        details = [part["detail"] for part in price["parts"] if part["name"] == "called by similar code"]
        assert details == ["shop.py:1-5"]
        ways = " ".join(step for fragment in result["fragments"] for step in fragment["way"])
        assert "api/price.py: def total_price" in ways
        assert "app/" not in ways


def test_an_explanation_is_not_disturbed_by_an_edit_of_another_folder(tmp_path, monkeypatch):
    with opened(tmp_path, "api app", {"api/price.py": PRICE, "app/shop.py": SHOP}) as workspace:
        text = "from price import total_price\n\n\ndef owe(cart):\n    due = total_price(cart.items, 0)\n    return "
        workspace.open_buffer(tmp_path / "app/owe.py", text)
        expected = workspace.explain(tmp_path / "app/owe.py", 5, 11)
        expand, n_edits = strongest_paths._Search.expand, 0

        def edited(self, most):
            nonlocal n_edits
            if n_edits < 3:
                n_edits += 1
                added = "".join(f"\n\ndef added_{number}():\n    pass\n" for number in range(n_edits))
                workspace.open_buffer(tmp_path / "api/price.py", PRICE + added)
                workspace.flush()
            return expand(self, most)

        monkeypatch.setattr(strongest_paths._Search, "expand", edited)
        found = workspace.explain(tmp_path / "app/owe.py", 5, 11)
        assert [ranked.path for ranked in found.fragments] == [ranked.path for ranked in expected.fragments]
        assert n_edits == 3


def test_the_workspace_model_copies_lines_of_another_folder(tmp_path):
    line = "registry.register_handler('invoice', InvoiceHandler(timeout=30))\n"
    files = {f"api/h{n}.py": f"import registry\n\n\ndef setup():\n    {line}" for n in range(3)}
    with opened(tmp_path, "api app", {**files, "app/shop.py": SHOP}) as workspace:
        text = "import registry\n\n\ndef setup():\n    registry.register_handler("
        workspace.open_buffer(tmp_path / "app/own.py", text)
        done = workspace.complete(tmp_path / "app/own.py", 4, len("    registry.register_handler("), trigger="invoked")
        assert done.text == "'invoice', InvoiceHandler(timeout=30))"


def written(model: WorkspaceModel, request: CompletionRequest) -> str:
    return "".join(piece.text for piece in model.stream(request, Cancel()))


def test_the_indexed_version_of_the_own_file_is_not_copied(tmp_path):
    text = "alpha_beta_gamma(delta_epsilon, zeta_eta_theta)\n"
    with opened(tmp_path, "api app", {"api/price.py": PRICE, "app/own.py": text}) as workspace:
        model = workspace._folders.snapshot_of(str((tmp_path / "app").resolve())).model.with_threshold(0.0)
        request = CompletionRequest("own.py", "python", "alpha_beta_gamma(delta_epsilon, ", "", ())
        assert written(model, request) != "zeta_eta_theta)"
        elsewhere = CompletionRequest("new.py", "python", "alpha_beta_gamma(delta_epsilon, ", "", ())
        assert written(model, elsewhere) == "zeta_eta_theta)"


def test_the_setting_turns_it_off(tmp_path):
    files = {"api/price.py": PRICE, "app/shop.py": SHOP}
    with opened(tmp_path, "api app", files, cross_folders=False) as workspace:
        assert shown(workspace, tmp_path / "app/pay.py", "from price import total_price\n\ntotal = total_") == [
            "shop.py"
        ]
        workspace.configure(Config())
        workspace.flush()
        assert "api/price.py" in shown(workspace, tmp_path / "app/pay.py", "from price import total_price\n\ntotal_")


def test_a_single_folder_has_no_joint_index(tmp_path):
    with opened(tmp_path, "app", {"app/shop.py": SHOP, "app/price.py": PRICE}) as workspace:
        (folder,) = workspace._folders
        assert folder.view is folder.snapshot


# What stays per folder


def test_ignored_and_secret_files_of_another_folder_stay_out(tmp_path):
    files = {
        "api/.gitignore": "hidden.py\n",
        "api/hidden.py": PRICE,
        "api/.env": "TOTAL_PRICE=total_price\n",
        "app/hidden.py": PRICE.replace("total", "sum"),
        "app/shop.py": SHOP,
    }
    with opened(tmp_path, "api app", files) as workspace:
        found = shown(workspace, tmp_path / "app/pay.py", "total = total_price(items, discount)\nsum_price(")
        assert "hidden.py" in found
        assert not any(path.startswith("api/") for path in found)


def test_a_file_that_the_inner_folder_ignores_is_not_found_through_the_outer_one(tmp_path):
    files = {"app/shop.py": SHOP, "lib/.gitignore": "", "lib/price.py": PRICE}
    with opened(tmp_path, ". lib", files) as workspace:
        assert "lib/price.py" in shown(workspace, tmp_path / "app/pay.py", "total = total_price(items, discount)")
        write(tmp_path, {"lib/.weftignore": "price.py\n"})
        workspace.index()
        workspace.flush()
        assert "lib/price.py" not in shown(workspace, tmp_path / "app/pay.py", "total = total_price(items, discount)")


def test_unsaved_edits_of_another_folder_are_seen(tmp_path):
    with opened(tmp_path, "api app", {"api/price.py": PRICE, "app/shop.py": SHOP}) as workspace:
        workspace.open_buffer(tmp_path / "api/price.py", PRICE.replace("total_price", "gross_price"))
        text = "from price import gross_price\n\ngross_price(1, 2)\n"
        workspace.open_buffer(tmp_path / "app/shop.py", text)
        assert edges(workspace, tmp_path, "app", "shop.py") == ["api/price.py::gross_price"]
        workspace.close_buffer(tmp_path / "api/price.py")
        workspace.flush()
        assert edges(workspace, tmp_path, "app", "shop.py") == []


def test_a_document_without_a_file_is_completed_with_all_folders(tmp_path):
    with opened(tmp_path, "api app", {"api/price.py": PRICE, "app/shop.py": SHOP}) as workspace:
        found = shown(workspace, Path("/untitled:/elsewhere.py"), "total = total_price(items, discount)")
        assert sorted(found) == ["app/shop.py", "price.py"]  # the first folder serves it


# Folders come and go


def test_a_folder_is_added_and_removed_at_run_time(tmp_path):
    with opened(tmp_path, "app", {"api/price.py": PRICE, "app/shop.py": SHOP}) as workspace:
        assert edges(workspace, tmp_path, "app", "shop.py") == []
        workspace.add_folder(tmp_path / "api")
        assert edges(workspace, tmp_path, "app", "shop.py") == ["api/price.py::total_price"]
        workspace.remove_folder(tmp_path / "api")
        text = "from price import total_price\n\ntotal = total_"
        assert shown(workspace, tmp_path / "app/pay.py", text) == ["shop.py"]


def test_cached_indexes_join(tmp_path):
    files = {"api/price.py": PRICE, "app/shop.py": SHOP}
    opened(tmp_path, "api app", files, cache=True).close()
    with opened(tmp_path, "api app", files, cache=True) as workspace:
        assert all(folder._is_warm for folder in workspace._folders)
        assert edges(workspace, tmp_path, "app", "shop.py") == ["api/price.py::total_price"]
        assert "api/price.py" in shown(workspace, tmp_path / "app/pay.py", "from price import total_price\n\ntotal_")


def test_a_large_folder_joins_in_batches_between_edits(tmp_path, monkeypatch):
    monkeypatch.setattr("weft.server.workspace.cross_folder.MAX_BATCH_BYTES", 100)
    files = {f"api/part_{n}.py": f"def part_{n}(): ...\n" * 5 for n in range(20)}
    with opened(tmp_path, "app", {**files, "api/price.py": PRICE, "app/shop.py": SHOP}) as workspace:
        workspace.add_folder(tmp_path / "api")
        workspace.open_buffer(tmp_path / "api/part_3.py", "def part_new(): ...\n")
        write(
            tmp_path, {"app/use.py": "from part_3 import part_new\nfrom part_9 import part_9\npart_new()\npart_9()\n"}
        )
        workspace.files_changed([(tmp_path / "app/use.py").resolve()])
        for _ in range(30):  # each job of the writer may submit another
            workspace.flush()
        assert edges(workspace, tmp_path, "app", "use.py") == ["api/part_3.py::part_new", "api/part_9.py::part_9"]


def test_without_room_for_all_folders_each_is_completed_alone(tmp_path, monkeypatch, caplog):
    files = {"api/price.py": PRICE, "app/shop.py": SHOP}
    with opened(tmp_path, "api app", files) as workspace:

        def fail(*arguments):
            raise OverflowError("20000000 terms: more than an index can number")

        monkeypatch.setattr("weft.server.workspace.cross_folder._Joint.with_changes", fail)
        write(tmp_path, {"app/new.py": "def total_new(items): ...\n"})
        workspace.files_changed([(tmp_path / "app/new.py").resolve()])
        workspace.flush()
        found = shown(workspace, tmp_path / "app/pay.py", "total_price(items, discount)\ntotal_new(items)")
        assert sorted(found) == ["new.py", "shop.py"]
        (message,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
        assert "set index.cross_folders to false" in message


# Names of folders


def test_folders_with_the_same_name_are_told_apart(tmp_path):
    files = {"one/lib/price.py": PRICE, "two/lib/tax.py": "def tax_rate(land): ...\n", "app/shop.py": SHOP}
    with opened(tmp_path, "one/lib two/lib app", files) as workspace:
        text = "total_price(items, discount)\ntax_rate(land)"
        found = shown(workspace, tmp_path / "app/pay.py", text)
        assert {"one/lib/price.py", "two/lib/tax.py"} <= set(found)
        assert {"price.py", "two/lib/tax.py"} <= set(shown(workspace, tmp_path / "one/lib/pay.py", text))


def test_a_folder_with_the_name_of_a_directory_of_the_own_folder_is_told_apart(tmp_path):
    files = {"api/price.py": PRICE, "app/api/price.py": "def net_price(items): ...\n", "app/shop.py": SHOP}
    with opened(tmp_path, "api app", files) as workspace:
        text = "total_price(items, discount)\nnet_price(items)"
        found = set(shown(workspace, tmp_path / "app/pay.py", text))
        assert {"api/price.py", f"{tmp_path.name}/api/price.py"} <= found
        snapshot = workspace._folders.snapshot_of(str((tmp_path / "app").resolve()))
        assert snapshot.other_file("api/price.py") is None
        assert snapshot.other_file(f"{tmp_path.name}/api/price.py") == (tmp_path / "api/price.py").resolve()


def test_a_name_becomes_longer_when_the_own_folder_gets_such_a_directory(tmp_path):
    with opened(tmp_path, "api app", {"api/price.py": PRICE, "app/shop.py": SHOP}) as workspace:
        text = "total_price(items, discount)"
        assert "api/price.py" in shown(workspace, tmp_path / "app/pay.py", text)
        write(tmp_path, {"app/api/new.py": "x = 1\n"})
        workspace.files_changed([(tmp_path / "app/api/new.py").resolve()])
        workspace.flush()
        assert f"{tmp_path.name}/api/price.py" in shown(workspace, tmp_path / "app/pay.py", text)


def test_nested_folders_have_no_file_twice(tmp_path):
    with opened(tmp_path, ". lib", {"shop.py": SHOP, "lib/price.py": PRICE}) as workspace:
        found = places(workspace, tmp_path / "pay.py", "total = total_price(items, discount)", "bm25")
        assert sorted(place.path for place in found) == ["lib/price.py", "shop.py"]
        outer = tmp_path.name
        found = places(workspace, tmp_path / "lib/pay.py", "total = total_price(items, discount)", "bm25")
        assert sorted(place.path for place in found) == ["price.py", f"{outer}/pay.py", f"{outer}/shop.py"]


# Module resolution across folders


def joint(folders: str, files: dict[str, str]) -> CodeGraph:
    """The graph of files of several folders, by their paths from the common root."""
    parsed = [parse_file(path, textwrap.dedent(text)) for path, text in files.items()]
    return CodeGraph.build(parsed, roots=folders.split())


def calls(graph: CodeGraph, path: str) -> list[str]:
    return [f"{edge.path}::{edge.qualified_name}" for edge in graph.call_edges(path)]


@pytest.mark.parametrize(
    ("folders", "imported", "target"),
    [
        ("a b", "from shop import pay", "b/shop.py"),
        ("a b", "from shop import pay", "b/shop/__init__.py"),
        ("a b", "from shop.till import pay", "b/shop/till.py"),
        ("a b", "from shop import pay", "b/src/shop/__init__.py"),
        ("a shop", "from shop import pay", "shop/__init__.py"),  # the folder is the package
        ("a x/shop", "from shop import pay", "x/shop/__init__.py"),
        ("a shop", "from shop.till import pay", "shop/till.py"),
    ],
)
def test_python_imports_cross(folders, imported, target):
    files = {"a/main.py": f"{imported}\npay()\n", target: "def pay(): ...\n"}
    if "shop/" in target:
        files.setdefault(f"{target[: target.index('shop/')]}shop/__init__.py", "")
    assert calls(joint(folders, files), "a/main.py") == [f"{target}::pay"]


def test_a_folder_that_is_a_package_is_still_an_import_root():
    files = {"a/__init__.py": "", "a/main.py": "from help import pay\npay()\n", "a/deep/__init__.py": ""}
    files |= {"a/deep/run.py": "from help import pay\npay()\n", "a/help.py": "def pay(): ...\n", "b/x.py": ""}
    graph = joint("a b", files)
    assert calls(graph, "a/main.py") == calls(graph, "a/deep/run.py") == ["a/help.py::pay"]


def test_the_own_folder_comes_first():
    files = {"a/main.py": "from shop import pay\npay()\n", "a/shop.py": "def pay(): ...\n"}
    assert calls(joint("a b", {**files, "b/shop.py": "def pay(): ...\n"}), "a/main.py") == ["a/shop.py::pay"]


def test_the_depth_of_a_folder_does_not_matter():
    files = {"a/main.py": "from shop import pay\npay()\n", "x/y/b/shop.py": "def pay(): ...\n"}
    graph = joint("a x/y/b c", {**files, "c/deep/shop.py": "def pay(): ...\n"})
    assert calls(graph, "a/main.py") == ["x/y/b/shop.py::pay"]


@pytest.mark.parametrize(
    ("specifier", "manifests", "target"),
    [
        ("@shop/till", {"b/package.json": {"name": "@shop/till", "main": "src/till.ts"}}, "b/src/till.ts"),
        ("@shop/till/pay", {"b/package.json": {"name": "@shop/till"}}, "b/pay.ts"),
        ("../../b/till", {}, "b/till.ts"),
        ("~b/till", {"a/tsconfig.json": {"compilerOptions": {"paths": {"~b/*": ["../b/*"]}}}}, "b/till.ts"),
    ],
)
def test_typescript_imports_cross(specifier, manifests, target):
    files = {"a/src/main.ts": f"import {{ pay }} from '{specifier}'\npay()\n", target: "export function pay() {}\n"}
    files |= {path: json.dumps(facts) for path, facts in manifests.items()}
    assert calls(joint("a b", files), "a/src/main.ts") == [f"{target}::pay"]


def test_a_path_from_the_root_means_the_own_folder():
    files = {"a/index.ts": "import { pay } from '/src/till'\npay()\n", "a/src/till.ts": "export function pay() {}\n"}
    assert calls(joint("a b", {**files, "b/src/till.ts": files["a/src/till.ts"]}), "a/index.ts") == [
        "a/src/till.ts::pay"
    ]


@pytest.mark.parametrize(
    "manifests",
    [
        {"a/go.mod": "module me.org/a\n", "b/go.mod": "module me.org/b\n"},
        {"a/go.mod": "module me.org/a\nreplace me.org/b => ../b\n", "b/go.mod": "module me.org/other\n"},
        {"a/go.mod": "module me.org/a\n", "a/go.work": "use (\n\t.\n\t../b\n)\n", "b/go.mod": "module me.org/b\n"},
        {"b/go.mod": "module me.org/b\n"},  # the own folder has none
    ],
)
def test_go_imports_cross(manifests):
    main = 'package main\n\nimport "me.org/b/till"\n\nfunc main() {\n\ttill.Pay()\n}\n'
    files = {"a/main.go": main, "b/till/till.go": "package till\n\nfunc Pay() {}\n", **manifests}
    assert calls(joint("a b", files), "a/main.go") == ["b/till/till.go::Pay"]


def test_go_without_modules_reads_tails_in_the_own_folder():
    main = 'package main\n\nimport "me.org/a/till"\n\nfunc main() {\n\ttill.Pay()\n}\n'
    files = {"a/main.go": main, "a/till/till.go": "package till\n\nfunc Pay() {}\n", "b/go.mod": "module me.org/b\n"}
    assert calls(joint("a b", files), "a/main.go") == ["a/till/till.go::Pay"]


def test_go_without_modules_reads_the_names_of_folders():
    main = 'package main\n\nimport "me.org/cli/till/cash"\n\nfunc main() {\n\tcash.Pay()\n}\n'
    files = {"pkg/main.go": main, "till/cash/cash.go": "package cash\n\nfunc Pay() {}\n"}
    assert calls(joint("pkg till", files), "pkg/main.go") == ["till/cash/cash.go::Pay"]


def test_of_several_headers_the_one_of_the_own_folder_is_included():
    found = ModuleIndex(["a/src/main.c", "a/inc/till.h", "b/inc/till.h", "c/pay.h"], roots=("a", "b", "c"))
    assert found.find(ModuleQuery("include", "a/src", "till.h")) == ("a/inc/till.h",)
    assert found.find(ModuleQuery("include", "a/src", "pay.h")) == ("c/pay.h",)
    assert found.find(ModuleQuery("include", "c", "till.h")) == ()


def test_of_several_classes_the_one_of_the_own_folder_is_imported():
    till = "package org; public class Till { public static void open() {} }"
    texts = {
        "a/src/org/Till.java": till,
        "b/src/org/Till.java": till,
        "b/src/org/Pay.java": till.replace("Till", "Pay"),
    }
    texts["a/src/Main.java"] = "import org.Till; import org.Pay; class Main { void run() { Till.open(); Pay.open(); } }"
    graph = CodeGraph.build((parse_file(path, text) for path, text in texts.items()), roots=("a", "b"))
    called = [edge.path for edge in graph.call_edges("a/src/Main.java")]
    assert called == ["a/src/org/Till.java", "b/src/org/Pay.java"]


def test_one_folder_resolves_as_before_the_roots_were_known():
    manifest, _ = read_manifest("go.mod", "module me.org/a\n")
    plain = ModuleIndex(["till/till.go", "go.mod"], manifests={"go.mod": manifest})
    assert plain.find(ModuleQuery("go", "", "me.org/a/till")) == ("till/",)


# Incremental equals from scratch

PATHS = ("shop/__init__.py", "shop/till.py", "help.py", "src/shop/till.py", "inner/help.py", "inner/shop.py")
LINES = (
    "from shop.till import pay_all, Till",
    "from shop import *",
    "from help import pay_all",
    "import b.help\nb.help.pay_all()",
    "from b.shop import till",
    "from .till import *",
    "def pay_all(): ...",
    "class Till:\n    def pay_all(self): ...\n    def open_it(self) -> 'Till': ...",
    "class Till(Base):\n    def close_it(self): self.open_it()",
    "def use(till: Till):\n    till.pay_all()\n    till.open_it().close_it()\n    pay_all()",
)
FOLDERS = ("a", "b", "b/inner")
texts = st.lists(st.sampled_from(LINES), max_size=5).map("\n".join)
edit = st.tuples(st.sampled_from(FOLDERS), st.sampled_from(PATHS), st.none() | texts)


@settings(max_examples=60, deadline=None)
@given(st.lists(edit, max_size=12), st.lists(edit, max_size=6))
def test_edits_in_several_folders_equal_an_index_from_scratch(before, after):
    writer = Writer()
    try:
        index = CrossFolderIndex(writer)
        folders = {name: Folder(Path("/w", name), Config(), writer, None, index) for name in FOLDERS}
        _apply(writer, folders, before)
        index.use(list(folders.values()), Config())
        writer.flush()
        _apply(writer, folders, after)
        writer.flush()  # what follows from the edits for other files is resolved
        views = {folder: folder.view for folder in folders.values()}
        scratch = CrossFolderIndex(writer)
        scratch.use(list(folders.values()), Config())
        writer.flush()
        for folder in folders.values():
            assert _facts(views[folder]) == _facts(folder.view)
    finally:
        writer.close()


def _apply(writer: Writer, folders: dict[str, Folder], edits) -> None:
    for name, path, text in edits:
        if text is None:
            writer.run(lambda name=name, path=path: folders[name].fail_overlay(path, "gone"))
        else:
            writer.run(lambda name=name, path=path, text=text: folders[name].overlay([analyse(path, text)]))


def _facts(snapshot) -> dict[str, object]:
    """What an index says, without the numbers that depend on the order of changes."""
    assert isinstance(snapshot, CrossFolderSnapshot)
    index = snapshot.index
    score = index.lexical.bm25({"pay": 1.0, "till": 0.5})
    documents = [document for live in snapshot.model._segments for document in live.live_documents()]
    token = snapshot.model._vocabulary.text
    return {
        "edges": {path: index.graph.call_edges(path) for path in sorted(index.texts)},
        "names": {key: index.graph.definitions_named(key) for key in ("python pay_all", "python Till")},
        "texts": dict(snapshot.texts),
        "scores": {path: [round(float(score[i]), 6) for i in index.lexical.ids(path)] for path in sorted(index.texts)},
        "n_lines": index.n_lines,
        "tokens": {path: "".join(map(token, numbers)) for path, numbers in documents},
    }


def test_an_index_that_is_mapped_again_leaves_the_joint_index_as_it_is(tmp_path):
    files = {"price/price.py": PRICE, "shop/shop.py": SHOP}
    with opened(tmp_path, "price shop", files, cache=True) as workspace:
        before = workspace._folders._cross_folder._joint
        for folder in workspace._folders:
            snapshot = folder.snapshot
            folder.reduce_memory()
            assert folder.snapshot is not snapshot and isinstance(folder.view, CrossFolderSnapshot)
        after = workspace._folders._cross_folder._joint
        assert before is not None and after is not None
        assert after.index is before.index and len(after.joined) == 2
        assert "price/price.py" in shown(workspace, tmp_path / "shop/new.py", "total_price")
