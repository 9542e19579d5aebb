"""Next edits of a workspace with open buffers: freshness, several files, refusals."""

import pytest
from next_edit_cases import files_of
from weft.server.config import Config
from weft.server.workspace.workspace import Workspace

SHOP = """
    #- shop.py
    def pay(amount):
        return amount
    #- use.py
    from shop import pay
    print(pay(1), pay(2))
    """


@pytest.fixture
def workspace(tmp_path):
    for name, text in files_of(SHOP).items():
        (tmp_path / name).write_text(text)
    with Workspace([tmp_path], Config(), cache=False) as opened:
        opened.index()
        yield opened


def texts_of(edits):
    return [(edit.path, edit.start, edit.new) for edit in edits]


def rename(workspace, tmp_path, old="pay", new="charge"):
    text = files_of(SHOP)["shop.py"]
    workspace.open_buffer(tmp_path / "shop.py", text)
    workspace.edit_buffer(tmp_path / "shop.py", text.replace(old, new))
    return workspace.next_edits(tmp_path / "shop.py", 0, 10)


EXPECTED = [("use.py", (0, 17), "charge"), ("use.py", (1, 6), "charge"), ("use.py", (1, 14), "charge")]


def test_a_rename_is_followed_in_other_files(workspace, tmp_path):
    assert texts_of(rename(workspace, tmp_path)) == EXPECTED


def test_nothing_is_offered_without_edits_and_outside_of_the_workspace(workspace, tmp_path):
    workspace.open_buffer(tmp_path / "shop.py", files_of(SHOP)["shop.py"])
    assert workspace.next_edits(tmp_path / "shop.py", 0, 0) == ()
    assert workspace.next_edits(tmp_path.parent / "elsewhere.py", 0, 0) == ()


def test_an_undone_edit_offers_nothing(workspace, tmp_path):
    rename(workspace, tmp_path)
    workspace.edit_buffer(tmp_path / "shop.py", files_of(SHOP)["shop.py"])
    assert workspace.next_edits(tmp_path / "shop.py", 0, 10) == ()


def test_edits_that_were_made_are_not_offered_again(workspace, tmp_path):
    rename(workspace, tmp_path)
    use = files_of(SHOP)["use.py"]
    workspace.open_buffer(tmp_path / "use.py", use)
    workspace.edit_buffer(tmp_path / "use.py", use.replace("import pay", "import charge"))
    assert texts_of(workspace.next_edits(tmp_path / "use.py", 0, 0)) == EXPECTED[1:]


def test_an_edit_that_was_refused_is_not_offered_again_also_when_the_name_goes_on(workspace, tmp_path):
    rename(workspace, tmp_path)
    offers = workspace.next_edits_of.at(tmp_path / "shop.py", 0, 10)
    workspace.next_edits_of.refused(offers[0].id)
    assert workspace.stats.summary().day.n_next_refused == {"rename": 1}
    assert texts_of(workspace.next_edits(tmp_path / "shop.py", 0, 10)) == EXPECTED[1:]
    assert [edit.start for edit in rename(workspace, tmp_path, new="charges")] == [(1, 6), (1, 14)]


def test_positions_are_those_of_an_open_text_that_differs_from_the_disk(workspace, tmp_path):
    use = files_of(SHOP)["use.py"]
    workspace.open_buffer(tmp_path / "use.py", f"# above\n{use}".replace("\n", "\r\n"))
    found = rename(workspace, tmp_path)
    assert [edit.start for edit in found] == [(1, 17), (2, 6), (2, 14)]
