"""Names of columns go in, names that can stand side by side come out."""

from collections.abc import Sequence

__all__ = ["told_apart"]


def told_apart(columns: Sequence[str]) -> tuple[str, ...]:
    """Return names that are all different.

    >>> told_apart(("n", "n"))
    ('n', 'n_2')
    """
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return tuple(names)
