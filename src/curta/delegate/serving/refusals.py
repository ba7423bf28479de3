"""Why a request gets no answer, as a client is told."""

from __future__ import annotations

from typing import Any

from curta.errors import UserError


class RefusedError(UserError):
    """A request that is not answered.

    status:    of HTTP
    code:      a word for programs
    parameter: the one to change, if it is one
    wait:      seconds after which it is worth another try
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        code: str | None = None,
        parameter: str | None = None,
        wait: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.parameter = parameter
        self.wait = wait

    def body(self) -> dict[str, Any]:
        """In the shape of OpenAI's errors."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        if self.status == 429:
            kind = "rate_limit_error"
        return {
            "error": {
                "message": str(self),
                "type": kind,
                "param": self.parameter,
                "code": self.code,
            }
        }

    def headers(self) -> dict[str, str]:
        """When to try again."""
        return {} if self.wait is None else {"Retry-After": str(self.wait)}


def wrong(parameter: str, why: str, code: str | None = None) -> RefusedError:
    """What a parameter has to be."""
    return RefusedError(f"{parameter}: {why}", parameter=parameter, code=code)


def shutting_down() -> RefusedError:
    return RefusedError("the server is shutting down", status=503, code="shutting_down", wait=5)
