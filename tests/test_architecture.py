"""The invariants of ARCHITECTURE.md that a test can hold."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import networkx
import pytest
import weft

try:
    import tomllib
except ImportError:
    import tomli as tomllib

ROOT = Path(weft.__file__).resolve().parent
ROOMS = ("native", "languages", "codegraph", "retrieval", "memory", "llm", "server", "benchmarks")
MAY_IMPORT = {
    "native": set(),
    "languages": set(),
    "codegraph": {"languages", "native"},
    "retrieval": {"codegraph", "languages", "native"},
    "memory": {"retrieval", "codegraph", "llm", "languages"},
    "llm": {"languages", "native"},
    "server": {"memory", "retrieval", "codegraph", "llm", "languages", "native"},
    "benchmarks": {"server", "memory", "retrieval", "codegraph", "llm", "languages", "native"},
}
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py") if ".work" not in path.parts)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def imported_modules(path: Path) -> set[str]:
    """Absolute names of what a file imports; modules of Weft without the leading `weft.`."""
    package = path.relative_to(ROOT).parent.parts
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            names.add(".".join([*base, *filter(None, [node.module])]))
            if not node.module:
                names |= {".".join([*base, alias.name]) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_arrows_point_down(path):
    room = path.relative_to(ROOT).parts[0]
    rooms = {name.split(".")[0] for name in imported_modules(path)} & set(ROOMS)
    assert rooms - {room} <= MAY_IMPORT[room]


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_imports_inside_the_package_are_relative(path):
    assert not [name for name in imported_modules(path) if name == "weft" or name.startswith("weft.")]


def test_no_room_imports_the_root_package():
    modules = {p.stem for p in ROOT.glob("*.py")} | set(ROOMS)
    imported = {
        (module_of(path), alias.name)
        for path in SOURCES
        for node in imports_at_load(path)
        if resolved(path, node) == ""
        for alias in node.names
    }
    assert not {(module, name) for module, name in imported if name not in modules}


def imports_at_load(path: Path) -> list[ast.ImportFrom]:
    """Relative imports that run when a module is loaded, not those for types or inside functions."""
    found: list[ast.ImportFrom] = []

    def visit(body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.ImportFrom) and node.level:
                found.append(node)
            elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
                visit(node.body)
            elif isinstance(node, ast.Try):
                visit([*node.body, *(statement for handler in node.handlers for statement in handler.body)])

    visit(ast.parse(path.read_text(encoding="utf-8")).body)
    return found


def resolved(path: Path, node: ast.ImportFrom) -> str:
    """The module that an import names, without the leading `weft.`; "" for the root package."""
    package = path.relative_to(ROOT).parent.parts
    return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])


def test_files_import_each_other_in_no_circle():
    files = {module_of(path): path for path in SOURCES}
    graph = networkx.DiGraph()
    for name, path in files.items():
        for node in imports_at_load(path):
            module = resolved(path, node)
            for imported in (f"{module}.{alias.name}" for alias in node.names):
                candidates = (imported, f"{imported}.__init__", module, f"{module}.__init__")
                graph.add_edges_from([(name, found) for found in candidates if found in files][:1])
    assert not [circle for circle in networkx.strongly_connected_components(graph) if len(circle) > 1]


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_only_the_lsp_layer_knows_the_protocol_library(path):
    if path.relative_to(ROOT).parts[:2] != ("server", "lsp"):
        assert not {name.split(".")[0] for name in imported_modules(path)} & {"pygls", "lsprotocol"}


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_a_module_opens_with_its_idea(path):
    text = path.read_text(encoding="utf-8")
    assert not text.strip() or ast.get_docstring(ast.parse(text))


def test_every_package_is_installed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    installed = [path for path in SOURCES if path.relative_to(ROOT).parts[0] != "benchmarks"]
    found = {"weft"} | {f"weft.{module_of(path.parent / 'x').removesuffix('.x')}" for path in installed}
    assert set(listed) == found


def test_no_file_is_loaded_under_two_names():
    # Benchmarks are scripts, and torch is an extra.
    apart = {"benchmarks", "training"}
    together = [p for p in SOURCES if p.name != "__main__.py" and apart.isdisjoint(p.parts)]
    names = [module_of(p) for p in together if not imports_torch(p)]
    code = (
        "import importlib, sys, weft\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module('weft.' + name.removesuffix('.__init__'))\n"
        "files = [m.__file__ for m in list(sys.modules.values()) if getattr(m, '__file__', None)]\n"
        f"ours = [f for f in files if f.startswith({str(ROOT)!r}) and '.venv' not in f]\n"
        "twice = {f for f in ours if ours.count(f) > 1}\n"
        "assert not twice, twice"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT.parent)


def imports_torch(path: Path) -> bool:
    return "torch" in {name.split(".")[0] for name in imported_modules(path)}


def test_importing_weft_loads_no_heavy_library():
    code = "import sys, weft; print([m for m in ('torch', 'transformers', 'pygls', 'networkx') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT.parent)
    assert out.stdout.strip() == "[]"


def test_nothing_in_the_project_names_a_machine_path():
    pattern = re.compile(r"(?<![\w.])/(?:root|home/\w+|work/main|work/shared)\b")
    texts = [*SOURCES, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]
    assert not [path for path in texts if ".work" not in path.parts and pattern.search(path.read_text("utf-8"))]


def test_the_architecture_names_files_and_tests_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    files = set(re.findall(r"`((?:[a-z_]+/)+[\w.]*)`", text))
    tests = {f"tests/{name}" for name in re.findall(r"test_\w+\.py", text)}
    assert not [name for name in files | tests if not (ROOT / name).exists()]
