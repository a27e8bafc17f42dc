"""What versions of jobs read of other jobs by name."""

import sqlalchemy as sa
from alembic import op

revision = "0004_imports"
down_revision = "0003_server"


def upgrade() -> None:
    """Bring the tables to this version."""
    op.add_column("job_versions", sa.Column("imports", sa.JSON(), nullable=True))
