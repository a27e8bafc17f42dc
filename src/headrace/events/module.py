"""The name of a module beside an application goes in; its functions decide and evolve come out."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from headrace.errors import HeadraceError
from headrace.events.decisions import check_functions

__all__ = ["load_functions"]


def load_functions(name: str, base: Path) -> tuple[Any, Any]:
    """Return decide and evolve of a module; it is run, and may import others that stand beside it."""
    module = _load(name, base)
    found = []
    for function in ("decide", "evolve"):
        if not hasattr(module, function):
            raise HeadraceError(
                f"module {name} has no function {function}",
                hint="It needs decide(state, command) and evolve(state, event).",
            )
        found.append(getattr(module, function))
    check_functions(*found)
    return found[0], found[1]


def _load(name: str, base: Path) -> ModuleType:
    path = base.joinpath(*name.split(".")).with_suffix(".py")
    specification = importlib.util.spec_from_file_location(name, path)
    if not path.is_file() or specification is None or specification.loader is None:
        raise HeadraceError(
            f"module {name} is not found", detail=f"There is no file {path.name} beside the application."
        )
    module = importlib.util.module_from_spec(specification)
    if str(base) not in sys.path:
        sys.path.insert(0, str(base))
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise HeadraceError(f"module {name} cannot be loaded", detail=f"{type(error).__name__}: {error}.") from error
    return module
