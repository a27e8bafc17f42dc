"""Run by Alembic: brings the tables of a connection to a version."""

from alembic import context

from headrace.records import tables
from headrace.records.base import Base

assert tables.__name__, "every table is known before they are compared"

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
