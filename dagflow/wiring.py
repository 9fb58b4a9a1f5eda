"""Builds the running system from settings; the only module that sees every package."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path

from dagflow.core.errors import UsageError
from dagflow.core.plan import Plan, PlanStep, steps_of
from dagflow.core.steps import KINDS
from dagflow.executor import faults
from dagflow.executor.dispatch.base import SilentDispatcher
from dagflow.executor.dispatch.inline import InlineDispatcher
from dagflow.executor.engine import Engine
from dagflow.executor.sandbox.cage import Action, Cage, Outcome
from dagflow.executor.worker import Worker
from dagflow.llm.http import PooledStream
from dagflow.llm.local import LocalModel
from dagflow.llm.router import LOCAL, Router
from dagflow.service.runs import Runs
from dagflow.settings import Settings
from dagflow.store.base import RunStore
from dagflow.store.schema import opened
from dagflow.tools.egress import Egress
from dagflow.tools.http import PooledClient


@dataclass(frozen=True, slots=True)
class Runtime:
    """An engine with a worker at work in this event loop."""

    engine: Engine
    worker: Worker
    runs: Runs


def open_store(settings: Settings, *, reach: faults.Reach = faults.nothing) -> RunStore:
    """Open the database, making or upgrading an SQLite file that needs it."""
    return opened(settings.database, reach=reach)


def runs_of(store: RunStore) -> Runs:
    """Return the use cases of runs for a process that works on no steps itself."""
    return Runs(Engine(store, SilentDispatcher()))


@asynccontextmanager
async def runtime(
    settings: Settings, *, module_paths: tuple[str, ...] = (), everything: bool = False
) -> AsyncIterator[Runtime]:
    """Give an engine and its worker; at the end everything they started is stopped.

    `module_paths` are folders from which `python: module:function` steps may import. With
    `everything` the worker also takes up runs that other processes left.
    """
    async with AsyncExitStack() as stack:
        reach = faults.from_environment()
        store = open_store(settings, reach=reach)
        stack.callback(_log_to(settings.state / "dagflow.log"))
        stack.callback(store.close)
        doorbell = InlineDispatcher()
        engine = Engine(store, doorbell, reach=reach)
        services = await _services(settings, stack, module_paths)
        worker = Worker(
            engine,
            doorbell,
            concurrency=settings.concurrency,
            services=services,
            secrets=settings.secrets.get,
            everything=everything,
        )
        await stack.enter_async_context(worker)
        yield Runtime(engine, worker, Runs(engine))


def _log_to(file: Path) -> Callable[[], None]:
    """Send what dagflow logs to a file beside the database; return what ends that.

    The terminal belongs to the run: what a user must know is said there, not logged.
    """
    log = logging.getLogger("dagflow")
    handler = RotatingFileHandler(file, maxBytes=10_000_000, backupCount=2, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    log.addHandler(handler)
    log.propagate = False

    def stop() -> None:
        log.removeHandler(handler)
        handler.close()
        log.propagate = True

    return stop


async def _services(
    settings: Settings, stack: AsyncExitStack, module_paths: tuple[str, ...]
) -> Mapping[str, object]:
    http = PooledClient()
    stack.push_async_callback(http.close)
    stream = PooledStream()
    stack.push_async_callback(stream.close)
    local = LocalModel()
    stack.push_async_callback(local.stop)
    return {
        "http": http,
        "egress": Egress(loopback=settings.allow_loopback),
        "chat": Router(stream, local),
        "cage": LazyCage(unsafe=settings.unsafe_no_sandbox),
        "module_paths": module_paths,
    }


class LazyCage:
    """A cage that is made and proved when the first action needs it."""

    def __init__(self, *, unsafe: bool) -> None:
        self._unsafe = unsafe
        self._cage: Cage | None = None
        self._opening = asyncio.Lock()

    async def run(self, action: Action) -> Outcome:
        """Run an action; a host without a sandbox is the outcome "sandbox", with its reason."""
        try:
            cage = await self._opened()
        except UsageError as error:
            return Outcome(kind="sandbox", exit_code=-1, message=error.message)
        return await cage.run(action)

    async def _opened(self) -> Cage:
        from dagflow.executor.sandbox.preflight import open_cage

        async with self._opening:  # the first actions may come together
            if self._cage is None:
                self._cage = await open_cage(unsafe=self._unsafe)
            return self._cage


async def require(plan: Plan, settings: Settings) -> None:
    """Raise `UsageError` when this machine lacks what the plan's steps need.

    Checked before a run starts, so that a missing sandbox, model or secret is told at once.
    """
    kinds = {step.kind for step in all_steps(plan)}
    if any(KINDS[kind].sandboxed for kind in kinds):
        from dagflow.executor.sandbox.preflight import open_cage

        await open_cage(unsafe=settings.unsafe_no_sandbox)
    if "llm" in kinds and any(_is_local(route) for route in plan.models.values()):
        from dagflow.llm.installed import DEFAULT_MODEL, check_libraries, model_file

        check_libraries()
        model_file(DEFAULT_MODEL)
    missing = [name for name in plan.secrets if name not in settings.secrets]
    if missing:
        raise UsageError(
            f"secrets that are not set: {', '.join(missing)}",
            remedy=f"export DAGFLOW_SECRET_{missing[0]}=…",
        )


def _is_local(route: Mapping[str, object]) -> bool:
    return not route.get("url") and route.get("route", LOCAL) == LOCAL


def all_steps(plan: Plan) -> tuple[PlanStep, ...]:
    """Return every step of a plan and of the workflows that it calls."""
    found = tuple(steps_of(plan))
    called = (step.child for step in found if step.child is not None)
    return (*found, *(step for child in called for step in all_steps(child)))


def module_folders(plans: Iterable[Plan]) -> tuple[str, ...]:
    """Return the folders of the files that plans and their called workflows were made from.

    `python: module:function` steps import from there, each workflow from beside its own file.
    """
    waiting, folders = list(plans), dict[str, None]()
    while waiting:
        plan = waiting.pop()
        folders[str(Path(plan.source_name).resolve().parent)] = None
        waiting += [step.child for step in steps_of(plan) if step.child is not None]
    return tuple(folders)
