"""`weft bench engine`: trees side by side, order and stored rows of measurements, peak memory, tables and plots."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from xml.etree import ElementTree

import pytest
from weft.benchmarks.command import RESULTS
from weft.benchmarks.engine import __main__ as command
from weft.benchmarks.engine import measure, page, peers, trees
from weft.benchmarks.engine.__main__ import Row, planned, summary
from weft.benchmarks.engine.peak_memory import PeakMemory, descendants
from weft.benchmarks.plots import growth_plot
from weft.benchmarks.rows import read_rows
from weft.errors import UserError
from weft.server.workspace.store import CACHE_VARIABLE

N_FILES = 6


@pytest.fixture
def small_tree(tmp_path):
    folder = tmp_path / "work" / "trees" / "networkx"
    folder.mkdir(parents=True)
    for number in range(N_FILES):
        calls = [f"    total = total + part_{number}(total, {i})  # of step {i}" for i in range(60)]
        text = "\n".join([f"def part_{number}(total, step):", *calls, "    return total", ""])
        path = folder / f"part_{number}.py"
        path.write_text(text)
        os.utime(path, (1e9, 1e9))  # a file that has just been written is read again at the next start
    return folder


def run(work, *options):
    return command.main(["--work", str(work), "--trees", "networkx", *options])


def measured_of(output):
    return json.loads(output.strip().splitlines()[-1])["trees"]["networkx"]


# Trees


def test_a_tree_links_its_packages_side_by_side_and_repairs_an_interrupted_one(tmp_path, monkeypatch):
    def checkout(archive, work):
        folder = work / "trees" / archive.repo
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "a.py").write_text(archive.repo)
        return folder

    monkeypatch.setattr(trees, "checkout", checkout)
    half = tmp_path / "trees" / "unseen" / "swift.part"
    half.mkdir(parents=True)
    (half / "left.py").write_text("from an interrupted run")
    folder = trees.tree("unseen", tmp_path)
    found = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*.py")}
    assert found == {f"{name}/a.py": name for name in ("distributed", "pylint", "swift")}
    assert trees.tree("unseen", tmp_path) == folder
    with pytest.raises(ValueError, match="Choose from"):
        trees.tree("twelve", tmp_path)


def test_larger_trees_contain_the_smaller_and_the_unseen_packages_are_in_none():
    of = {name: set(packages) for name, packages in trees.SIDE_BY_SIDE.items()}
    assert of["million"] < of["five"] < of["ten"]
    assert not of["unseen"] & of["ten"]
    assert all(archive in trees.PINNED for archive in of["ten"] | of["unseen"])


# Measurements


def test_cold_and_warm_start_queries_and_edits_are_measured(small_tree, tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(measure, "N_CURSORS", 3)
    monkeypatch.setattr(measure, "N_EDITS", 2)
    before_s = sys.getswitchinterval()
    try:
        cold, warm = measure.cold(small_tree), measure.warm(small_tree)
        queries, during = measure.query(small_tree), measure.during(small_tree)
    finally:
        sys.setswitchinterval(before_s)
    assert (cold["files"], cold["lines"]) == (N_FILES, N_FILES * 62)
    assert 0 < cold["cold_s"] <= cold["saved_s"] and cold["cold_cpu_s"] > 0
    assert cold["indexes_mb"] > 0 and cold["analyses_mb"] > 0
    assert 0 < warm["warm_answer_s"] <= warm["verified_s"]
    assert 0 < queries["jump_p50_ms"] <= queries["jump_p95_ms"] and queries["edit_p50_ms"] > 0
    assert during["during_queries"] >= 0 and during["during_quiet_p50_ms"] > 0


def test_a_warm_start_without_a_stored_index_is_an_error(small_tree, tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    before_s = sys.getswitchinterval()
    try:
        with pytest.raises(SystemExit, match="did not use the stored index"):
            measure.warm(small_tree)
    finally:
        sys.setswitchinterval(before_s)


@pytest.mark.slow
def test_the_memory_of_a_second_window_is_that_of_the_second(small_tree, tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "WEFT_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))  # restored afterwards: the measurement changes them
    monkeypatch.setattr(measure, "N_CURSORS", 1)
    found = measure.windows(small_tree)
    assert found["own_window_mb"] > 10
    assert 0 < found["shared_window_mb"] < found["own_window_mb"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports private memory")
def test_the_peak_counts_all_processes_at_their_highest(monkeypatch):
    monkeypatch.setattr("weft.benchmarks.engine.peak_memory.INTERVAL_S", 0.02)
    child = "x = b'x' * 40_000_000; print(len(x), flush=True); import time; time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with PeakMemory() as peak, subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"40000000\n"
        found = descendants(os.getpid())
        assert process.pid in found and set(descendants(process.pid)) < set(found)
        until_s = time.monotonic() + 10
        while peak.megabytes < 40 and time.monotonic() < until_s:
            time.sleep(0.02)
        for pid in [*descendants(process.pid), process.pid]:
            os.kill(pid, 9)
    assert peak.megabytes >= 40  # still, although they have ended


# Order and stored rows


def test_small_trees_come_first_and_the_second_index_of_the_large_ones_last(tmp_path):
    found = list(planned(["networkx", "ten"], ["cold", "warm", "words", "during"], 2, Counter(), tmp_path))
    assert found == [
        *[("networkx", "cold")] * 2,
        ("networkx", "cold"),  # nothing was run, so its index is not there
        *[("networkx", "warm")] * 2,
        ("networkx", "words"),
        ("networkx", "during"),
        *[("ten", "cold")] * 2,
        ("ten", "warm"),
        ("ten", "during"),
    ]


def test_what_is_stored_is_not_measured_again(tmp_path):
    kept = Counter({("networkx", "cold"): 2, ("networkx", "warm"): 1})
    (command._caches(tmp_path) / "networkx").mkdir(parents=True)
    found = list(planned(["networkx"], ["cold", "warm", "ctags"], 2, kept, tmp_path))
    assert found == [("networkx", "warm"), ("networkx", "ctags")]


def test_a_killed_run_continues_with_what_it_lacks(small_tree, tmp_path, monkeypatch, capsys):
    done, killed = [], []

    def step(name):
        def measure_step(tree_name, options):
            if name == "ctags" and not killed:
                killed.append(name)
                raise KeyboardInterrupt
            done.append(name)
            return {f"{name}_s": 2.0, "lines": 100}

        return measure_step

    monkeypatch.setattr(command, "STEPS", {name: step(name) for name in ("aider", "ctags")})
    assert run(tmp_path) == 130 and done == ["aider"]
    assert run(tmp_path) == 0 and done == ["aider", "ctags"]
    assert measured_of(capsys.readouterr().out) == {"aider_s": 2.0, "ctags_s": 2.0, "lines": 100}
    assert run(tmp_path) == 0 and len(done) == 2
    assert run(tmp_path, "--again") == 0 and len(done) == 4


def test_a_measurement_that_fails_costs_its_row_alone(tmp_path, monkeypatch, capsys):
    def fails(name, options):
        raise UserError("There is no room.")

    monkeypatch.setattr(command, "STEPS", {"aider": fails, "ctags": lambda *_: {"lines": 1}})
    assert run(tmp_path) == 2
    said = capsys.readouterr()
    assert "networkx: aider failed. There is no room." in said.err and "see above: networkx aider" in said.err
    assert measured_of(said.out) == {"lines": 1}


def test_no_measurement_begins_after_the_limit_and_one_without_figures_is_not_stored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "STEPS", {"aider": lambda *_: {}, "ctags": lambda *_: {"lines": 1}})
    stored_index = command._caches(tmp_path) / "networkx"
    stored_index.mkdir(parents=True)
    assert run(tmp_path, "--max-minutes", "1e-9") == 0
    said = capsys.readouterr()
    assert stored_index.is_dir()  # the next run needs it
    assert "minutes are over: networkx aider" in said.err and json.loads(said.out.splitlines()[-1])["trees"] == {}
    assert run(tmp_path) == 0
    assert [row["step"] for path in (tmp_path / "engine-rows").iterdir() for row in read_rows(path)] == ["ctags"]


def test_steps_are_chosen_and_run_in_their_own_processes(small_tree, capsys):
    work = small_tree.parents[1]
    assert run(work, "--steps", "cold", "warm", "--runs", "1") == 0
    figures = measured_of(capsys.readouterr().out)
    assert figures["lines"] == N_FILES * 62 and figures["warm_answer_s"] > 0
    assert figures["lines_per_s"] == pytest.approx(figures["lines"] / figures["cold_s"], rel=0.01)
    assert not command._caches(work).exists()


def test_repeated_figures_are_medians():
    rows = [Row("ten", "cold", {"cold_s": seconds, "lines": 1000}) for seconds in (1.0, 9.0, 2.0)]
    found = summary([*rows, Row("five", "cold", {"lines": 5})], ["ten", "million"])
    assert found == {"ten": {"cold_s": 2.0, "lines": 1000, "lines_per_s": 500.0, "cold_us_per_line": 2000.0}}


# Peers


def test_ctags_tags_the_python_files(small_tree):
    if not (found := peers.ctags(small_tree)):
        pytest.skip("universal-ctags is not installed")
    assert found["ctags_lines"] == N_FILES * 61 and found["ctags_s"] > 0


def test_a_peer_that_is_missing_costs_its_row_alone(monkeypatch, small_tree, capsys):
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert peers.ctags(small_tree) == {}
    assert run(small_tree.parents[1], "--steps", "aider") == 0
    said = capsys.readouterr().err
    assert "Install the package `universal-ctags`" in said and "--aider names" in said


def test_ratios_are_those_of_the_figures():
    found = page.with_derived(
        {
            "lines": 1000,
            "cold_s": 2.0,
            "cold_cpu_s": 4.0,
            "ctags_cpu_s": 0.5,
            "ctags_lines": 500,
            "weft_build_s": 2.0,
            "bm25s_build_s": 6.0,
        }
    )
    assert (found["lines_per_s"], found["cpu_us_per_line"]) == (500, 4000)
    assert found["ctags_ratio"] == 4 and found["bm25s_build_ratio"] == 3
    assert "aider_ratio" not in found and "tantivy_build_ratio" not in found


# Tables, targets and plots


FIGURES = {
    "unseen": {"lines": 200_000, "cold_s": 2.0, "lines_per_s": 100_000, "cold_us_per_line": 10, "jump_p95_ms": 15.1},
    "ten": {"lines": 10_000_000, "cold_s": 131.0, "cold_us_per_line": 13.1, "private_mb": 900, "jump_p95_ms": 59},
}


def verdicts(trees):
    return {target.aim: target.verdict for target in page.targets(trees)}


def test_a_target_is_met_missed_or_not_measured():
    found = verdicts(FIGURES)
    assert found["cold index, 0.2 M unseen lines, lines/s"] == "met"
    assert found["time per line at 10 M / at 0.2 M lines"] == "**missed**"
    assert found["jump at 0.2 M lines, p95 ms"] == "**missed**" and found["jump at 10 M lines, p95 ms"] == "met"
    assert found["switch back of 3,000 files, s"] == "not measured"
    # Memory counts when all three states were measured.
    private = "private MB at 10 M lines, after cold, warm and queries"
    assert found[private] == "not measured"
    more = {"warm_private_mb": 100, "query_private_mb": 1001}
    assert verdicts({"ten": FIGURES["ten"] | more})[private] == "**missed**"


def test_a_table_has_a_column_for_each_tree_and_a_dash_for_what_is_missing():
    lines = page.sizes_table(FIGURES).splitlines()
    assert lines[0] == "|  | unseen | ten |"
    assert "| lines | 200,000 | 10,000,000 |" in lines and "| lines/s | 100,000 | - |" in lines
    assert "| jump, p50 / p95 ms | - / 15.1 | - / 59 |" in lines


def test_a_figure_or_a_peer_that_was_not_measured_has_no_row():
    assert "typing" not in page.sizes_table(FIGURES)
    assert page.peers_table(FIGURES) == "No peer was measured."
    found = page.peers_table({**FIGURES, "five": {"ctags_cpu_s": 0.5}}).splitlines()
    assert found[0] == "|  | five |" and found[2:] == ["| universal-ctags, processor s | 0.5 |"]


def test_generated_parts_of_a_page_are_replaced_and_the_rest_stays():
    text = "Before.\n<!-- generated: targets -->\nearlier\n<!-- end -->\nAfter.\n"
    found = page.with_tables(text, FIGURES)
    assert found.startswith("Before.\n<!-- generated: targets -->\n| ") and found.endswith("<!-- end -->\nAfter.\n")
    assert "earlier" not in found and page.with_tables(found, FIGURES) == found


def test_the_page_of_scale_has_the_committed_figures():
    (committed,) = read_rows(RESULTS / "engine.jsonl")
    text = page.PAGE.read_text("utf-8")
    assert page.with_tables(text, committed["trees"]) == text
    assert len(re.findall("<!-- generated", text)) == len(page.GENERATED)
    for name, _, drawn in page.pictures(committed["trees"]):
        assert (page.PICTURES / name).read_text("utf-8") == drawn and f"pictures/{name}" in text


def test_a_growth_plot_is_a_picture_with_logarithmic_axes():
    figures = {"cold_s": 1.0, "cold_cpu_s": 2.0, "verified_s": 0.1, "warm_answer_s": 0.1}
    sizes = {"unseen": 1, "million": 10, "ten": 100}
    trees = {name: {key: n * value for key, value in {"lines": 1e5, **figures}.items()} for name, n in sizes.items()}
    ((name, _, text),) = page.pictures(trees)
    svg = ElementTree.fromstring(text)
    assert name == "scale-time.svg" and svg.tag == "{http://www.w3.org/2000/svg}svg"
    assert "prefers-color-scheme: dark" in text
    circles = [circle for circle in svg.iter() if circle.tag.endswith("circle")]
    x, y = ([float(circle.get(axis, "")) for circle in circles[:3]] for axis in ("cx", "cy"))
    # Tenfold is as far everywhere, and what grows with the lines is on the dashed line.
    assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.2) and y[1] - y[0] == pytest.approx(y[2] - y[1], abs=0.2)
    (dashed,) = [line for line in svg.iter() if line.get("class") == "other"]
    assert [float(dashed.get(end, "")) for end in ("x1", "y1", "x2", "y2")] == [x[0], y[0], x[2], y[2]]


def test_a_growth_plot_escapes_names_and_needs_two_sizes():
    assert "a &lt; b: 1" in growth_plot({"a < b": [(1, 1.0), (10, 20.0)]}, "lines", "s")
    assert list(page.pictures({"ten": {"lines": 10, "cold_s": 1.0}})) == []
