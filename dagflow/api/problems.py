"""Errors as RFC 9457 problem details."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from dagflow.core.errors import (
    BugError,
    ConflictError,
    DagflowError,
    DamagedError,
    NotAllowedError,
    NotFoundError,
    UnavailableError,
    UsageError,
    ValueRefusedError,
)
from dagflow.core.pointers import under
from dagflow.core.values import JsonObject

MEDIA_TYPE: Final = "application/problem+json"
DOCS: Final = "https://dagflow.dev/problems"
UNAVAILABLE: Final = 503


class RefusedRequestError(DagflowError):
    """The request itself can't be taken: its size, form, sender or address."""

    def __init__(self, status: int, code: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.status = status
        self.code = code


class FieldsError(DagflowError):
    """Fields of a body don't fit; each is a JSON Pointer and what is wrong there."""

    def __init__(self, fields: Iterable[tuple[str, str]], *, remedy: str = "") -> None:
        self.fields = tuple(fields)
        super().__init__("; ".join(f"{at}: {why}" for at, why in self.fields), remedy=remedy)


class ReportError(DagflowError):
    """A workflow did not compile; the report goes with the answer."""

    def __init__(self, report: JsonObject) -> None:
        super().__init__("the workflow has errors", remedy="see `report.findings`")
        self.report = report


STATUS: Final[tuple[tuple[type[DagflowError], int, str], ...]] = (
    (BugError, 500, "bug"),
    (ReportError, 422, "does-not-compile"),
    (FieldsError, 422, "invalid-request"),
    (ValueRefusedError, 422, "value-refused"),
    (UsageError, 422, "refused"),
    (NotAllowedError, 403, "not-allowed"),
    (NotFoundError, 404, "not-found"),
    (ConflictError, 409, "conflict"),
    (UnavailableError, UNAVAILABLE, "unavailable"),
    (DamagedError, 500, "damaged"),
)
_HTTP: Final = {404: "not-found", 405: "method-not-allowed"}


def problem(request: Request, status: int, code: str, detail: str, **more: Any) -> JSONResponse:
    """Return a problem document; empty parts of `more` are left out."""
    body = {
        "type": f"{DOCS}/{code}",
        "title": code.replace("-", " "),
        "status": status,
        "detail": detail,
        "instance": request.scope["raw_path"].decode("latin-1"),  # as a URI has it
        "code": code,
        "request_id": getattr(request.state, "request_id", ""),
        **{name: value for name, value in more.items() if value},
    }
    headers = {"Retry-After": "1"} if status == UNAVAILABLE else None
    return JSONResponse(body, status, headers=headers, media_type=MEDIA_TYPE)


def problem_of(request: Request, error: DagflowError) -> JSONResponse:
    """Return the problem document of one of our errors."""
    if isinstance(error, RefusedRequestError):
        status, code = error.status, error.code
    else:
        found = ((status, code) for kind, status, code in STATUS if isinstance(error, kind))
        status, code = next(found, (500, "bug"))
    return problem(
        request,
        status,
        code,
        error.message,
        remedy=error.remedy,
        errors=[{"pointer": at, "detail": why} for at, why in getattr(error, "fields", ())],
        report=getattr(error, "report", None),
    )


def install(app: FastAPI) -> None:
    """Make every expected error of the application a problem document.

    What nobody expected is the guard's to answer.
    """
    app.add_exception_handler(DagflowError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


async def _ours(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, DagflowError)
    return problem_of(request, error)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    fields = ((under("", *it["loc"]), it["msg"].lower()) for it in error.errors())
    return problem_of(request, FieldsError(fields))


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    status = error.status_code
    answer = problem(request, status, _HTTP.get(status, "http-error"), _detail(request, error))
    answer.headers.update(error.headers or {})
    if status == 405:  # noqa: PLR2004  # the router names the methods of one route only
        answer.headers["Allow"] = ", ".join(_methods(request))
    return answer


def _detail(request: Request, error: HTTPException) -> str:
    details = {
        404: f"there is nothing at {request.url.path}",
        405: f"{request.url.path} does not take {request.method}",
    }
    return details.get(error.status_code, str(error.detail))


def _methods(request: Request) -> list[str]:
    """Return the methods of the first path that matches, over all its routes."""
    path = request.url.path
    routes = request.app.state.methods
    first = next((route for route in routes if route.pattern.match(path)), None)
    same = [route for route in routes if first and route.pattern == first.pattern]
    return sorted({method for route in same for method in route.methods})
