"""Module resolution: the files that an import refers to, by the paths and manifests of a repository."""

from .index import ModuleIndex, ModuleQuery, names_affected_by
from .manifests import CSHARP_MANIFESTS, manifest_style, read_manifest
from .paths import contains, directory_of, join_path, upwards

__all__ = [
    "CSHARP_MANIFESTS",
    "ModuleIndex",
    "ModuleQuery",
    "contains",
    "directory_of",
    "join_path",
    "manifest_style",
    "names_affected_by",
    "read_manifest",
    "upwards",
]
