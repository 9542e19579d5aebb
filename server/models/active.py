"""The models of a workspace: one chain for the present configuration, replaced when that changes.

Owns the present chain, and its callbacks, which a new chain inherits. Knows no request.
"""

from __future__ import annotations

from collections.abc import Callable

from ...llm import CodeModel
from ..config import Config
from ..config.options import model_configs, uses_workspace_model
from .chain import ModelChain

WORKSPACE_MODEL = "workspace model"
NO_MODEL = "none"  # the name of the model when none answers


class ActiveModels:
    """Thread-safe. `given` precedes the configured models. `on_change` is called when a state changes."""

    def __init__(self, config: Config, given: CodeModel | None, on_change: Callable[[], None]) -> None:
        self._config = config
        self._given = given
        self._on_change = on_change
        self._attended: tuple[Callable[[str], None], Callable[[], None]] | None = None
        self.chain = self._new_chain()

    @property
    def name(self) -> str:
        """The name of the model that answers now."""
        return self.chain.answering[0] or (WORKSPACE_MODEL if uses_workspace_model(self._config) else NO_MODEL)

    @property
    def is_attended(self) -> bool:
        """Whether models are kept ready in the background, as in a server."""
        return self._attended is not None

    def attend(self, report: Callable[[str], None], on_ready: Callable[[], None]) -> None:
        """Open, test and warm the models in the background from now on; see `ModelChain.attend`."""
        self._attended = (report, on_ready)
        self.chain.attend(report, on_ready)

    def configure(self, config: Config, *, is_paused: bool) -> None:
        """Use the models of another configuration; those of the same one stay open."""
        before, self._config = self._config, config
        if (model_configs(config), config.redact) == (model_configs(before), before.redact):
            return
        old, self.chain = self.chain, self._new_chain()
        old.close()
        if is_paused:
            self.chain.pause()
        if self._attended is not None:
            self.chain.attend(*self._attended)

    def pause(self) -> None:
        self.chain.pause()

    def resume(self) -> None:
        self.chain.resume()

    def close(self) -> None:
        self.chain.close()

    def _new_chain(self) -> ModelChain:
        fallback = "The workspace model" if uses_workspace_model(self._config) else "No model"
        return ModelChain(
            model_configs(self._config),
            self._given,
            fallback=fallback,
            redact=self._config.redact,
            on_change=self._on_change,
        )
