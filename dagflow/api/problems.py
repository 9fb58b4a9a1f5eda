"""Errors as RFC 9457 problem details."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from dagflow.core.errors import (
    BugError,
    ConflictError,
    DagflowError,
    NotAllowedError,
    NotFoundError,
    UnavailableError,
    UsageError,
    ValueRefusedError,
)

MEDIA_TYPE: Final = "application/problem+json"
DOCS: Final = "https://dagflow.dev/problems"

STATUS: Final[tuple[tuple[type[DagflowError], int, str], ...]] = (
    (BugError, 500, "bug"),
    (ValueRefusedError, 422, "value-refused"),
    (UsageError, 422, "refused"),
    (NotAllowedError, 403, "not-allowed"),
    (NotFoundError, 404, "not-found"),
    (ConflictError, 409, "conflict"),
    (UnavailableError, 503, "unavailable"),
)


class TooLargeError(DagflowError):
    """The request body is longer than the server reads."""


class ReportError(DagflowError):
    """A workflow did not compile; the report goes with the answer."""

    def __init__(self, report: dict[str, Any]) -> None:
        super().__init__("the workflow has errors", remedy="see `report.findings`")
        self.report = report


def problem(request: Request, status: int, code: str, detail: str, **more: Any) -> JSONResponse:
    """Return a problem document."""
    body = {
        "type": f"{DOCS}/{code}",
        "title": code.replace("-", " "),
        "status": status,
        "detail": detail,
        "instance": request.url.path,
        "code": code,
        "request_id": getattr(request.state, "request_id", ""),
        **{name: value for name, value in more.items() if value},
    }
    headers = {"Retry-After": "1"} if status == 503 else None  # noqa: PLR2004
    return JSONResponse(body, status, headers=headers, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Make every error of the application a problem document."""
    app.add_exception_handler(DagflowError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


async def _ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, DagflowError)
    if isinstance(error, ReportError):
        return problem(request, 422, "does-not-compile", error.message, report=error.report)
    if isinstance(error, TooLargeError):
        return problem(request, 413, "too-large", error.message, remedy=error.remedy)
    status, code = next(
        ((status, code) for kind, status, code in STATUS if isinstance(error, kind)), (500, "bug")
    )
    return problem(request, status, code, error.message, remedy=error.remedy)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    errors = [
        {"pointer": "/" + "/".join(str(part) for part in it["loc"]), "detail": it["msg"]}
        for it in error.errors()
    ]
    detail = "; ".join(f"{it['pointer']}: {it['detail']}" for it in errors)
    return problem(request, 422, "invalid-request", detail, errors=errors)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "http-error")
    answer = problem(request, error.status_code, code, str(error.detail))
    answer.headers.update(error.headers or {})
    return answer


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    return problem(request, 500, "bug", f"a bug in dagflow: {type(error).__name__}")
