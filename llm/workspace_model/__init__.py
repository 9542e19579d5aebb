"""A language model made of an n-gram index over the tokens of the workspace, with a fitted candidate scorer."""

from .model import WorkspaceModel
from .origins import Origin, Origins, has_content
from .tokens import DocumentTokens, tokenise_document

__all__ = ["DocumentTokens", "Origin", "Origins", "WorkspaceModel", "has_content", "tokenise_document"]
