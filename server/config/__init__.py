"""What may a user set, where may it be set, and what is said when a setting is wrong?"""

from .config import (
    PROJECT_FILE,
    WORKSPACE_FILE,
    ChatOptions,
    CompletionOptions,
    Config,
    ConfigProblem,
    IndexOptions,
    MemoryOptions,
    ModelOptions,
    RankingOptions,
    RelationOptions,
    describe,
    load_config,
    schema,
    user_config_file,
)

__all__ = [
    "PROJECT_FILE",
    "WORKSPACE_FILE",
    "ChatOptions",
    "CompletionOptions",
    "Config",
    "ConfigProblem",
    "IndexOptions",
    "MemoryOptions",
    "ModelOptions",
    "RankingOptions",
    "RelationOptions",
    "describe",
    "load_config",
    "schema",
    "user_config_file",
]
