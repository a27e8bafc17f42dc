"""A file goes in; its text, or an error for the user, comes out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from headrace.cli.client import Client

__all__ = ["application_of", "read_text"]


def read_text(file: Path) -> str:
    """Return the text of a file."""
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise HeadraceError(f'file "{file}" cannot be read', detail=f"{error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise HeadraceError(f'file "{file}" is not UTF-8 text', detail=f"{error}.") from error


def application_of(client: "Client", file: Path) -> dict[str, Any]:
    """Return the text of a file, and where its paths are relative to if the server sees the same files."""
    return {"text": read_text(file), "directory": str(file.resolve().parent) if client.is_here else None}
