"""Which settings exist, where may they be set, and what is reported when one is wrong?"""

from .loading import PROJECT_FILE, WORKSPACE_FILE, ConfigProblem, load_config, user_config_file
from .reference import describe, schema
from .settings import ChatOptions, CompletionOptions, Config, IndexOptions, MemoryOptions

__all__ = [
    "PROJECT_FILE",
    "WORKSPACE_FILE",
    "ChatOptions",
    "CompletionOptions",
    "Config",
    "ConfigProblem",
    "IndexOptions",
    "MemoryOptions",
    "describe",
    "load_config",
    "schema",
    "user_config_file",
]
