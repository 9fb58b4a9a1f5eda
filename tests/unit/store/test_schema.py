"""The schema: made at once or by migrations, and the same either way."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from dagflow.store import migrations, tables
from dagflow.store.schema import HEAD, REVISIONS, SchemaState, check, opened, upgrade


def _definitions(file: Path) -> list[tuple[str, str]]:
    engine = sa.create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
        ).all()
    engine.dispose()
    return [(name, " ".join(sql.split())) for name, sql in rows]


def test_a_new_file_is_what_the_migrations_make(tmp_path: Path) -> None:
    opened(f"sqlite:///{tmp_path}/new.db").close()
    found = upgrade(f"sqlite:///{tmp_path}/migrated.db")

    assert found == SchemaState("current", HEAD)
    assert _definitions(tmp_path / "new.db") == _definitions(tmp_path / "migrated.db")


def test_the_migrations_leave_nothing_to_migrate(tmp_path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    upgrade(f"sqlite:///{tmp_path}/x.db")
    engine = sa.create_engine(f"sqlite:///{tmp_path}/x.db")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, tables.metadata) == []
    engine.dispose()


def test_every_migration_is_listed_in_order() -> None:
    folder = Path(migrations.__file__).parent / "versions"
    found = sorted(file.name[:4] for file in folder.glob("[0-9]*.py"))

    assert found == list(REVISIONS)


def test_migrations_can_be_undone(tmp_path: Path) -> None:
    from alembic import command
    from alembic.config import Config

    upgrade(f"sqlite:///{tmp_path}/x.db")
    config = Config()
    config.set_main_option("script_location", "dagflow.store:migrations")
    engine = sa.create_engine(f"sqlite:///{tmp_path}/x.db")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    engine.dispose()

    assert [name for name, _ in _definitions(tmp_path / "x.db")] == ["alembic_version"]


def test_check_says_how_a_database_stands_and_makes_none(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    assert check(f"sqlite:///{file}") == SchemaState("empty", "")
    assert not file.exists()

    opened(f"sqlite:///{file}").close()
    assert check(f"sqlite:///{file}") == SchemaState("current", HEAD)
    assert upgrade(f"sqlite:///{file}") == SchemaState("current", HEAD)


def test_opening_a_database_does_not_load_alembic(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from dagflow.store.schema import opened\n"
        f"opened('sqlite:///{tmp_path}/x.db').close()\n"
        f"opened('sqlite:///{tmp_path}/x.db').close()\n"
        "assert 'sqlalchemy' in sys.modules\n"
        "assert 'alembic' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("table", tables.metadata.sorted_tables, ids=lambda table: table.name)
def test_every_table_can_be_made_on_postgresql(table: sa.Table) -> None:
    text = str(sa.schema.CreateTable(table).compile(dialect=postgresql.dialect()))

    assert f"CREATE TABLE {table.name}" in text or f'CREATE TABLE "{table.name}"' in text


def _open(
    url: str, start: multiprocessing.synchronize.Event, done: multiprocessing.Queue[str]
) -> None:
    start.wait(10)
    try:
        opened(url).close()
        done.put("")
    except Exception as error:  # noqa: BLE001  # whatever it is, the test shows it
        done.put(repr(error))


def test_processes_that_open_a_new_file_at_once_all_succeed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    start, done = context.Event(), context.Queue()
    url = f"sqlite:///{tmp_path}/x.db"
    workers = [context.Process(target=_open, args=(url, start, done)) for _ in range(4)]
    for worker in workers:
        worker.start()
    start.set()

    answers = [done.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(30)

    assert answers == [""] * 4
    assert check(url) == SchemaState("current", HEAD)
