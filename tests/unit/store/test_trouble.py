"""What a database that can't be used gives: a clear error, and nothing written."""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from dagflow.core.errors import UnavailableError, UsageError
from dagflow.store.schema import HEAD, check, opened
from dagflow.store.sql import SqlRunStore
from tests.contract.stores import Writer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "dagflow.db"


@pytest.fixture
def store(file: Path) -> Iterator[SqlRunStore]:
    made = opened(f"sqlite:///{file}", busy_timeout=0.05)
    yield made
    made.close()


def test_the_folder_is_made_and_the_file_is_durable_and_in_wal_mode(
    store: SqlRunStore, file: Path
) -> None:
    with store._database.reading() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }

    assert file.exists()
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_a_locked_database_is_unavailable_and_nothing_is_written(
    store: SqlRunStore, file: Path
) -> None:
    writer = Writer(store)
    writer.create()
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(UnavailableError, match=r"dagflow\.db is locked") as caught:
        writer.append(writer.stepped("a", "ready"), expected=1)

    assert "stop it" in caught.value.remedy
    other.execute("ROLLBACK")
    other.close()
    assert store.get_run("r1").version == 1


def test_no_free_connection_is_unavailable_for_readers_and_writers(store: SqlRunStore) -> None:
    writer = Writer(store)
    writer.create()
    pool = store._database._engine.pool
    assert isinstance(pool, sa.QueuePool)
    pool._timeout, pool._max_overflow = 0.01, 0
    taken = [store._database._engine.raw_connection() for _ in range(pool.size())]

    for use in (
        lambda: writer.append(writer.stepped("a", "ready"), expected=1),
        lambda: store.load("r1"),
        lambda: store.get_run("r1"),
    ):
        with pytest.raises(UnavailableError, match=r"connections? to .*dagflow\.db") as caught:
            use()
        assert "try again" in caught.value.remedy

    for connection in taken:
        connection.close()
    assert store.get_run("r1").version == 1


@pytest.mark.parametrize("kind", [sa.exc.InterfaceError, sqlite3.InterfaceError])
def test_every_error_of_a_driver_is_explained(store: SqlRunStore, kind: type[Exception]) -> None:
    error = sqlite3.InterfaceError("the connection is closed")

    with (
        pytest.raises(UnavailableError, match=r"dagflow\.db failed: the connection is closed"),
        store._database.writing(),
    ):
        raise error if kind is sqlite3.InterfaceError else sa.exc.InterfaceError("", (), error)


def test_readers_go_on_while_another_writes(store: SqlRunStore, file: Path) -> None:
    Writer(store).create()
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("UPDATE run SET version = 9")

    assert store.get_run("r1").version == 1

    other.execute("ROLLBACK")
    other.close()


def test_a_full_disk_is_unavailable_and_nothing_is_written(store: SqlRunStore) -> None:
    writer = Writer(store)
    writer.create()
    with store._database.reading() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    with store._database.writing() as cursor:
        cursor.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(UnavailableError, match=r"disk that holds .*dagflow\.db is full") as caught:
        writer.append(writer.stepped("a", "succeeded", output="x" * 100_000), expected=1)

    assert "free some space" in caught.value.remedy
    assert store.get_run("r1").version == 1
    assert store.steps("r1") == ()


def test_a_file_that_can_not_be_written_is_unavailable(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(f"sqlite:///{file}").close()
    read_only = f"sqlite:///file:{file}?mode=ro&uri=true"
    store = opened(read_only)

    with pytest.raises(UnavailableError, match="can't be written") as caught:
        Writer(store).create()

    assert "DAGFLOW_DATABASE" in caught.value.remedy
    store.close()


def test_a_folder_that_can_not_be_written_is_unavailable(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        folder = Path("/proc/dagflow")  # root may write to every ordinary folder
    else:
        folder = tmp_path / "closed"
        folder.mkdir()
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)

    with pytest.raises(UnavailableError, match=r"can't be (made|opened)") as caught:
        opened(f"sqlite:///{folder}/dagflow.db")

    assert "DAGFLOW_DATABASE" in caught.value.remedy


def test_a_folder_in_place_of_the_file_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="can't be opened"):
        opened(f"sqlite:///{tmp_path}")


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("these are my notes, and not a database at all\n" * 50)

    with pytest.raises(UsageError, match="is not a dagflow database"):
        opened(f"sqlite:///{file}")

    assert file.read_text().startswith("these are my notes")


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "music.db"
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE album (name TEXT)")
    other.close()
    before = file.read_bytes()

    with pytest.raises(UsageError, match="is a database of another program"):
        opened(f"sqlite:///{file}")

    assert file.read_bytes() == before


def test_a_schema_newer_than_this_code_is_refused(store: SqlRunStore, file: Path) -> None:
    with store._database.writing() as cursor:
        cursor.execute("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(UsageError, match=f"newer dagflow .*schema 9999, .*knows {HEAD}") as caught:
        opened(f"sqlite:///{file}")

    assert "upgrade dagflow" in caught.value.remedy
    assert check(f"sqlite:///{file}").state == "newer"


@pytest.mark.parametrize("url", ["nonsense", "mysql://host/db", "sqlite:/x", ""])
def test_a_url_that_dagflow_can_not_use_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is not the URL of a database"):
        opened(url)


@pytest.mark.parametrize("url", ["postgresql+nosuch://me:secret@h/d", "sqlite+nosuch:///a.db"])
def test_a_driver_that_is_not_there_is_named_and_no_password(url: str) -> None:
    with pytest.raises(UsageError, match=r"nosuch://.* needs a driver that is not there") as caught:
        opened(url)

    assert "secret" not in caught.value.message


def test_a_driver_that_is_not_installed_is_named() -> None:
    if importlib.util.find_spec("psycopg"):
        pytest.skip("psycopg is installed")

    with pytest.raises(UsageError, match="No module named 'psycopg'") as caught:
        opened("postgresql+psycopg://h/d")

    assert "install" in caught.value.remedy
