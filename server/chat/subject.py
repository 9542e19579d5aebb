"""What a question is about beside code: documents of the workspace, or the conversation itself.

Owns the decision that `auto` answers instead of the best lines: the person names or attaches documents, or the evidence
is mostly from documents. Knows no strategy and no model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from ...errors import InvalidArgument
from ...memory import Item
from ...retrieval.questions import is_document
from .context import ChatContext
from .values import EvidenceSet

MOST_DOCUMENTS = 3  # the number of documents that are read because the evidence is from them
SHARE_OF_BEST = 0.5  # such a document has an item with at least this share of the best score
SHARE_OF_EVIDENCE = 0.6  # the least share of all scores that is from documents

Document = tuple[str, str]
"""The folder of a document, "" where there is one, and its path in it. The pages of a PDF file are one document."""


@dataclass(frozen=True, slots=True)
class QuestionSubject:
    """The documents of a question; none for a question about the conversation.

    `is_chosen` is True if the person named or attached them: then the answer is in no other file.
    """

    documents: tuple[Document, ...] = ()
    is_chosen: bool = False

    @property
    def description(self) -> str:
        if not self.documents:
            return "this conversation"
        return " and ".join(path for _, path in self.documents)


def attached_documents(paths: Sequence[Path], source: ChatContext) -> tuple[Document, ...]:
    """The documents at these paths, relative ones below the current folder.

    Raises InvalidArgument for a path that is no document of the workspace.
    """
    known = set(known_documents(source)) if paths else set()
    return tuple(dict.fromkeys(_document_at(path, known, list(source.indexes())) for path in paths))


def named_documents(question: str, source: ChatContext) -> tuple[Document, ...]:
    """The documents whose path, end of a path or file name is in the question."""
    names = [word for word in _WORD.findall(question) if _is_file_name(word)]
    known = known_documents(source) if names else []
    return tuple(dict.fromkeys(document for name in names for document in _matching(name, known)))


def documents_of_evidence(evidence: EvidenceSet) -> tuple[Document, ...]:
    """The documents that most of the evidence is from, best first; none if code answers too."""
    items = [item for item in evidence.items if item.kind != "turn"]
    if not items or evidence.names or evidence.findings or not is_document(items[0].path):
        return ()
    of_documents = [item for item in items if is_document(item.path)]
    if sum(item.score for item in of_documents) < SHARE_OF_EVIDENCE * sum(item.score for item in items):
        return ()
    best = max(item.score for item in of_documents)
    near = [item for item in of_documents if item.score >= SHARE_OF_BEST * best]
    return tuple(dict.fromkeys((item.folder, whole_path(item.path)) for item in near))[:MOST_DOCUMENTS]


def known_documents(source: ChatContext) -> list[Document]:
    """All documents of the workspace."""
    return list(dict.fromkeys((folder, whole_path(path)) for folder, path, _ in _texts(source)))


def document_items(
    source: ChatContext, is_wanted: Callable[[Document], bool] = lambda document: True
) -> tuple[list[Item], dict[str, Document]]:
    """The wanted documents as items, and by source of an item its folder and path.

    A path that two folders have is a source with the name of its folder.
    """
    items, places = list[Item](), dict[str, Document]()
    for folder, path, text in _texts(source):
        if not is_wanted((folder, whole_path(path))):
            continue
        name = path if places.get(path, (folder, path)) == (folder, path) else f"{PurePosixPath(folder).name}/{path}"
        places[name] = (folder, path)
        items.append(Item(name, text()))
    return items, places


def whole_path(path: str) -> str:
    """The path of a file without its page: "paper.pdf" for "paper.pdf#page=3"."""
    return path.partition("#page=")[0]


def _texts(source: ChatContext) -> Iterable[tuple[str, str, Callable[[], str]]]:
    """Folder, path and text of all documents; the folder is "" if there is one."""
    indexes = source.indexes()
    for folder, index in indexes.items():
        shown = "" if len(indexes) == 1 else folder
        for path in sorted(path for path in index.texts if is_document(path)):
            yield shown, path, partial(index.texts[path].decode, "utf-8", "replace")
        unindexed: dict[str, list[str]] = {}
        for segment in source.documents(folder).files_outside_index():
            lines = unindexed.setdefault(segment.source, [])
            # Padding, so that each line has the number that it has in its file.
            lines += [""] * (segment.first_line - len(lines))
            lines += segment.text.rstrip("\n").split("\n")
        for path, lines in unindexed.items():
            yield shown, path, partial("\n".join, lines)


_WORD = re.compile(r"[^\s\"'`“”‘’(){}\[\]<>,;:?!*]+[^\s\"'`“”‘’(){}\[\]<>,;:?!*.]")


def _is_file_name(word: str) -> bool:
    """Whether a word is the name of a document. Without a suffix it is in capitals: an "install" is mostly no file."""
    return is_document(word) and (bool(PurePosixPath(word).suffix) or word.isupper())


def _document_at(path: Path, known: Container[Document], folders: Sequence[str]) -> Document:
    resolved = path.resolve()
    for folder in sorted(folders, key=len, reverse=True):
        if resolved.is_relative_to(folder):
            document = ("" if len(folders) == 1 else folder, resolved.relative_to(folder).as_posix())
            if document in known:
                return document
    raise InvalidArgument(
        f"{path} is not a document of this workspace. Give the path of a Markdown, text, notebook or PDF file in it."
    )


def _matching(written: str, known: Sequence[Document]) -> list[Document]:
    """The documents whose path ends with a written one; a name without a suffix stands for any suffix."""
    name = whole_path(written).removeprefix("./").lower()
    has_suffix = bool(PurePosixPath(name).suffix)

    def is_named(path: str) -> bool:
        path = path.lower() if has_suffix else PurePosixPath(path.lower()).with_suffix("").as_posix()
        return f"/{path}".endswith(f"/{name}")

    found = [document for document in known if is_named(document[1])]
    # Of several files with one name, those nearest to the root are meant.
    depth = min((path.count("/") for _, path in found), default=0)
    return [document for document in found if document[1].count("/") == depth]
