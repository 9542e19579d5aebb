"""`weft/status`, `weft/pause`, `weft/indexFolders` and `weft/doctor`. `status_push` sends status changes."""

from __future__ import annotations

from ...output.doctor import examine, findings_json
from ...output.pages import findings_page
from ...output.types import DoctorResult, StatusResult
from ..messages import WEFT_DOCTOR, WEFT_INDEX_FOLDERS, WEFT_PAUSE, WEFT_STATUS, PauseParams
from ..registry import handles
from ..session import Session


@handles(WEFT_STATUS)
async def handle_status(session: Session, _: object) -> StatusResult:
    return await session.status(with_page=True)


@handles(WEFT_PAUSE)
async def handle_pause(session: Session, params: PauseParams) -> StatusResult:
    """Pause or resume, and return the new status. No effect before the workspace is open."""
    await session.pause(params.paused)
    return await session.status(with_page=True)


@handles(WEFT_INDEX_FOLDERS)
async def handle_index_folders(session: Session, _: object) -> StatusResult:
    """Begin to index broad folders, and return the new status."""
    await session.index_broad_folders()
    return await session.status(with_page=True)


@handles(WEFT_DOCTOR)
async def handle_doctor(session: Session, _: object) -> DoctorResult | None:
    """May take seconds, since it sends requests to the models. Null if the server stops."""
    findings = await session.run_diagnostics(lambda: examine(session.existing_folders(), session.settings))
    return None if findings is None else {**findings_json(findings), "page": findings_page(findings)}
