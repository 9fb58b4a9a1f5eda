"""Every parameter style, read back by a parser of its own on the server's side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, unquote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagflow.core.errors import StepError
from dagflow.core.tool import Operation
from dagflow.tools.request import draft
from tests.contract.tool_calls import called, compiled, parameter, query_operation
from tests.contract.tool_server import Server, serving

ARRAY = {"type": "array", "items": {"type": ["string", "integer", "boolean"]}}
OBJECT = {"type": "object", "additionalProperties": {"type": ["string", "integer"]}}
ANY: dict[str, Any] = {}

RGB = {"R": 100, "G": 200}
COLORS = ["blue", "black"]


def path_of(style: str, explode: bool, value: Any) -> str:
    declared = parameter("color", ANY, "path", style=style, explode=explode, required=True)
    made = compiled({"parameters": [declared]}, "http://h", path="/x/{color}")
    return draft(made.wire, {"path": {"color": value}}, idempotency_key="k").path


def query_of(style: str, explode: bool, value: Any, **more: Any) -> str:
    made = query_operation(
        "http://h", parameter("color", ANY, style=style, explode=explode, **more)
    )
    url = draft(made.wire, {"query": {"color": value}}, idempotency_key="k").request().url
    return url.partition("?")[2]


@pytest.mark.parametrize(
    ("style", "explode", "value", "expected"),
    [
        ("simple", False, "blue", "blue"),
        ("simple", True, 5, "5"),
        ("simple", False, True, "true"),
        ("simple", False, 1.5, "1.5"),
        ("simple", False, COLORS, "blue,black"),
        ("simple", True, COLORS, "blue,black"),
        ("simple", False, RGB, "R,100,G,200"),
        ("simple", True, RGB, "R=100,G=200"),
        ("label", False, "", None),
        ("label", False, "blue", ".blue"),
        ("label", False, COLORS, ".blue,black"),
        ("label", True, COLORS, ".blue.black"),
        ("label", False, RGB, ".R,100,G,200"),
        ("label", True, RGB, ".R=100.G=200"),
        ("matrix", False, "", ";color"),
        ("matrix", False, "blue", ";color=blue"),
        ("matrix", False, COLORS, ";color=blue,black"),
        ("matrix", True, COLORS, ";color=blue;color=black"),
        ("matrix", False, RGB, ";color=R,100,G,200"),
        ("matrix", True, RGB, ";R=100;G=200"),
        ("simple", False, "", None),
        ("simple", False, [], None),
        ("label", True, [], None),
        ("matrix", True, {}, None),
    ],
)
def test_path_styles_are_those_of_the_specification(
    style: str, explode: bool, value: Any, expected: str | None
) -> None:
    if expected is None:
        with pytest.raises(StepError, match="empty or dotted segment"):
            path_of(style, explode, value)
        return
    assert path_of(style, explode, value) == f"/x/{expected}"


@pytest.mark.parametrize(
    ("style", "explode", "value", "expected"),
    [
        ("form", True, "", "color="),
        ("form", True, "blue", "color=blue"),
        ("form", True, COLORS, "color=blue&color=black"),
        ("form", False, COLORS, "color=blue,black"),
        ("form", False, ["a,b", "c"], "color=a%2Cb,c"),
        ("form", True, RGB, "R=100&G=200"),
        ("form", False, RGB, "color=R,100,G,200"),
        ("form", True, [], ""),
        ("form", False, {}, ""),
        ("spaceDelimited", False, COLORS, "color=blue%20black"),
        ("spaceDelimited", False, RGB, "color=R%20100%20G%20200"),
        ("spaceDelimited", True, COLORS, "color=blue&color=black"),
        ("pipeDelimited", False, COLORS, "color=blue%7Cblack"),
        ("pipeDelimited", False, RGB, "color=R%7C100%7CG%7C200"),
        ("pipeDelimited", True, COLORS, "color=blue&color=black"),
        ("deepObject", True, RGB, "color%5BR%5D=100&color%5BG%5D=200"),
        ("deepObject", True, 7, "color=7"),
        ("form", True, "a&b=c#d/e?f g+h%", "color=a%26b%3Dc%23d%2Fe%3Ff%20g%2Bh%25"),
        ("form", True, "\u00e4\U0001f600", "color=%C3%A4%F0%9F%98%80"),
    ],
)
def test_query_styles_are_those_of_the_specification(
    style: str, explode: bool, value: Any, expected: str
) -> None:
    assert query_of(style, explode, value) == expected


def test_reserved_characters_stay_only_where_they_change_nothing() -> None:
    text = "/a:b?c@d,e;f%41[x]#&=+"

    assert query_of("form", True, text, allowReserved=True) == (
        "color=/a:b?c@d,e;f%41%5Bx%5D%23%26%3D%2B"
    )


@pytest.mark.parametrize(
    ("style", "explode", "value"),
    [
        ("spaceDelimited", False, ["a b", "c"]),
        ("pipeDelimited", False, ["a|b", "c"]),
        ("spaceDelimited", True, RGB),
        ("deepObject", True, COLORS),
        ("form", True, [["a"]]),
        ("form", True, {"a": {"b": 1}}),
        ("form", True, [None]),
        ("deepObject", True, {"a": ["b"]}),
    ],
)
def test_values_without_a_form_are_refused_rather_than_guessed(
    style: str, explode: bool, value: Any
) -> None:
    with pytest.raises(StepError) as caught:
        query_of(style, explode, value)

    assert caught.value.error_class == "schema"
    assert "'color'" in caught.value.message


@pytest.mark.parametrize(
    "value", ["..", ".", "", "a/../b", "../../admin", "a?x=1", "a#b", "%2e%2e"]
)
def test_no_value_leads_to_another_path(value: str) -> None:
    try:
        path = path_of("simple", False, value)
    except StepError as error:
        refused = error.error_class
        path = None
    if path is None:
        assert refused == "schema"
        return

    assert path.count("/") == 2
    assert "?" not in path
    assert unquote(path) == f"/x/{value}"


def test_dots_that_two_values_make_together_are_refused() -> None:
    declared = [parameter(n, ANY, "path", required=True) for n in ("a", "b")]
    made = compiled({"parameters": declared}, "http://h", path="/x/{a}{b}/y")

    with pytest.raises(StepError, match=r"empty or dotted|lead away"):
        draft(made.wire, {"path": {"a": ".", "b": "."}}, idempotency_key="k")


def test_a_way_up_in_the_wire_itself_is_refused() -> None:
    wire = {**compiled({}, "http://h").wire, "path": "/x/../admin"}

    with pytest.raises(StepError, match="lead away from the path"):
        draft(wire, {}, idempotency_key="k")


def test_a_comma_of_a_value_is_told_from_one_between_values_also_unencoded() -> None:
    assert query_of("form", False, ["a,b", "c/d"], allowReserved=True) == "color=a%2Cb,c/d"


# --- reference parsers: from the raw request back to the values -------------------------------


def _split(text: str, by: str) -> list[str]:
    return [unquote(part) for part in text.split(by)]


def _pairs(parts: list[str]) -> dict[str, str]:
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _query(query: str) -> list[tuple[str, str]]:
    return [(k, v) for k, _, v in (part.partition("=") for part in query.split("&") if part)]


def _form_list(query: str) -> Any:
    return [unquote_plus(v) for k, v in _query(query) if k == "color"]


PARSERS: dict[tuple[str, str, bool, str], Callable[[str], Any]] = {
    ("query", "form", True, "array"): _form_list,
    ("query", "form", False, "array"): lambda q: _split(dict(_query(q)).get("color", ""), ","),
    ("query", "form", True, "object"): lambda q: {unquote(k): unquote(v) for k, v in _query(q)},
    ("query", "form", False, "object"): lambda q: _pairs(_split(dict(_query(q))["color"], ",")),
    ("query", "spaceDelimited", False, "array"): lambda q: unquote(dict(_query(q))["color"]).split(
        " "
    ),
    ("query", "pipeDelimited", False, "array"): lambda q: unquote(dict(_query(q))["color"]).split(
        "|"
    ),
    ("query", "deepObject", True, "object"): lambda q: {
        unquote(k).removeprefix("color[").removesuffix("]"): unquote(v) for k, v in _query(q)
    },
    ("path", "simple", False, "array"): lambda p: _split(p, ","),
    ("path", "simple", False, "object"): lambda p: _pairs(_split(p, ",")),
    ("path", "simple", True, "object"): lambda p: {
        unquote(k): unquote(v) for k, _, v in (part.partition("=") for part in p.split(","))
    },
    ("path", "label", False, "array"): lambda p: _split(p.removeprefix("."), ","),
    ("path", "matrix", True, "array"): lambda p: [
        unquote(part.partition("=")[2]) for part in p.split(";")[1:]
    ],
    ("path", "matrix", False, "array"): lambda p: _split(p.partition("=")[2], ","),
}

TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
NAMES = TEXT.filter(bool)


@pytest.fixture(scope="module")
def server() -> Any:
    with serving() as running:
        yield running


def outcome(operation: Operation, arguments: Any) -> str | None:
    """Call, and return the class of the error, if there was one."""
    try:
        called(operation, arguments)
    except StepError as error:
        return error.error_class
    return None


@pytest.mark.parametrize("key", PARSERS, ids=lambda key: "-".join(map(str, key)))
def test_what_the_server_reads_is_what_was_given(
    server: Server, key: tuple[str, str, bool, str]
) -> None:
    place, style, explode, shape = key
    delimiter = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(style, "")
    text = TEXT.filter(lambda value: not delimiter or delimiter not in value)
    values = (
        st.lists(text, min_size=1, max_size=4)
        if shape == "array"
        else st.dictionaries(NAMES, text, min_size=1, max_size=4)
    )
    declared = parameter("color", ANY, place, style=style, explode=explode, required=True)
    path = "/x/{color}" if place == "path" else "/x"
    operation = compiled({"parameters": [declared]}, f"{server.url}/v2", path=path)

    @settings(max_examples=25, deadline=None)
    @given(values)
    def holds(value: Any) -> None:
        error_class = outcome(operation, {place: {"color": value}})
        if place == "path" and error_class is not None:  # a path has values that it can't hold
            assert error_class == "schema"
            return
        assert error_class is None
        got = server.received[-1]
        raw = got.path.removeprefix("/v2/x/") if place == "path" else got.query
        assert got.path.startswith("/v2/x")
        assert PARSERS[key](raw) == value

    holds()


def test_headers_and_cookies_are_written_in_their_styles(server: Server) -> None:
    operation = query_operation(
        server.url,
        parameter("X-Int", {"type": "integer"}, "header"),
        parameter("X-List", ARRAY, "header"),
        parameter("X-Flat", OBJECT, "header"),
        parameter("X-Pairs", OBJECT, "header", explode=True),
        parameter("sid", {"type": "string"}, "cookie"),
        parameter("many", ARRAY, "cookie", explode=False),
        {"name": "filter", "in": "query", "content": {"application/json": {"schema": ANY}}},
    )

    called(
        operation,
        {
            "header": {"X-Int": 5, "X-List": ["a", True, 2], "X-Flat": RGB, "X-Pairs": RGB},
            "cookie": {"sid": "a;b=c", "many": ["x", "y"]},
            "query": {"filter": {"a": [1, {"b": "ä"}]}},
        },
    )

    got = server.received[-1]
    assert got.headers["x-int"] == "5"
    assert got.headers["x-list"] == "a,true,2"
    assert got.headers["x-flat"] == "R,100,G,200"
    assert got.headers["x-pairs"] == "R=100,G=200"
    assert got.headers["cookie"] == "sid=a%3Bb%3Dc; many=x,y"
    assert unquote(got.query) == 'filter={"a":[1,{"b":"ä"}]}'


def test_a_header_can_not_be_split() -> None:
    operation = query_operation("http://h", parameter("X-A", {"type": "string"}, "header"))

    with pytest.raises(StepError, match="control character"):
        draft(operation.wire, {"header": {"X-A": "a\r\nHost: evil"}}, idempotency_key="k")


def test_absent_null_and_empty_are_three_things(server: Server) -> None:
    operation = query_operation(
        server.url,
        parameter("a", {"type": ["string", "null"]}),
        parameter("b", {"type": "string"}),
    )

    called(operation, {"query": {"a": None, "b": ""}})
    assert server.received[-1].query == "b="
    called(operation, {"query": {}})
    assert server.received[-1].query == ""
    with pytest.raises(StepError, match="/query/b is not of type string"):
        called(operation, {"query": {"b": None}})
