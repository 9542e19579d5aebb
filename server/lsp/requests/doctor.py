"""`weft/doctor`: diagnoses the installation and configuration, with a next step for each problem."""

from __future__ import annotations

from ...output.doctor import examine, findings_json
from ...output.pages import findings_page
from ...output.types import DoctorResult
from ..messages import WEFT_DOCTOR
from ..registry import handles
from ..session import Session


@handles(WEFT_DOCTOR)
async def handle_doctor(session: Session, _: object) -> DoctorResult | None:
    """May take seconds, since it sends requests to the models. Null if the server stops."""
    findings = await session.run_diagnostics(lambda: examine(session.existing_folders(), session.settings))
    return None if findings is None else {**findings_json(findings), "page": findings_page(findings)}
