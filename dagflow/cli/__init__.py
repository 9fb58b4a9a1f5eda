"""The command line. Each command is a module of its own, imported when it is called."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from typing import Any, Final

import click

from dagflow.cli.exits import BUG, UNAVAILABLE, USAGE, code_of
from dagflow.cli.output import color_asked
from dagflow.cli.streams import settle
from dagflow.core.errors import DagflowError
from dagflow.core.text import clean
from dagflow.core.words import nearest

COMMANDS: Final = {
    "init": "Write a commented starter workflow, its tests and its tool document.",
    "check": "Check workflow files and print the report.",
    "explain": "Say what a finding means, with a bad and a good example.",
    "test": "Run workflows with scripted tools, models, people and time.",
    "plan": "Write the compiled plan.",
    "diff": "Say what a new version of a workflow changes, and its risk.",
    "graph": "Draw a workflow's graph, or the states of one step.",
    "run": "Run a workflow here, and wait for its end.",
    "runs": "List, show, watch, cancel and recover runs.",
    "history": "Write how long steps took in recorded runs, for `check --site`.",
    "approve": "Decide an approval that a run waits for.",
    "dev": "Serve the API, with engine and worker in one process.",
    "llm": "Serve a local model over the OpenAI protocol.",
    "doctor": "Say what this machine can do, and how to mend what it can't.",
    "lsp": "Serve editors: diagnostics, types, completion, definitions, renaming.",
    "schema": "Print the JSON Schema of workflow or test files, for editors.",
}


ONE_PASS: Final = frozenset({"init", "check", "explain", "plan", "diff", "graph", "schema"})
"""Commands that are over before collecting garbage pays: nearly all they make, they keep."""


class LazyGroup(click.Group):
    """Commands by name; a module is imported only when its command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = import_module(f"dagflow.cli.{cmd_name}").command
        if cmd_name not in ONE_PASS:
            gc.enable()
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest name for one that does not exist."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            hint = nearest(name, COMMANDS) or "; `dagflow --help` lists them"
            raise click.UsageError(f"no command is named {name!r}{hint}", ctx)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from dagflow.version import VERSION

        click.echo(f"dagflow {VERSION}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Print the version.",
)  # fmt: skip
@click.pass_context
def root(ctx: click.Context) -> None:
    """Compile and run agent workflows.

    stdout is data only; everything else goes to stderr. Exit codes: 0 fine; 1 findings, or the
    run failed; 2 usage or configuration; 3 the run was cancelled or timed out; 4 not allowed;
    5 not found or conflict; 6 server or database unreachable, locked or full; 70 a bug of ours.
    """
    ctx.color = color_asked()


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its code; no error of ours ends in a traceback.

    The collector is off until it is known that the command runs for long (`get_command`): what
    modules make at import stays, and looking it over is a tenth of the time of a check.
    """
    gc.disable()
    settle()
    code = run(arguments)
    gc.freeze()  # the end of the process needn't look at what is left, either
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        return _invoke(arguments)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort:
        complain("stopped")
        return 130
    except click.ClickException as error:
        error.show()
        return USAGE
    except DagflowError as error:
        complain(error.message, error.remedy)
        return code_of(error)
    except KeyboardInterrupt:
        complain("stopped")
        return 130
    except OSError as error:
        complain(*_system(error))
        return UNAVAILABLE if error.errno == 28 else USAGE  # noqa: PLR2004  # ENOSPC
    except Exception as error:  # noqa: BLE001  # the edge of the process
        return _bug(error)


def _invoke(arguments: list[str] | None) -> int:
    result: Any = root.main(args=arguments, prog_name="dagflow", standalone_mode=False)
    return result if isinstance(result, int) else 0


def complain(message: str, remedy: str = "") -> None:
    """Print an error, and what to do, on stderr."""
    error, remedied = click.style("error", fg="red", bold=True), click.style("help", bold=True)
    click.echo(f"{error}: {clean(message)}", err=True, color=color_asked())
    if remedy:
        click.echo(f"  {remedied}: {clean(remedy)}", err=True, color=color_asked())


def _system(error: OSError) -> tuple[str, str]:
    where = f"{error.filename}: " if error.filename else ""
    remedy = "free some space and try again" if error.errno == 28 else ""  # noqa: PLR2004
    return f"{where}{error.strerror or error}", remedy


def _bug(error: Exception) -> int:
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    with tempfile.NamedTemporaryFile(
        "w", prefix="dagflow-bug-", suffix=".txt", delete=False
    ) as file:
        file.write(text)
    complain(
        f"a bug in dagflow: {type(error).__name__}: {error}",
        f"please report it with the file {file.name}",
    )
    return BUG
