"""What an edit and a closed file leave in memory."""

from weft import Workspace
from weft.codegraph import syntax
from weft.server.config import Config

TEXT = "".join(f"def made_{i}():\n    return other_{i}()\n\n\n" for i in range(60))


def test_edited_files_keep_no_arrays_of_old_snapshots_and_closed_ones_no_tree(tmp_path):
    paths = [tmp_path / f"f{i}.py" for i in range(4)]
    for path in paths:
        path.write_text(TEXT)
    with Workspace([tmp_path], Config()) as workspace:
        workspace.index()
        for number, path in enumerate(paths):
            workspace.open_buffer(path, TEXT)
            workspace.flush()
            assert path.name in syntax._LAST_TREES
            workspace.edit_buffer(path, f"x = {number}\n{TEXT}", 1)
            workspace.flush()
        (index,) = workspace.indexes().values()
        spans = index.relations._segmented.spans
        found = [spans[path.name] for path in paths]
        assert all(span.starts.base is None and span.ends.base is None for span in found)
        for path in paths:
            workspace.close_buffer(path)
        workspace.flush()
        assert not {path.name for path in paths} & syntax._LAST_TREES.keys()
