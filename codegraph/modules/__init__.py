"""Module resolution: the files that an import refers to, by the paths and manifests of a repository."""

from .index import ModuleIndex, ModuleQuery, names_affected_by
from .manifests import manifest_style, read_manifest
from .paths import directory_of

__all__ = ["ModuleIndex", "ModuleQuery", "directory_of", "manifest_style", "names_affected_by", "read_manifest"]
