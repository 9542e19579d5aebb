"""Language models behind one protocol: the workspace model, models in this process, and model servers.

Start with `protocol`; `backends` opens the model of a configuration, `workspace_model` needs none. Knows no editor and
no index.
"""

from ..errors import ModelError
from .backends import BACKENDS, ModelConfig, open_model
from .protocol import (
    Cancel,
    CodeModel,
    CompletionRequest,
    ModelInfo,
    ModelMissing,
    ModelUnreachable,
    Piece,
    PromptFragment,
    TimeLimit,
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
    "TimeLimit",
    "WorkspaceModel",
    "open_model",
    "tokenise_document",
]
