"""What `python` and `shell` steps give and how they fail, in the sandbox and without one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dagflow.core.clock import Clock, FakeClock
from dagflow.core.errors import StepError
from dagflow.core.plan import Limits, PlanStep
from dagflow.core.values import JsonObject, JsonValue
from dagflow.executor.sandbox.cage import Cage
from dagflow.executor.sandbox.preflight import inspect
from dagflow.executor.sandbox.unsafe import UnsafeCage
from dagflow.executor.steps import WORK
from dagflow.executor.steps.base import Attempt

REFERENCE = "\ue000secret:TOKEN\ue001"
CAGES = ("sandbox", "unsafe")


class Context:
    """A `StepContext` that keeps what was emitted and knows one secret."""

    def __init__(self, cage: Cage, paths: tuple[str, ...] = ()) -> None:
        self.clock: Clock = FakeClock()
        self.services: dict[str, object] = {"cage": cage, "module_paths": paths}
        self.emitted: list[tuple[str, JsonObject]] = []

    def emit(self, kind: str, data: JsonObject) -> None:
        self.emitted.append((kind, data))

    def use(self, **amounts: float) -> None:
        raise AssertionError(f"code counts nothing, and counted {amounts}")

    def secret(self, name: str) -> str:
        return f"value-of-{name}"

    def resolve_secrets(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return value.replace(REFERENCE, "s3cret")
        if isinstance(value, dict):
            return {key: self.resolve_secrets(item) for key, item in value.items()}
        return [self.resolve_secrets(item) for item in value] if isinstance(value, list) else value

    def mask(self, value: JsonValue) -> JsonValue:
        return value

    def mask_cut(self, text: str) -> str:
        return text


Run = Callable[..., Any]


@pytest.fixture(scope="module", params=CAGES)
def cage(request: pytest.FixtureRequest) -> Cage:
    if request.param == "unsafe":
        return UnsafeCage()
    verdict = asyncio.run(inspect())
    if verdict.cage is None:
        message = f"no sandbox on this host: {verdict.reason}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return verdict.cage


@pytest.fixture
def context(cage: Cage, tmp_path: Path) -> Context:
    return Context(cage, (str(tmp_path),))


@pytest.fixture
def python(context: Context) -> Run:
    def run(code: str, limits: Limits = Limits(), **arguments: Any) -> Any:  # noqa: B008
        body: dict[str, JsonValue] = {"code": code}
        return asyncio.run(WORK["python"](attempt("python", body, arguments, limits), context))

    return run


@pytest.fixture
def shell(context: Context) -> Run:
    def run(*argv: JsonValue, stdin: JsonValue = None, parse: str | None = None) -> Any:
        given = attempt("shell", {"parse": parse}, {}, Limits())
        recorded: JsonObject = {"with": None, "body": {"argv": list(argv), "stdin": stdin}}
        return asyncio.run(WORK["shell"](replace(given, input=recorded), context))

    return run


def attempt(
    kind: str, body: dict[str, JsonValue], arguments: JsonObject, limits: Limits
) -> Attempt:
    step = PlanStep(
        path="s", kind=kind, action="act", effects="idempotent", body=body, limits=limits
    )
    return Attempt(
        run_id="r", root="r", path="s", attempt=1, token=1, kind=kind, step=step,
        input={"with": arguments, "body": {}},
    )  # fmt: skip


def failure(run: Run, *arguments: Any, **options: Any) -> StepError:
    with pytest.raises(StepError) as caught:
        run(*arguments, **options)
    return caught.value


def test_a_function_gets_its_arguments_and_its_value_comes_back_exactly(python: Run) -> None:
    big = 7615917337495251231
    code = "def main(n, text, rest): return [n + 0, text, rest, None, 0.1, {'é': True}]"

    assert python(code, n=big, text='"; import os', rest=[]) == [
        big, '"; import os', [], None, 0.1, {"é": True},
    ]  # fmt: skip


def test_a_function_of_a_module_beside_the_workflow_is_called(python: Run, tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text("def total(prices):\n    return sum(prices)\n")
    tmp_path.chmod(0o755)

    assert python("orders:total", prices=[1, 2]) == 3


def test_a_secret_reaches_the_code_as_its_value(python: Run) -> None:
    assert python("def main(token): return len(token)", token=REFERENCE) == len("s3cret")


def test_what_is_printed_is_a_log_and_not_the_value(python: Run, context: Context) -> None:
    assert python("def main():\n    print('hello')\n    return 1") == 1
    assert ("log", {"stream": "stdout", "text": "hello\n"}) in context.emitted


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def main():\n    x = 1\n    raise ValueError('bad')", "ValueError: bad (line 3"),
        ("def main(:", "SyntaxError"),
        ("x = 1", "no function 'main'"),
        ("def main(): return {1, 2}", "not JSON serializable"),
        ("def main(): return float('nan')", "not JSON compliant"),
        ("def main():\n    import os\n    os._exit(0)", "gave no result"),
        ("def main():\n    import sys\n    sys.exit(3)", "SystemExit: 3"),
        ("nothing_here:at_all", "No module named 'nothing_here'"),
    ],
)
def test_code_that_goes_wrong_is_an_error_of_class_user(python: Run, code: str, words: str) -> None:
    error = failure(python, code)

    assert error.error_class == "user"
    assert words in error.message


def test_a_value_that_can_not_be_carried_is_refused(python: Run) -> None:
    error = failure(python, "def main(): return 2**70")

    assert error.error_class == "schema"
    assert "64-bit" in error.message


def test_code_that_writes_too_much_hits_its_output_limit(python: Run) -> None:
    error = failure(
        python, "def main():\n    while True: print('x' * 1000)", limits=Limits(output=10_000)
    )

    assert error.error_class == "output_limit"


def test_a_program_gives_its_exit_code_and_what_it_wrote(shell: Run) -> None:
    script = "echo out; echo err >&2; exit 3"

    assert shell("sh", "-c", script) == {"exit_code": 3, "stdout": "out\n", "stderr": "err\n"}


def test_values_are_whole_arguments_whatever_is_in_them(shell: Run) -> None:
    found = shell("printf", "%s|", "a b", "$(id)", "; rm -rf /", 7, True, 0.5)

    assert found["stdout"] == "a b|$(id)|; rm -rf /|7|true|0.5|"


def test_stdin_is_text_or_json(shell: Run) -> None:
    assert shell("cat", stdin="plain")["stdout"] == "plain"
    assert shell("cat", stdin={"a": [1]}, parse="json") == {"a": [1]}


@pytest.mark.parametrize(
    ("parse", "value"),
    [("text", "1\n2\n"), ("lines", ["1", "2"])],
)
def test_stdout_is_parsed_as_asked(shell: Run, parse: str, value: JsonValue) -> None:
    assert shell("printf", "1\\n2\\n", parse=parse) == value


@pytest.mark.parametrize(
    ("argv", "error_class", "words"),
    [
        (("sh", "-c", "echo no >&2; exit 2"), "user", "exit code 2: no"),
        (("no-such-program",), "user", "no-such-program"),
        (("printf", "{"), "schema", "not the JSON that was asked"),
        (("printf", "\\377"), "schema", "not UTF-8"),
    ],
)
def test_a_parsed_program_that_goes_wrong_says_how(
    shell: Run, argv: tuple[str, ...], error_class: str, words: str
) -> None:
    error = failure(shell, *argv, parse="json")

    assert error.error_class == error_class
    assert words in error.message


@pytest.mark.parametrize("value", [None, [1], {"a": 1}])
def test_a_list_an_object_or_null_is_no_argument(shell: Run, value: JsonValue) -> None:
    error = failure(shell, "echo", value)

    assert error.error_class == "expression"
    assert "json(x)" in error.remedy
