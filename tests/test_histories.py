"""Reading of edits from a git history, and the errors of incomplete clones."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.benchmarks.histories import NoHistory, commits_between, edits_of, files_at, hunks_between

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *arguments):
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def clone(tmp_path):
    folder = tmp_path / "clone"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def commit(clone, **files):
    """Files by their names, `__` for a slash and `_` before the extension; None deletes. The commit's name."""
    for name, content in files.items():
        path = clone / (name.replace("__", "/").rpartition("_")[0] + "." + name.rpartition("_")[2])
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.unlink()
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "a change")
    return git(clone, "rev-parse", "HEAD")


@needs_git
def test_what_a_commit_changed_and_added_is_read(clone):
    first = commit(clone, a_py="one\ntwo\n", b_py="gone\n", c_py="same\n")
    second = commit(clone, a_py="one\n2\n", b_py=None, d_py="new\n")
    edits = list(edits_of(clone, [first, second]))
    assert [(edit.commit, edit.path, edit.before, edit.after) for edit in edits[3:]] == [
        (second, "a.py", "one\ntwo\n", "one\n2\n"),
        (second, "d.py", "", "new\n"),
    ]
    assert {edit.path for edit in edits[:3]} == {"a.py", "b.py", "c.py"}
    assert commits_between(clone, "HEAD") == [first, second]
    assert commits_between(clone, f"{first}..{second}") == [second]


@needs_git
def test_code_is_edited_before_its_tests_and_those_before_documents(clone):
    made = commit(clone, README_md="x\n", tests__test_a_py="x\n", zebra_py="x\n", a_py="x\n")
    assert [edit.path for edit in edits_of(clone, [made])] == ["a.py", "zebra.py", "tests/test_a.py", "README.md"]


@needs_git
def test_line_breaks_stay_and_what_is_no_text_is_left_out(clone):
    made = commit(
        clone, dos_py="one\r\ntwo\r\n", picture_png=b"\x89PNG\0\1", latin_py=b"caf\xe9\n", smile_py="# \U0001f600\n"
    )
    assert {edit.path: edit.after for edit in edits_of(clone, [made])} == {
        "dos.py": "one\r\ntwo\r\n",
        "smile.py": "# \U0001f600\n",
    }


@needs_git
def test_links_and_merges_are_left_out(clone):
    commit(clone, a_py="one\n")
    git(clone, "checkout", "-q", "-b", "side")
    commit(clone, side_py="x\n")
    git(clone, "checkout", "-q", "main")
    (clone / "link.py").symlink_to("a.py")
    linked = commit(clone, b_py="x\n")
    git(clone, "merge", "-q", "--no-edit", "side")
    merge = git(clone, "rev-parse", "HEAD")
    assert [edit.path for edit in edits_of(clone, [linked, merge])] == ["b.py"]
    assert merge not in commits_between(clone, "HEAD")


@needs_git
def test_a_repository_is_read_as_it_stood(clone):
    first = commit(clone, a_py="one\n", pkg__b_py="two\n")
    commit(clone, a_py="three\n")
    assert dict(files_at(clone, first)) == {"a.py": "one\n", "pkg/b.py": "two\n"}


@needs_git
def test_a_folder_without_history_says_where_to_run(tmp_path):
    with pytest.raises(NoHistory, match="--repository"):
        list(edits_of(tmp_path, ["HEAD"]))


@needs_git
def test_a_commit_that_is_not_there_says_what_to_fetch(clone):
    commit(clone, a_py="one\n")
    with pytest.raises(NoHistory, match="git fetch"):
        list(edits_of(clone, ["1234567890123456789012345678901234567890"]))


@needs_git
def test_a_shallow_clone_is_told_to_fetch_the_rest(clone, tmp_path):
    commit(clone, a_py="one\n", b_py="two\n")
    last = commit(clone, a_py="three\n")
    git(tmp_path, "clone", "-q", "--depth", "1", clone.as_uri(), "shallow")
    # Without the check the commit would seem to have added both files.
    with pytest.raises(NoHistory, match="--unshallow"):
        list(edits_of(tmp_path / "shallow", [last]))


def test_hunks_are_the_changed_lines_with_their_breaks():
    before, after = "a\nb\nc\nd", "a\nB\nBB\nc\n"
    assert [(hunk.start_line, hunk.end_line, hunk.removed, hunk.text) for hunk in hunks_between(before, after)] == [
        (1, 2, "b\n", "B\nBB\n"),
        (3, 4, "d", ""),
    ]


lines = st.lists(st.sampled_from(["", "a", "b", "é\u2028", "\U0001f600"]), max_size=6)
texts = st.tuples(lines, st.sampled_from(["\n", "\r\n", "\r"])).map(lambda drawn: drawn[1].join(drawn[0]))


@given(texts, texts)
def test_hunks_from_the_bottom_up_make_the_new_text(before, after):
    text = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", before)
    for hunk in reversed(hunks_between(before, after)):
        assert "".join(text[hunk.start_line : hunk.end_line]) == hunk.removed
        text[hunk.start_line : hunk.end_line] = [hunk.text]
    assert "".join(text) == after
