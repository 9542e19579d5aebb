"""A workspace as scripts use it: what is indexed, what an edit changes, what is kept, and what bad files do."""

from __future__ import annotations

import os
import textwrap
import threading
from pathlib import Path

import pytest
from weft import Config, RetrievalOptions, Workspace
from weft.codegraph import Weights
from weft.llm import Cancel
from weft.server.config import CompletionOptions, IndexOptions
from weft.server.workspace import workers
from weft.server.workspace.folder import Folder
from weft.server.workspace.index_file import DamagedFile, SectionFile

PRICE = "def total_price(items, discount):\n    return sum(item.price for item in items) * (1 - discount)\n"
SHOP = "from price import total_price\n\n\ndef pay(cart):\n    return total_price(cart.items, cart.discount)\n"


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A slow machine makes no edit unseen."""
    monkeypatch.setattr("weft.server.workspace.buffers.MAX_INDEXING_WAIT_S", 30)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path, {"price.py": PRICE, "shop.py": SHOP})
    return tmp_path


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def opened(*folders: Path, config: Config | None = None, cache: bool = False) -> Workspace:
    workspace = Workspace(folders, config or Config(), cache=cache)
    workspace.index()
    return workspace


def found(workspace: Workspace, path: Path, text: str) -> list[str]:
    """The texts that a query at the end of an open file's `text` retrieves."""
    workspace.open_buffer(path, text)
    lines = text.split("\n")
    ranked = workspace.retrieve(path, len(lines) - 1, len(lines[-1]), options=RetrievalOptions(strategy="bm25"))
    return [one.fragment.text for one in ranked.fragments]


def holds(workspace: Workspace, folder: Path, word: str) -> bool:
    return any(word in text for text in found(workspace, folder / "query.py", f"x = {word}"))


WHOLE_TEXTS = Config(completion=CompletionOptions(min_confidence=0.0))


def test_a_completion_copies_what_the_repository_says(folder):
    with opened(folder, config=WHOLE_TEXTS) as workspace:
        text = "from price import total_price\n\n\ndef refund(cart):\n    return total_price(cart."
        workspace.open_buffer(folder / "refund.py", text)
        completion = workspace.complete(folder / "refund.py", 4, len("    return total_price(cart."))
        assert completion.text == "items, cart.discount)"
        assert completion.start == completion.end == (4, 28)
        assert 0 < completion.confidence <= 1
        assert completion.model == "workspace"


def test_a_completion_takes_positions_that_do_not_exist(folder):
    with opened(folder) as workspace:
        for line, character in [(-3, 5), (10_000, 0), (0, 10_000), (1, -1)]:
            completion = workspace.complete(folder / "shop.py", line, character, trigger="invoked")
            at_line, at_character = completion.start
            assert 0 <= at_line <= SHOP.count("\n")
            assert 0 <= at_character <= len(SHOP.split("\n")[at_line])


def test_a_file_that_is_nowhere_is_an_error_that_names_it(folder):
    with opened(folder) as workspace, pytest.raises(OSError, match=r"missing\.py"):
        workspace.complete(folder / "missing.py", 0, 0)


def test_a_folder_that_is_nowhere_is_an_error_that_names_it(tmp_path):
    with pytest.raises(NotADirectoryError, match="nowhere"):
        Workspace([tmp_path / "nowhere"], Config())


def test_unsaved_text_is_found_and_forgotten_again(folder):
    with opened(folder) as workspace:
        workspace.open_buffer(folder / "price.py", PRICE + "\n\nunsaved_thing = 1\n")
        assert holds(workspace, folder, "unsaved_thing")
        workspace.close_buffer(folder / "price.py")
        assert not holds(workspace, folder, "unsaved_thing")
        assert holds(workspace, folder, "total_price")


def test_an_edit_elsewhere_is_seen_by_the_next_request(folder):
    with opened(folder) as workspace:
        for number in range(5):
            workspace.edit_buffer(folder / "price.py", f"{PRICE}\nnewest_{number}_name = 1\n", number)
            assert holds(workspace, folder, f"newest_{number}_name")


def test_changes_on_disk_are_followed(folder):
    with opened(folder) as workspace:
        write(folder, {"new.py": "brand_new_name = 1\n", "price.py": "changed_name = 1\n"})
        (folder / "shop.py").rename(folder / "store.py")
        workspace.files_changed(folder / name for name in ("new.py", "price.py", "shop.py", "store.py"))
        workspace.flush()
        assert holds(workspace, folder, "brand_new_name")
        assert holds(workspace, folder, "changed_name")
        assert workspace.status().n_files == 3  # shop.py is gone, store.py is there, query.py is not indexed yet
        found_pay = workspace.retrieve(folder / "query.py", 0, 0, options=RetrievalOptions(strategy="bm25"))
        assert all(place.path != "shop.py" for one in found_pay.fragments for place in one.fragment.locations)


def test_a_buffer_outlives_a_change_on_disk(folder):
    with opened(folder) as workspace:
        workspace.open_buffer(folder / "price.py", "in_the_editor = 1\n")
        workspace.flush()
        write(folder, {"price.py": "on_the_disk = 1\n"})
        workspace.files_changed([folder / "price.py"])
        assert holds(workspace, folder, "in_the_editor")
        assert not holds(workspace, folder, "on_the_disk")


def test_the_watcher_sees_what_nobody_reports(folder):
    with opened(folder) as workspace:
        seen = threading.Event()
        files_changed = workspace.files_changed

        def report(paths):
            files_changed(paths)
            seen.set()

        workspace.files_changed = report  # type: ignore[method-assign]
        workspace.watch()
        write(folder, {"watched.py": "watched_name = 1\n"})
        assert seen.wait(30)
        workspace.flush()
        assert holds(workspace, folder, "watched_name")


def test_ignore_rules_that_change_are_obeyed(folder):
    write(folder, {"vendor/lib.py": "vendored_name = 1\n"})
    with opened(folder) as workspace:
        assert holds(workspace, folder, "vendored_name")
        write(folder, {".gitignore": "vendor/\n"})
        workspace.index()
        assert not holds(workspace, folder, "vendored_name")
        write(folder, {".weftignore": "!vendor/\n"})
        workspace.index()
        assert holds(workspace, folder, "vendored_name")


def test_every_kind_of_bad_file_leaves_the_good_ones(folder):
    write(
        folder,
        {
            "empty.py": b"",
            "binary.py": bytes(range(256)) * 20,
            "latin.py": "name = 'Grüße'\n".encode("latin-1"),
            "utf16.py": "name = 'sixteen'\n".encode("utf-16"),
            "crlf.py": b"def windows_name():\r\n\treturn 1\r\n",
            "cr.py": b"def old_mac_name():\r    return 1\r",
            "emoji.py": "def party_name():\n    return '🎉👩‍👩‍👧'\n",
            "half.py": "class Half:\n    def broken_name(self, (:\n        return [\n",
            "nul.py": b"x = 1\n\0\0\0\n",
            "minified.js": "var a=1;" * 20_000,
            "huge.py": "x = 1\n" * 300_000,
            "deep.py": "(" * 20_000,
            "long_line.py": "x = [" + "1," * 4_000 + "]\n",
            "data.csv": "1,2,3\n" * 1000,
            ".env": "SECRET_NAME=1\n",
            "id_rsa": "-----BEGIN OPENSSH PRIVATE KEY-----\n",
            "noeol.py": "last_name = 1",
        },
    )
    outside = folder.parent / f"{folder.name}-outside"
    write(outside, {"stolen.py": "outside_name = 1\n"})
    os.symlink(outside, folder / "way_out")
    os.symlink(outside / "stolen.py", folder / "stolen.py")
    os.symlink(folder, folder / "loop")
    os.symlink(folder / "nowhere", folder / "dangling.py")
    os.mkfifo(folder / "pipe.py")
    with opened(folder) as workspace:
        for name in ("total_price", "windows_name", "old_mac_name", "party_name", "broken_name", "last_name"):
            assert holds(workspace, folder, name), name
        for name in ("outside_name", "SECRET_NAME"):
            assert not holds(workspace, folder, name), name
        for path in sorted(folder.glob("*.py")):
            if path.is_file() and path.name not in ("binary.py", "nul.py", "huge.py"):
                workspace.complete(path, 0, 0, trigger="invoked")


def test_no_completion_in_files_that_may_hold_secrets(folder):
    write(folder, {".env": "total_price=1\n"})
    with opened(folder) as workspace:
        completion = workspace.complete(folder / ".env", 0, 5, trigger="invoked")
        assert completion.text == "" and "secrets" in completion.why_empty
        assert workspace.retrieve(folder / ".env", 0, 5).fragments == ()
        assert ".env" in workspace.explain(folder / ".env", 0, 5).notes[0]


def test_an_opened_secret_is_not_indexed(folder):
    with opened(folder) as workspace:
        workspace.open_buffer(folder / ".env", "DATABASE_PASSWORD_NAME=1\n")
        assert not holds(workspace, folder, "DATABASE_PASSWORD_NAME")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (CompletionOptions(enabled=False), "completion.enabled"),
        (CompletionOptions(languages=("go",)), "completion.languages"),
        (CompletionOptions(exclude=("sh*.py",)), "completion.exclude"),
    ],
)
def test_what_is_switched_off_says_so(folder, options, reason):
    with opened(folder, config=Config(completion=options)) as workspace:
        assert reason in workspace.complete(folder / "shop.py", 4, 4).why_empty


def test_code_right_of_the_cursor_refuses_automatic_requests(folder):
    with opened(folder) as workspace:
        completion = workspace.complete(folder / "shop.py", 4, 11)
        assert "by hand" in completion.why_empty


def test_windows_line_breaks_are_kept_in_the_text_and_the_range(folder):
    text = SHOP.replace("\n", "\r\n") + "\r\n\r\ndef refund(cart):\r\n    return total_price(cart."
    with opened(folder, config=WHOLE_TEXTS) as workspace:
        workspace.open_buffer(folder / "refund.py", text)
        completion = workspace.complete(folder / "refund.py", 8, 28)
        assert completion.text == "items, cart.discount)"
        assert completion.start == (8, 28)


def test_a_start_with_a_kept_index_reads_only_what_changed(folder, tmp_path):
    with opened(folder, cache=True) as workspace:
        assert not workspace.index().warm
    age(folder)
    with Workspace([folder], Config()) as workspace:
        report = workspace.index()
        assert report.warm and report.n_files == 2
    write(folder, {"price.py": "changed_name = 1\n"})
    (folder / "shop.py").unlink()
    with Workspace([folder], Config()) as workspace:
        report = workspace.index()
        assert report.warm and report.n_reused == 0 and report.n_files == 1
        assert holds(workspace, folder, "changed_name")


def age(folder: Path) -> None:
    """Make all files old enough to be trusted by their time stamps."""
    for path in folder.rglob("*.py"):
        os.utime(path, ns=(1_600_000_000_000_000_000, 1_600_000_000_000_000_000))


def test_files_with_trusted_stamps_are_not_read_again(folder):
    age(folder)
    with opened(folder, cache=True):
        pass
    with Workspace([folder], Config()) as workspace:
        report = workspace.index()
        assert (report.warm, report.n_reused, report.n_files) == (True, 2, 2)
        assert holds(workspace, folder, "total_price")


def test_an_index_with_vectors_of_another_table_is_built_anew(folder, monkeypatch):
    age(folder)
    monkeypatch.setattr("weft.server.config.options.table_identity", lambda: "one")
    with opened(folder, cache=True):
        pass
    monkeypatch.setattr("weft.server.config.options.table_identity", lambda: "two")
    for n_reused in (0, 2):
        with Workspace([folder], Config()) as workspace:
            report = workspace.index()
            assert (report.warm, report.n_reused, report.n_files) == (n_reused > 0, n_reused, 2)


def test_unsaved_text_is_not_kept(folder):
    age(folder)
    with opened(folder, cache=True) as workspace:
        workspace.open_buffer(folder / "price.py", "never_saved_name = 1\n")
        workspace.flush()
    with Workspace([folder], Config()) as workspace:
        workspace.index()
        assert not holds(workspace, folder, "never_saved_name")
        assert holds(workspace, folder, "total_price")


def test_a_file_that_was_open_and_is_gone_is_not_found_at_the_next_start(folder):
    with opened(folder, cache=True) as workspace:
        write(folder, {"new.py": ""})
        workspace.open_buffer(folder / "new.py", "never_saved_name = 1\n")
        workspace.flush()
    (folder / "new.py").unlink()
    with Workspace([folder], Config()) as workspace:
        report = workspace.index()
        assert report.warm and report.n_files == 2
        assert not holds(workspace, folder, "never_saved_name")


def test_a_buffer_that_is_open_before_the_kept_index_comes_stays_on_top(folder):
    age(folder)
    with opened(folder, cache=True):
        pass
    with Workspace([folder], Config()) as workspace:
        workspace.open_buffer(folder / "price.py", "early_bird_name = 1\n")
        workspace.flush()
        assert workspace.index().warm
        workspace.flush()  # a request waits only a moment for edits of other files
        assert holds(workspace, folder, "early_bird_name")
        assert not holds(workspace, folder, "total_price(items")


def test_a_buffer_outlives_new_settings_and_a_folder_that_comes_later(folder, tmp_path_factory):
    with Workspace([], Config()) as workspace:
        workspace.open_buffer(folder / "price.py", "early_bird_name = 1\n")
        workspace.add_folder(folder)
        assert holds(workspace, folder, "early_bird_name")
        workspace.configure(Config(index=IndexOptions(max_file_bytes=5000)))
        assert holds(workspace, folder, "early_bird_name")
        assert not holds(workspace, folder, "discount * 1")


def test_another_strategy_needs_no_other_index(folder, monkeypatch):
    with opened(folder) as workspace:
        before = list(workspace._folders)
        workspace.configure(Config(retrieval=Config().retrieval.__class__(strategy="bm25", k=3)))
        assert list(workspace._folders) == before
        assert len(workspace.retrieve(folder / "shop.py", 4, 4).fragments) <= 3


def test_a_new_folder_is_compared_and_an_ignored_one_is_not(folder):
    doubts: list[bool] = []
    with opened(folder) as workspace:
        for name in ("__pycache__", "node_modules/lib", "pkg"):
            (folder / name).mkdir(parents=True)
            next(iter(workspace._folders)).changed_on_disk([name], doubts.append)
        workspace.flush()
    assert doubts == [False, True]  # below node_modules nothing is looked at


def test_a_kept_index_of_other_settings_is_made_anew(folder):
    age(folder)
    with opened(folder, cache=True):
        pass
    other = Config(relations=Weights(call=0.5))
    with Workspace([folder], other) as workspace:
        assert not workspace.index().warm


def test_an_index_that_turns_out_to_be_damaged_answers_and_is_made_anew(folder, monkeypatch, caplog):
    age(folder)
    with opened(folder, cache=True) as workspace:
        n_fragments = workspace.status().n_fragments
    answers = []

    def damaged(self, cancelled):
        answers.append(reopened.status().n_fragments)
        raise DamagedFile("it is damaged in block 1")

    with monkeypatch.context() as patch, Workspace([folder], Config()) as reopened:
        patch.setattr(SectionFile, "verify_rest", damaged)
        reopened.open_buffer(folder / "shop.py", "def unsaved_name(): ...\n")
        assert not reopened.index().warm
        assert answers[0] == n_fragments  # it answers before it is verified
        assert reopened.status().n_files == 2 and holds(reopened, folder, "unsaved_name")
    assert "block 1" in caplog.text
    with Workspace([folder], Config()) as third:
        assert third.index().warm


def test_an_index_that_was_not_verified_is_not_saved(folder, monkeypatch):
    age(folder)
    with opened(folder, cache=True):
        pass
    with Workspace([folder], Config()) as workspace:
        (only,) = workspace._folders
        assert only.load()
        write(folder, {"late.py": "late_name = 1\n"})
        workspace.files_changed([folder / "late.py"])
        workspace.flush()
        before = only._store.location(folder).read_bytes()
        only.save()
        assert only._store.location(folder).read_bytes() == before
        only.verify_loaded(Cancel())
        only.save()
        assert only._store.location(folder).read_bytes() != before


def test_two_workspaces_share_one_cache(folder):
    age(folder)
    first, second = Workspace([folder], Config()), Workspace([folder], Config())
    threads = [threading.Thread(target=workspace.index) for workspace in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    write(folder, {"late.py": "late_name = 1\n"})
    first.files_changed([folder / "late.py"])
    first.flush()
    second.close()
    first.close()
    with Workspace([folder], Config()) as third:
        assert third.index().warm
        assert holds(third, folder, "late_name")


def test_folders_come_and_go(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write(other, {"tax.py": "def value_added_tax(price):\n    return price * 0.2\n"})
    with opened(folder) as workspace:
        workspace.add_folder(other)
        assert workspace.status().n_files == 3
        assert holds(workspace, other, "value_added_tax")
        workspace.remove_folder(other)
        assert workspace.status().folders == (str(folder),)


def test_a_document_without_a_file_is_completed_with_the_first_folders_words(folder):
    with opened(folder) as workspace:
        assert any("total_price" in text for text in found(workspace, Path("/untitled:/script.py"), "x = total_price"))


def test_a_file_outside_all_folders_is_completed_with_what_it_imports(folder, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write(
        elsewhere, {"helper.py": "def total_price(cart):\n    return helped\n", "unrelated.py": "unrelated_name = 1\n"}
    )
    with opened(folder) as workspace:
        text = "from helper import total_price\n\nx = total_price, unrelated_name"
        workspace.open_buffer(elsewhere / "script.py", text)
        workspace.flush()
        texts = found(workspace, elsewhere / "script.py", text)
        assert any("helped" in text for text in texts)
        assert not any("unrelated_name = 1" in text or "cart.discount" in text for text in texts)
        assert workspace.status().folders == (str(folder),)
        workspace.close_buffer(elsewhere / "script.py")
        workspace.flush()
        assert workspace.status().n_files == 2


def test_a_workspace_without_folders_completes_from_the_buffer(tmp_path):
    with Workspace([], WHOLE_TEXTS) as workspace:
        workspace.index()
        text = textwrap.dedent(
            """
            first_long_name = compute(alpha, beta)
            second_long_name = compute(alpha, beta)
            third_long_name = compute(alpha, """
        )
        workspace.open_buffer(tmp_path / "new.py", text)
        assert workspace.complete(tmp_path / "new.py", 3, 33).text == "beta)"


def test_a_cancelled_index_says_so_and_keeps_what_it_has(folder):
    with Workspace([folder], Config(), cache=False) as workspace:
        cancel = Cancel()
        cancel.cancel()
        assert workspace.index(cancel=cancel).cancelled
        assert not workspace.index().cancelled
        assert workspace.status().n_files == 2


def test_progress_counts_to_the_end(folder):
    steps = []
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index(steps.append)
    assert steps[-1].done == steps[-1].total == 2
    assert [step.done for step in steps] == sorted(step.done for step in steps)


def test_worker_processes_find_the_same(folder, monkeypatch):
    write(folder, {f"many/file_{i}.py": f"def name_{i}():\n    return {i}\n" for i in range(40)})
    with opened(folder) as workspace:
        inline = snapshot_of(workspace)
    monkeypatch.setattr("weft.server.workspace.analysis_run.INLINE_BYTES", 0)
    monkeypatch.setattr("weft.server.workspace.workers.BATCH_BYTES", 500)
    with opened(folder) as workspace:
        assert snapshot_of(workspace) == inline


def snapshot_of(workspace: Workspace) -> dict[str, object]:
    (folder,) = workspace._folders
    assert isinstance(folder, Folder)
    graph = folder.snapshot.index.graph
    return {path: (file, graph.call_edges(path)) for path, file in graph.files.items()}


def test_a_file_that_kills_its_worker_is_quarantined(folder, monkeypatch):
    write(folder, {"poison.py": "kills = 1\n"})
    monkeypatch.setattr("weft.server.workspace.analysis_run.INLINE_BYTES", 0)
    start = workers._start

    def start_mortal(niceness: int):
        process = start(niceness)
        assert process.stdin is not None
        write_bytes = process.stdin.write

        def write_or_die(data: bytes) -> int:
            if b"poison.py" in data:
                process.kill()
                process.wait()
            return write_bytes(data)

        process.stdin.write = write_or_die  # type: ignore[method-assign]
        return process

    monkeypatch.setattr(workers, "_start", start_mortal)
    with opened(folder) as workspace:
        assert holds(workspace, folder, "total_price")
        assert "quarantined" in workspace.skipped[str(folder / "poison.py")]


def test_a_module_of_the_workspace_is_never_imported(folder, monkeypatch):
    write(folder, {name: "open('executed', 'w')\n" for name in ("numpy.py", "tree_sitter.py", "sitecustomize.py")})
    monkeypatch.setattr("weft.server.workspace.analysis_run.INLINE_BYTES", 0)
    monkeypatch.chdir(folder)
    with opened(folder) as workspace:
        assert workspace.status().n_files == 5
    assert not (folder / "executed").exists()


def test_a_file_larger_than_the_limit_is_left_out(folder):
    write(folder, {"big.py": "big_name = 1\n" * 100})
    with opened(folder, config=Config(index=IndexOptions(max_file_bytes=300))) as workspace:
        assert not holds(workspace, folder, "big_name")


def test_a_text_that_is_too_large_is_followed_and_not_analysed(folder, monkeypatch):
    monkeypatch.setattr("weft.server.workspace.buffers.MAX_OPEN_CHARACTERS", 200)
    config = Config(index=IndexOptions(max_file_bytes=300))
    with opened(folder, config=config) as workspace:
        path = folder / "shop.py"
        large = path.read_text() + "zebra = 1\n" * 100
        workspace.open_buffer(path, large)
        workspace.flush()
        reason = "shop.py has more than 0.0003 million characters"
        assert workspace.status().withheld == (reason,)
        for text in (None, large):
            completion = workspace.complete(path, 1, 4, trigger="invoked", text=text)
            assert (completion.text, reason in completion.why_empty) == ("", True)
        assert not holds(workspace, folder, "zebra")
        workspace.edit_buffer(path, "zebra = 1\n")
        assert workspace.status().withheld == () and holds(workspace, folder, "zebra")
        workspace.edit_buffer(path, large)
        assert not holds(workspace, folder, "zebra")
        workspace.close_buffer(path)
        assert workspace.status().withheld == ()


def test_an_editors_language_counts_for_a_file_without_a_suffix(tmp_path):
    (tmp_path / "build").write_text("def total(items):\n    return sum(items)\n")
    with Workspace([tmp_path], Config(model=()), cache=False) as workspace:
        workspace.index()
        assert not definitions_in(workspace, tmp_path, "build")
        workspace.open_buffer(tmp_path / "build", "def total(items):\n    return sum(items)\n", 1, "python")
        workspace.flush()
        assert definitions_in(workspace, tmp_path, "build") == ["total"]
        workspace.edit_buffer(tmp_path / "build", "def price(item):\n    return 1\n", 2)
        workspace.flush()
        assert definitions_in(workspace, tmp_path, "build") == ["price"]
        workspace.close_buffer(tmp_path / "build")
        workspace.flush()
        assert not definitions_in(workspace, tmp_path, "build")


def definitions_in(workspace, folder, path):
    return [each.name for each in workspace.indexes(folder)[str(folder)].graph.files[path].definitions]


def test_text_stands_for_every_language_that_no_grammar_reads(tmp_path):
    for name in ("a.dart", "a.py"):
        (tmp_path / name).write_text("x\n")
    config = Config(model=(), completion=CompletionOptions(languages=("text",)))
    with Workspace([tmp_path], config, cache=False) as workspace:
        assert "completion is off for python" in workspace.complete(tmp_path / "a.py", 0, 1).why_empty
        assert "completion is off" not in workspace.complete(tmp_path / "a.dart", 0, 1).why_empty


def test_a_manifest_is_indexed_and_followed_and_a_broken_one_is_named_once(tmp_path, caplog):
    manifest = '{"name": "@me/lib", "main": "dist/pay.js"}'
    write(
        tmp_path,
        {
            "main.ts": 'import { payAll } from "@me/lib";\npayAll();\n',
            "lib/package.json": manifest,
            "lib/src/pay.ts": "export function payAll() {}\n",
            "go.mod": "module example.com/shop\n",
            "go.work": "use .\n",
            "pnpm-workspace.yaml": "packages: [lib]\n",
            "package-lock.json": "{",
        },
    )

    def targets(workspace: Workspace) -> list[str]:
        workspace._writer.flush()
        graph = workspace.indexes(tmp_path)[str(tmp_path)].graph
        return [edge.path for edge in graph.call_edges("main.ts")]

    with opened(tmp_path, cache=True) as workspace:
        graph = workspace.indexes(tmp_path)[str(tmp_path)].graph
        named = sorted(path for path, file in graph.files.items() if file.manifest)
        assert named == ["go.mod", "go.work", "lib/package.json", "pnpm-workspace.yaml"]
        assert targets(workspace) == ["lib/src/pay.ts"]
        for text in (manifest[:-1], manifest[:-2]):
            write(tmp_path, {"lib/package.json": text})
            workspace.files_changed([tmp_path / "lib/package.json"])
            assert targets(workspace) == []
    broken = "`lib/package.json` is not valid JSON on line 1; its module names are not used. Correct the file."
    assert caplog.messages == [broken]
    with opened(tmp_path, cache=True) as workspace:
        assert targets(workspace) == []
        assert caplog.messages == [broken, broken]  # once in each process
        write(tmp_path, {"lib/package.json": manifest})
        workspace.files_changed([tmp_path / "lib/package.json"])
        assert targets(workspace) == ["lib/src/pay.ts"]
