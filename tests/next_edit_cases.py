"""Cases of next edits: a repository in one text, and the edits of one file."""

import textwrap

from weft.codegraph import parse_file
from weft.languages import language_of
from weft.retrieval import RepositoryIndex, slice_file
from weft.server.config import Config
from weft.server.next_edit.edited_files import edited_file
from weft.server.next_edit.suggest import in_order, suggest
from weft.server.next_edit.values import Situation
from weft.server.workspace.recent_edits import RecentEdits
from weft.server.workspace.text import TextLines


def files_of(text):
    """Files in one text: `#- name` opens each."""
    files = {}
    for part in textwrap.dedent(text).split("#- ")[1:]:
        name, _, content = part.partition("\n")
        files[name.strip()] = content
    return files


def after(text, path, *replacements):
    """The situation after replacing pieces of text in a file, one after the other."""
    files = files_of(text)
    recent, now = RecentEdits(), files[path]
    for at, (old, new) in enumerate(replacements):
        assert now.count(old) == 1, old
        changed = now.replace(old, new)
        recent = recent.with_edit(path, now, changed, float(at))
        now = changed
    files[path] = now
    index = RepositoryIndex.build((parse_file(*file), slice_file(*file)) for file in files.items())
    edited = edited_file(path, language_of(path), TextLines(now), recent.hunks)
    return Situation(index, (edited,), path, recent.hunks[0].start_line, 0)


def after_each(text, *edits, indexes_edits=True):
    """The situation after replacing a piece of text in each of some files, which the index has as before or now."""
    files = files_of(text)
    indexed, recent = files.copy(), RecentEdits()
    for at, (path, old, new) in enumerate(edits):
        assert files[path].count(old) == 1, old
        changed = files[path].replace(old, new)
        recent = recent.with_edit(path, files[path], changed, float(at))
        files[path] = changed
    if indexes_edits:
        indexed = files
    index = RepositoryIndex.build((parse_file(*file), slice_file(*file)) for file in indexed.items())
    paths = [path for path, *_ in reversed(edits)]
    edited = [edited_file(path, language_of(path), TextLines(files[path]), recent.hunks) for path in paths]
    return Situation(index, tuple(edited), paths[0], edited[0].hunks[0].start_line, 0)


def after_moving(text, piece, path, target):
    """The situation after a piece of text was moved from one file to the end of another."""
    files = files_of(text)
    assert files[path].count(piece) == 1, piece
    recent = RecentEdits()
    for name, changed in ((path, files[path].replace(piece, "")), (target, files[target] + piece)):
        recent = recent.with_edit(name, files[name], changed, 0.0)
        files[name] = changed
    index = RepositoryIndex.build((parse_file(*file), slice_file(*file)) for file in files.items())
    edited = [edited_file(name, language_of(name), TextLines(files[name]), recent.hunks) for name in (target, path)]
    return Situation(index, tuple(edited), target, recent.hunks[0].start_line, 0)


def offers(situation):
    """Edits as text; repeated ones only when the default setting shows them, as they follow from any edit."""
    least = Config().next_edits.min_confidence
    found = suggest(situation, 20, 0.3)
    return [shown(edit) for edit in found if edit.kind != "repeated" or edit.confidence >= least]


def offers_of(kind, situation, least=0.3):
    """The edits of one kind as text, in order, without improbable ones."""
    return [shown(edit) for edit in in_order(situation, kind(situation)) if edit.confidence >= least]


def shown(edit):
    return f"{edit.path}:{edit.start[0] + 1}:{edit.start[1]} {edit.old} -> {edit.new}"
