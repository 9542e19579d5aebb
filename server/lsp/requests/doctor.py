"""`weft/doctor`: what is installed and configured, and what to do about what is wrong."""

from __future__ import annotations

from ...output.doctor import examine, findings_json
from ...output.pages import findings_page
from ...output.types import DoctorResult
from ..session import Session


async def handle_doctor(session: Session, _: object) -> DoctorResult | None:
    """It may take seconds, for it asks the models; nothing waits for it. Null when the server stops meanwhile."""
    findings = await session.run_diagnostics(lambda: examine(session.existing_folders(), session.settings))
    return None if findings is None else {**findings_json(findings), "page": findings_page(findings)}
