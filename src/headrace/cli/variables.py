"""``--var NAME=VALUE`` and the environment go in, the values of ``${NAME}`` come out."""

import os
import re
from collections import ChainMap
from collections.abc import Mapping, Sequence

import typer

__all__ = ["variables_of"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def variables_of(assignments: Sequence[str] | None, environment: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Return the values of names; what is given by hand goes before the environment.

    >>> variables_of(["HOME=here", "N=1=2"], {"HOME": "there"})["HOME"]
    'here'
    """
    given: dict[str, str] = {}
    for each in assignments or ():
        name, equals, value = each.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise typer.BadParameter(f"{each!r} is not NAME=VALUE", param_hint="--var")
        given[name] = value
    return ChainMap(given, dict(environment))
