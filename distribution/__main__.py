"""`python distribution build|check|measure|address`: builds the packages of a release into `dist/`, and tries each out.

    python distribution build     wheel, source distribution and, when it is built, the VS Code extension
    python distribution check     installs each into a fresh environment outside of the clone, and runs it there
    python distribution measure   size of the wheel and of its installation, and the time until the first completion
    python distribution address   the address of the repository; with a URL, changes it in every file that has it

Needs pip and its package index, and nothing else: environments are temporary. `make dist` runs both.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path

Command = Sequence["str | Path"]

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
VSIX = ROOT / "editors" / "vscode" / "weft.vsix"

# The address of the repository is the `Repository` of pyproject.toml. These files repeat it, since other programs read
# them as they are.
NAME_REPOSITORY = (
    "pyproject.toml",
    "llm/installation.py",
    "mkdocs.yml",
    "editors/vscode/package.json",
    "editors/upstream/README.md",
    "editors/upstream/lsp-weft.el",
    "editors/upstream/lspconfig.lua",
    "editors/upstream/mason.yaml",
)

# A part of the tests that needs no server, no editor and no model.
SOME_TESTS = (
    "test_public.py",
    "test_packages.py",
    "test_doc_links.py",
    "test_terms.py",
    "test_installation.py",
    "test_bm25.py",
    "test_repair.py",
    "test_files.py",
    "test_cli.py",
)

PROJECT = {
    "price.py": "def price_of(basket):\n    return sum(item.price for item in basket)\n",
    "sale.py": "from price import price_of\n\n\ndef sale(basket):\n    total = price_of(basket)\n    return total\n",
    "shop.py": "from price import price_of\n\n\ndef checkout(basket):\n    total = pri\n",
}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python distribution", description="Build and check the packages of a release."
    )
    parser.add_argument("step", choices=("build", "check", "measure", "address"))
    parser.add_argument("url", nargs="?", help="the new address, for the step address")
    options = parser.parse_args()
    step = options.step
    if step == "build":
        build(ROOT, DIST)
        return 0
    if step == "address":
        if options.url:
            change_address(ROOT, options.url)
        print(address(ROOT))
        return 0
    with tempfile.TemporaryDirectory(prefix="weft-dist-") as work:
        if step == "check":
            check(DIST, Path(work))
        else:
            measure(DIST, Path(work))
    return 0


def address(source: Path) -> str:
    """The address of the repository, as pyproject.toml has it."""
    (line,) = (
        line for line in (source / "pyproject.toml").read_text("utf-8").splitlines() if line.startswith("Repository = ")
    )
    return line.split('"')[1]


def change_address(source: Path, url: str) -> None:
    """Writes another address of the repository into every file of `source` that repeats it."""
    old = address(source)
    for name in NAME_REPOSITORY:
        file = source / name
        file.write_text(file.read_text("utf-8").replace(old, url), "utf-8", newline="")


def build(source: Path, out: Path) -> None:
    """Builds the wheel and the source distribution of a folder into the emptied folder `out`; copies the vsix there.

    The wheel is for every platform, so it has no C kernel; the release workflow builds those of single platforms.
    """
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="weft-build-") as work:
        python = make_environment(Path(work), "build>=1.2")
        run(
            [python, "-m", "build", "--sdist", "--wheel", "--outdir", out, source],
            cwd=Path(work),
            quiet=True,
            WEFT_KERNEL="0",
        )
    for folder in (source / "build", *source.glob("*.egg-info")):
        shutil.rmtree(folder, ignore_errors=True)
    vsix = source / VSIX.relative_to(ROOT)
    if vsix.is_file():
        shutil.copy(vsix, out)


def check(out: Path, work: Path) -> None:
    """Installs each package of `out` below `work` and runs it there. Raises CalledProcessError or AssertionError."""
    (wheel,) = out.glob("*.whl")
    (archive,) = out.glob("*.tar.gz")
    check_wheel(wheel, work / "wheel")
    check_sources(archive, work / "sources")
    vsix = out / VSIX.name
    if vsix.is_file():
        check_extension(vsix, work / "extension")
    else:
        print("left out: weft.vsix is not built; `make vsix` builds it")


def measure(out: Path, work: Path) -> None:
    """Prints what the wheel of `out` costs with uv and an empty cache: the row of Weft in docs/install.md."""
    (wheel,) = out.glob("*.whl")
    uv = make_environment(work / "uv", "uv").with_name("uv")
    project, tools = work / "project", work / "tools"
    project.mkdir()
    write_project(project)
    install: Command = [uv, "tool", "install", "--python", sys.executable, wheel]
    programs, cache = str(work / "bin"), str(work / "cache")
    begin, begin_cpu = time.monotonic(), children_cpu_s()
    run(install, project, UV_TOOL_DIR=str(tools), UV_TOOL_BIN_DIR=programs, UV_CACHE_DIR=cache)
    installed, installed_cpu = time.monotonic(), children_cpu_s()
    assert "ce_of(basket)" in run([work / "bin" / "weft", "complete", "shop.py:5"], project)
    end, end_cpu = time.monotonic(), children_cpu_s()
    packages = [path.name.partition("-")[0] for path in tools.rglob("*.dist-info")]
    size = sum(path.lstat().st_blocks * 512 for path in tools.rglob("*"))
    print(f"wheel {wheel.stat().st_size / 1e6:.1f} MB; environment {size / 1e6:.0f} MB, {len(packages)} packages")
    print(f"installed after {installed - begin:.1f} s ({installed_cpu - begin_cpu:.1f} s of processor time)")
    print(f"first completion after {end - installed:.1f} s more ({end_cpu - installed_cpu:.1f} s of processor time)")


def children_cpu_s() -> float:
    """Processor time of all commands that have ended; 0 on Windows, which does not tell it."""
    used = os.times()
    return used.children_user + used.children_system


def write_project(folder: Path) -> None:
    for name, text in PROJECT.items():
        (folder / name).write_text(text, "utf-8")


def check_wheel(wheel: Path, work: Path) -> None:
    """The commands of the README in a small project, and those that say that they need a clone."""
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    python = make_environment(work / "environment", str(wheel))
    weft = python.with_name("weft")
    project = work / "project"
    project.mkdir()
    write_project(project)
    run([weft, "--version"], project)
    assert "ce_of(basket)" in run([weft, "complete", "shop.py:5"], project)
    assert "price.py" in run([weft, "ask", "what calls price_of?"], project)
    assert "price.py" in run([weft, "search", "price_of"], project)
    run([weft, "doctor"], project, statuses=(0, 1))
    client: Command = [python, ROOT / "docs" / "client.py", "shop.py:5:16", "what calls price_of?"]
    assert "ce_of(basket)" in run(client, project, PATH=f"{weft.parent}{os.pathsep}{os.environ['PATH']}")
    plugin = Path(run([weft, "editors", "neovim"], project).strip())
    assert plugin.is_relative_to(work) and (plugin / "plugin" / "weft.lua").is_file()
    run([weft, "editors", "emacs", "--to", work / "emacs"], project)
    assert (work / "emacs" / "weft.el").is_file()
    assert "git clone" in run([weft, "bench", "typed"], project, statuses=(2,))
    assert "git clone" in run([python, "-m", "weft.llm.training", "all"], project, statuses=(2,))


def check_sources(archive: Path, work: Path) -> None:
    """A part of the tests in the unpacked archive, installed as the README installs a clone."""
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB")
    source = unpack(archive, work)
    python = make_environment(work / "environment", "-c", str(source / "constraints.txt"), "-e", f"{source}[dev]")
    tests: Command = [source / "tests" / name for name in SOME_TESTS]
    run([python, "-m", "pytest", "-c", source / "tests" / "pytest.ini", "-m", "not slow and not local", *tests], source)


def check_extension(vsix: Path, work: Path) -> None:
    """Installs the extension into an empty VS Code: the one of `make editors`, else `code` on the PATH."""
    print(f"{vsix.name}: {vsix.stat().st_size / 1e3:.0f} kB")
    prefix = ROOT / os.environ.get("EDITORS_PREFIX", ".editors")
    server = prefix / "cs" / "bin" / "code-server"
    program = str(server) if server.is_file() else shutil.which("code")
    if program is None:
        print("left out: no VS Code to install the extension into; `make editors` installs one")
        return
    folders: Command = ["--user-data-dir", work / "user", "--extensions-dir", work / "extensions"]
    path = f"{prefix / 'bin'}{os.pathsep}{os.environ['PATH']}"
    work.mkdir()
    run([program, *folders, "--install-extension", vsix, "--force"], work, PATH=path, HOME=str(work))
    listed = run([program, *folders, "--list-extensions", "--show-versions"], work, PATH=path, HOME=str(work))
    assert f"weft.weft@{version()}" in listed, listed


def unpack(archive: Path, folder: Path) -> Path:
    """The only folder of a source distribution, unpacked into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, filter="data")
        else:
            tar.extractall(folder)
    return folder / archive.name.removesuffix(".tar.gz")


def make_environment(folder: Path, *requirements: str) -> Path:
    """A new virtual environment with these requirements; its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip: Command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, *requirements], cwd=folder, quiet=True)
    return python


def run(command: Command, cwd: Path, *, statuses: Sequence[int] = (0,), quiet: bool = False, **variables: str) -> str:
    """Runs a command with an empty cache of Weft; its output. Raises CalledProcessError for another exit status."""
    words = [str(word) for word in command]
    if not quiet:
        print("$", " ".join([Path(words[0]).name, *words[1:]]), flush=True)
    own = {"WEFT_CACHE_DIR": str(cwd / ".cache"), "NO_COLOR": "1", "PYTHONPATH": ""}
    done = subprocess.run(
        words, cwd=cwd, env={**os.environ, **own, **variables}, capture_output=True, text=True, encoding="utf-8"
    )
    output = done.stdout + done.stderr
    if done.returncode not in statuses:
        print(output, file=sys.stderr)
        raise subprocess.CalledProcessError(done.returncode, words, output)
    return output


def version() -> str:
    return (ROOT / "version.py").read_text("utf-8").split('"')[-2]


if __name__ == "__main__":
    sys.exit(main())
