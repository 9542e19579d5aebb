"""Error recovery of Kotlin."""

from .error_nodes import Header


class KotlinHeader(Header):
    pass
