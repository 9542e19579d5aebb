"""`weft/explore`: a view of the page of `weft explore` in this window's workspace, with its unsaved text."""

from __future__ import annotations

from ....errors import WeftError
from ....llm import Cancel
from ...explore.views import VIEWS, view
from ...output.types import ExploreResult
from ...workspace.workspace import Workspace
from ..messages import WEFT_EXPLORE, ExploreParams
from ..registry import handles
from ..session import Session


@handles(WEFT_EXPLORE)
async def handle_explore(session: Session, params: ExploreParams) -> ExploreResult | None:
    """Null if the server stops. A wrong request is a result, for the page to show."""

    def look(workspace: Workspace, cancel: Cancel) -> ExploreResult:
        try:
            return {"view": view(workspace, params.name, params.arguments, cancel), "error": ""}
        except WeftError as error:
            return {"view": {}, "error": str(error)}

    if params.name in VIEWS and VIEWS[params.name].is_slow:
        return await session.run_concurrently(look)
    return await session.run_short(look)
