"""What comes next at a cursor? Models behind one small protocol, from the workspace's own to servers.

Start with `protocol`; `choose` opens a configured model, `workspace_model` is the one that is always there.
Knows no editor and no index.
"""

from .choose import BACKENDS, ModelConfig, open_model
from .lexer import DocumentTokens, tokenise_document
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
    TimeLimit,
)
from .workspace_model import WorkspaceModel

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
    "TimeLimit",
    "WorkspaceModel",
    "open_model",
    "tokenise_document",
]
