"""What would the repository write here? A language model made of an n-gram index over the workspace's own tokens."""

from .model import WorkspaceModel
from .tokens import DocumentTokens, tokenise_document

__all__ = ["DocumentTokens", "WorkspaceModel", "tokenise_document"]
