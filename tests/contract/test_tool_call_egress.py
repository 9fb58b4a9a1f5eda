"""The guard on a real connection: what is dialled is what was checked."""

from __future__ import annotations

from typing import Any

import pytest

from dagflow.core.errors import StepError
from dagflow.tools.egress import Allowed, Egress
from tests.contract.tool_calls import called, compiled, query_operation
from tests.contract.tool_server import Answer, serving


class Names:
    """A resolver whose answers change with every question, as a rebinding one's do."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> tuple[str, ...]:
        self.asked.append(host)
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


def test_the_checked_address_is_dialled_and_the_name_stays_in_host() -> None:
    names = Names(("127.0.0.1",), ("169.254.169.254",))
    with serving() as server:
        operation = compiled({}, f"http://desk.internal:{server.port}")
        egress = Egress(allowed=(Allowed("desk.internal", server.port),))

        called(operation, egress=egress, client={"resolve": names})

    assert names.asked == ["desk.internal"]
    assert server.received[0].headers["host"] == f"desk.internal:{server.port}"


def test_a_name_that_turns_private_is_refused_when_it_is_dialled_again() -> None:
    names = Names(("127.0.0.1",))
    with serving() as server, pytest.raises(StepError, match="loopback"):
        called(
            compiled({}, f"http://desk.example:{server.port}"),
            egress=Egress(ports=frozenset({server.port})),
            client={"resolve": names},
        )

    assert server.received == []


@pytest.mark.parametrize(
    "server", ["http://10.0.0.1", "http://2130706433", "http://nowhere.example"]
)
def test_a_call_that_is_refused_or_has_no_address_is_told_as_never_sent(server: str) -> None:
    with pytest.raises(StepError) as refused:
        called(compiled({}, server), client={"resolve": Names(())})

    assert (refused.value.error_class, refused.value.unsent) == ("network", True)


def test_a_connection_that_is_refused_is_told_as_never_sent() -> None:
    with serving() as server:
        port = server.port
    with pytest.raises(StepError, match="can't be reached") as refused:
        called(compiled({}, f"http://127.0.0.1:{port}"), egress=Egress(loopback=True))

    assert refused.value.unsent


def test_every_checked_address_is_tried() -> None:
    names = Names(("127.0.0.2", "127.0.0.1"))  # nothing listens on the first
    with serving() as server:
        egress = Egress(allowed=(Allowed("desk.internal", server.port),))
        operation = compiled({}, f"http://desk.internal:{server.port}")

        assert called(operation, egress=egress, client={"resolve": names})["status"] == 204


def test_a_redirect_to_a_private_place_is_not_followed() -> None:
    with serving() as inner:
        reply = Answer(307, headers={"location": inner.url})
        with serving(lambda _: reply) as outer, pytest.raises(StepError, match="not followed"):
            called(query_operation(outer.url))

    assert inner.received == []


def test_a_token_url_goes_through_the_same_guard() -> None:
    flow = {"tokenUrl": "http://169.254.169.254/token", "scopes": {}}
    schemes: dict[str, Any] = {"own": {"type": "oauth2", "flows": {"clientCredentials": flow}}}
    with serving() as server:
        operation = compiled(
            {"security": [{"own": []}]}, server.url, components={"securitySchemes": schemes}
        )
        with pytest.raises(StepError, match="link-local"):
            called(operation, auth={"own": "PAIR"})

    assert server.received == []


def test_an_unknown_name_is_a_network_error_with_a_remedy() -> None:
    with pytest.raises(StepError) as caught:
        called(compiled({}, "http://no-such-host.invalid"))

    assert caught.value.error_class == "network"
    assert caught.value.remedy
