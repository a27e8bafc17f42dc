"""Functions in Python go in, functions that Spark SQL knows by name come out."""

import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf, pandas_udf

from headrace.catalog.objects import Function
from headrace.catalog.python_functions import module_path
from headrace.errors import HeadraceError, PlanError


def register(spark: SparkSession, function: Function, base: Path) -> None:
    """Make a function of the application known to Spark."""
    register_callable(spark, function.name, load(function, base), str(function.returns.sql(dialect="spark")))


def register_callable(spark: SparkSession, name: str, function: Callable[..., Any], returns: str) -> None:
    """Make a Python function known to Spark; its annotations say whether it takes rows or whole columns."""
    kind = _vector_kind(function)
    if kind == "arrow":
        made = arrow_udf(function, returns)  # type: ignore[call-overload]
    elif kind == "pandas":
        made = pandas_udf(function, returns)  # type: ignore[call-overload]
    else:
        made = F.udf(function, returns, useArrow=False)
    spark.udf.register(name, made)


def _vector_kind(function: Callable[..., Any]) -> str:
    """Return how a function takes its arguments: by row, or as Arrow arrays or pandas series."""
    texts = [str(p.annotation) for p in inspect.signature(function).parameters.values()]
    if any("pyarrow" in text or text.startswith("pa.") for text in texts):
        return "arrow"
    if any("pandas" in text or text.startswith("pd.") for text in texts):
        return "pandas"
    return "row"


def load(function: Function, base: Path) -> Callable[..., Any]:
    """Return a function of a module beside the application."""
    path = module_path(function, base)
    module = _module(function.module, path, base, function)
    found = getattr(module, function.attribute, None)
    if not callable(found):
        names = [name for name in vars(module) if callable(getattr(module, name)) and not name.startswith("_")]
        raise PlanError(
            f"module {function.module} has no function {function.attribute}",
            hint=f"There are: {', '.join(names)}." if names else None,
            span=function.span,
        )
    return found  # type: ignore[no-any-return]


def _module(name: str, path: Path, base: Path, function: Function) -> ModuleType:
    unique = f"{name}"
    known = sys.modules.get(unique)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return known
    specification = importlib.util.spec_from_file_location(unique, path)
    if specification is None or specification.loader is None:
        raise PlanError(f"module {name} cannot be loaded", span=function.span)
    module = importlib.util.module_from_spec(specification)
    if str(base) not in sys.path:
        sys.path.insert(0, str(base))
    sys.modules[unique] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        del sys.modules[unique]
        raise HeadraceError(
            f"module {name} cannot be loaded",
            detail=f"{type(error).__name__}: {error}.",
            span=function.span,
        ) from error
    _ship_by_value(base)
    return module


def _ship_by_value(base: Path) -> None:
    """Let the modules beside the application travel with the functions, so that workers need no files."""
    for module in list(sys.modules.values()):
        origin = getattr(module, "__file__", None)
        if origin is not None and Path(origin).parent == base:
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
