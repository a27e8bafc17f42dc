"""What the migrations make is what the tables say, on every database."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, create_engine, inspect, text

from headrace.records.database import Database
from headrace.records.tables import Base


def shape(engine: Engine) -> dict[str, Any]:
    """Return all that the database itself knows of its tables, but for Alembic's own."""
    inspector = inspect(engine)
    tables = [name for name in inspector.get_table_names() if name != "alembic_version"]
    return {
        name: {
            "columns": [{**each, "type": repr(each["type"])} for each in inspector.get_columns(name)],
            "key": inspector.get_pk_constraint(name),
            "foreign keys": sorted(inspector.get_foreign_keys(name), key=repr),
            "indexes": sorted(inspector.get_indexes(name), key=repr),
            "unique": sorted(inspector.get_unique_constraints(name), key=repr),
            "checks": sorted(inspector.get_check_constraints(name), key=repr),
        }
        for name in tables
    }


def everything(engine: Engine) -> list[Any]:
    """Return the schema of a SQLite file as it is written there."""
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2")))


def test_alembic_finds_nothing_to_change(database_url: str) -> None:
    database = Database.open(database_url)
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, Base.metadata) == []
    database.close()


def test_migrated_tables_are_those_that_the_metadata_makes(database_url: str, tmp_path: Any, request: Any) -> None:
    migrated = Database.open(database_url)
    if database_url.startswith("sqlite"):
        made = create_engine(f"sqlite:///{tmp_path / 'made.db'}")
    else:
        made = create_engine(request.getfixturevalue("postgres").new_database().replace("ql://", "ql+psycopg://"))
    Base.metadata.create_all(made)
    assert shape(migrated.engine) == shape(made)
    assert "users" in shape(made)
    migrated.close()
    made.dispose()


def test_migrating_twice_changes_nothing(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'headrace.db'}"
    database = Database.open(url)
    before = everything(database.engine)
    with database.engine.begin() as connection:
        connection.execute(text("INSERT INTO groups (name, created_at) VALUES ('a', '2026-01-01')"))
    database.migrate()
    database.close()
    again = Database.open(url)
    assert everything(again.engine) == before
    with again.reading() as session:
        assert session.execute(text("SELECT name FROM groups")).scalars().all() == ["a"]
    again.close()


def test_servers_that_start_at_once_migrate_one_after_the_other(database_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        for database in pool.map(Database.open, [database_url] * 4):
            with database.reading() as session:
                assert session.execute(text("SELECT count(*) FROM users")).scalar_one() == 0
            database.close()


def test_a_folder_with_a_percent_sign(tmp_path: Any) -> None:
    folder = tmp_path / "100%s"
    folder.mkdir()
    Database.open(f"sqlite:///{folder / 'headrace.db'}").close()
    assert (folder / "headrace.db").stat().st_mode & 0o777 == 0o600
