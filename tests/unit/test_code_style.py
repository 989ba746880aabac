"""The size of modules and functions, and what public docstrings must say.

What ruff and numpydoc's own lint can see is left to them; here stands what they cannot.
"""

from __future__ import annotations

import ast
import functools
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "neuroveil"
MODULES = sorted(SOURCE.rglob("*.py"))

Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def label(path: Path) -> str:
    """Name of a module for messages."""
    return str(path.relative_to(SOURCE.parent))


def functions(tree: ast.AST) -> Iterator[Function]:
    """All functions of a tree, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def length_without_docstring(function: Function) -> int:
    """Lines of a function, decorators and docstring left out."""
    assert function.end_lineno is not None
    lines = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        assert first.end_lineno is not None
        lines -= first.end_lineno - first.lineno + 1
    return lines


def arguments(function: Function) -> list[str]:
    """Names of a function's parameters without ``self`` and ``cls``; stars are kept apart."""
    named = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    starred = [each for each in (function.args.vararg, function.args.kwarg) if each]
    names = [argument.arg for argument in (*named, *starred)]
    return [name for name in names if name not in {"self", "cls"}]


def decorators(node: Documented) -> list[str]:
    """Source text of a node's decorators."""
    return [ast.unparse(decorator) for decorator in node.decorator_list]


def is_command(node: Documented) -> bool:
    """Whether it is a command of the command line, whose docstring is its help text."""
    return any(re.search(r"\b(click|command|group)\b", text) for text in decorators(node))


@dataclass(frozen=True)
class PublicObject:
    """A public class or function together with where it stands."""

    name: str
    node: Documented
    in_class: bool

    @property
    def sections(self) -> dict[str, str]:
        """Sections of its docstring by heading; the summary has the heading ``""``."""
        parts = re.split(r"^(\w[\w ]*)\n-{3,}$", ast.get_docstring(self.node) or "", flags=re.M)
        return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def public_objects(path: Path) -> Iterator[PublicObject]:
    """Public classes, functions and methods of a module."""

    def visit(body: list[ast.stmt], prefix: str, in_class: bool) -> Iterator[PublicObject]:
        for node in body:
            if not isinstance(node, Documented) or node.name.startswith("_"):
                continue
            name = f"{prefix}.{node.name}"
            yield PublicObject(name, node, in_class)
            if isinstance(node, ast.ClassDef):
                yield from visit(node.body, name, True)

    yield from visit(parsed(path).body, label(path), False)


def documented_parameters(text: str) -> list[str]:
    """Parameter names of a ``Parameters`` section."""
    heads = re.findall(r"^(\*{0,2}\w[\w, *]*?)(?: *: .*)?$", text, flags=re.M)
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def dataclass_fields(node: ast.ClassDef) -> list[str]:
    """Names of the fields that a dataclass takes."""
    return [
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and not statement.target.id.startswith("_")
        and "ClassVar" not in ast.unparse(statement.annotation)
        and "init=False" not in ast.unparse(statement)
    ]


def expected_parameters(item: PublicObject) -> list[str] | None:
    """Parameters that a docstring must list; None where another tool looks."""
    node = item.node
    if isinstance(node, Function):
        return None if is_command(node) else arguments(node)
    if any("dataclass" in decorator for decorator in decorators(node)):
        return dataclass_fields(node)
    return None


def own_statements(function: Function) -> Iterator[ast.AST]:
    """Nodes of a function without those of functions and classes inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*Function.__args__, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))


def raises(function: Function) -> bool:
    """Whether a function refuses something itself; passing on and leaving do not count."""
    return any(
        isinstance(node, ast.Raise) and node.exc and "SystemExit" not in ast.unparse(node.exc)
        for node in own_statements(function)
    )


def refuses_to_be_made(node: ast.ClassDef) -> bool:
    """Whether a class raises something while an object of it is made."""
    makers = {"__init__", "__post_init__", "__new__"}
    return any(
        isinstance(member, Function) and member.name in makers and raises(member)
        for member in node.body
    )


def returns_something(function: Function) -> bool:
    """Whether a function's annotation promises a value."""
    if function.returns is None or ast.unparse(function.returns) in {"None", "NoReturn", "Never"}:
        return False
    return not re.match(r"(Async)?(Iterator|Generator)\b", ast.unparse(function.returns))


def missing_sections(item: PublicObject) -> list[str]:
    """What a public docstring should say and does not."""
    node, sections = item.node, item.sections
    if ast.get_docstring(node) is None:
        return ["docstring"]
    missing = []
    expected = expected_parameters(item)
    if expected and sorted(documented_parameters(sections.get("Parameters", ""))) != sorted(
        expected
    ):
        missing.append(f"Parameters naming exactly {', '.join(expected)}")
    if isinstance(node, Function):
        is_property = any("property" in decorator for decorator in decorators(node))
        if returns_something(node) and not is_property and not is_command(node):
            missing += [] if "Returns" in sections else ["Returns"]
        if raises(node) and not is_command(node):
            missing += [] if "Raises" in sections else ["Raises"]
    elif refuses_to_be_made(node) and "Raises" not in sections:
        missing.append("Raises")
    return missing


@pytest.mark.parametrize("path", MODULES, ids=label)
class TestEveryModule:
    def test_has_a_docstring(self, path: Path) -> None:
        assert ast.get_docstring(parsed(path)), f"{label(path)} does not say what it is for"

    def test_has_at_most_500_lines(self, path: Path) -> None:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 500

    def test_has_functions_of_at_most_60_lines(self, path: Path) -> None:
        too_long = {
            function.name: length_without_docstring(function)
            for function in functions(parsed(path))
            if length_without_docstring(function) > 60
        }
        assert not too_long

    def test_has_signatures_of_at_most_6_parameters(self, path: Path) -> None:
        too_wide = {
            function.name: len(arguments(function))
            for function in functions(parsed(path))
            if len(arguments(function)) > 6
        }
        assert not too_wide

    def test_has_no_mutable_default(self, path: Path) -> None:
        mutable = [
            function.name
            for function in functions(parsed(path))
            for default in (*function.args.defaults, *filter(None, function.args.kw_defaults))
            if isinstance(default, ast.List | ast.Dict | ast.Set)
        ]
        assert not mutable

    def test_has_complete_public_docstrings(self, path: Path) -> None:
        incomplete = {
            item.name: missing
            for item in public_objects(path)
            if (missing := missing_sections(item))
        }
        assert not incomplete

    def test_gives_shapes_where_arrays_cross_its_border(self, path: Path) -> None:
        without = [
            item.name
            for item in public_objects(path)
            if isinstance(item.node, Function)
            and re.search(r"\bndarray\b", ast.get_docstring(item.node) or "")
            and "shape" not in (ast.get_docstring(item.node) or "")
        ]
        assert not without


def test_modules_are_short_on_the_whole() -> None:
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES]
    assert statistics.median(lengths) <= 150


def test_functions_are_short_on_the_whole() -> None:
    lengths = sorted(
        length_without_docstring(function)
        for path in MODULES
        for function in functions(parsed(path))
    )
    assert lengths[int(0.95 * len(lengths))] <= 30


def test_the_package_has_at_most_twelve_names() -> None:
    package = SOURCE / "__init__.py"
    exported = [
        statement.value
        for statement in parsed(package).body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        and "__all__" in ast.unparse(statement).split("=")[0]
    ]
    assert len(exported) == 1, "neuroveil/__init__.py lists its public names in __all__"
    assert exported[0] is not None
    assert 1 <= len(ast.literal_eval(exported[0])) <= 12
