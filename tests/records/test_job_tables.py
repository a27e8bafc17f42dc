"""The tables of jobs as the migrations make them, and as the code has them."""

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from headrace.records.database import Database
from headrace.records.tables import Base


def test_migrations_make_the_tables_that_the_code_has(tmp_path):
    database = Database.open(f"sqlite:///{tmp_path / 'server.sqlite'}")
    with database.engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    database.close()
    assert [each for each in differences if "job" in str(each)] == []
