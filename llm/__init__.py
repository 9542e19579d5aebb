"""What comes next at a cursor? Models behind one small protocol, from the workspace's own to servers.

Start with `protocol`; `choose` opens a configured model, `workspace_model` is the one that is always there.
Knows no editor and no index.
"""

from .backends import BACKENDS, ModelConfig, open_model
from .protocol import (
    Cancel,
    CodeModel,
    CompletionRequest,
    ModelError,
    ModelInfo,
    ModelMissing,
    ModelUnreachable,
    Piece,
    PromptFragment,
)
from .workspace_model.model import WorkspaceModel
from .workspace_model.tokens import DocumentTokens, tokenise_document

__all__ = [
    "BACKENDS",
    "Cancel",
    "CodeModel",
    "CompletionRequest",
    "DocumentTokens",
    "ModelConfig",
    "ModelError",
    "ModelInfo",
    "ModelMissing",
    "ModelUnreachable",
    "Piece",
    "PromptFragment",
    "WorkspaceModel",
    "open_model",
    "tokenise_document",
]
