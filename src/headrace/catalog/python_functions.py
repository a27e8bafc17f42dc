"""A declared function goes in; an error comes out if no such function stands beside the application."""

import ast
from pathlib import Path

from headrace.catalog.objects import Function
from headrace.errors import HeadraceError, PlanError


def module_path(function: Function, base: Path) -> Path:
    """Return the file that a function is found in, or raise."""
    path = base.joinpath(*function.module.split(".")).with_suffix(".py")
    if not path.is_file():
        raise PlanError(
            f"module {function.module} is not found",
            detail=f"There is no file {path.name} beside the application.",
            span=function.span,
        )
    return path


def check(function: Function, base: Path) -> None:
    """Raise if a function is not in its module, or takes other arguments; nothing of it is run."""
    path = module_path(function, base)
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except SyntaxError as error:
        raise HeadraceError(
            f"module {function.module} is not valid Python",
            detail=f"Line {error.lineno}: {error.msg}.",
            span=function.span,
        ) from error
    except (OSError, ValueError) as error:  # not for this user to read, or no UTF-8
        raise HeadraceError(
            f"module {function.module} cannot be read", detail=f"{error}.", span=function.span
        ) from error
    definitions = {node.name: node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    node = definitions.get(function.attribute)
    if node is None and function.attribute not in assigned | imported:
        raise PlanError(
            f"module {function.module} has no function {function.attribute}",
            hint=f"There are: {', '.join(definitions)}." if definitions else None,
            span=function.span,
        )
    if node is not None and node.args.vararg is None:
        most = len(node.args.posonlyargs) + len(node.args.args)
        least = most - len(node.args.defaults)
        if not least <= len(function.parameters) <= most:
            raise PlanError(
                f"{function.module}:{function.attribute} takes {most} arguments, "
                f"{function.name} is declared with {len(function.parameters)}",
                span=function.span,
            )
