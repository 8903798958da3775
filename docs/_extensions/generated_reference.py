"""Writes the reference pages that follow from the code: files, commands, targets, public names."""

import ast
import contextlib
import functools
import importlib
import inspect
import io
import itertools
import os
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args
from unittest import mock

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from trueup._registered_names import RegisteredName


@functools.cache
def public_packages() -> list[str]:
    """Packages with public names, by dotted name: those with an ``__all__``, private ones left out.

    The command line is documented by its own page, :mod:`trueup` itself holds the packages.
    """
    import trueup

    found = ["trueup.errors"]
    for info in pkgutil.walk_packages(trueup.__path__, "trueup."):
        names = info.name.split(".")
        if not info.ispkg or names[1] == "cli" or any(n.startswith("_") for n in names):
            continue
        if getattr(importlib.import_module(info.name), "__all__", ()):
            found.append(info.name)
    return found


@functools.cache
def public_names(package: str) -> list[str]:
    """Public names of a package, packages within it left out."""
    module = importlib.import_module(package)
    listed = getattr(module, "__all__", None)
    if listed is None:  # trueup.errors is a module of classes
        listed = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == package]
    return [name for name in sorted(listed) if f"{package}.{name}" not in public_packages()]


def documented_in(module: str, name: str) -> str:
    """Where a public name is described, if several offer it: in the package that defines it."""
    value = getattr(importlib.import_module(module), name)
    defined = getattr(value, "__module__", "")
    offering = [
        package
        for package in public_packages()
        if name in public_names(package)
        and getattr(importlib.import_module(package), name) is value
    ]
    defining = [package for package in offering if f"{defined}.".startswith(f"{package}.")]
    return min(defining or offering or [module], key=len)


DOCS = Path(__file__).parents[1]


def sections_of(page: str) -> dict[str, str]:
    """Sections of a page of the site about packages or commands, by the words of their headings."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"^## (trueup[\w. -]+)\n+(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return {heading: body.strip() for heading, body in found}


def api_page(package: str) -> str:
    """Markdown page with an example of a package and every public name of it, by group."""
    lines = [f"# {package}", "", "```{eval-rst}", *_module_text(package), "```", ""]
    lines += ["[Example](../api-examples.md):", "", sections_of("api-examples.md")[package], ""]
    groups = public_groups(package)
    for title, names in groups.items():
        heading = ["", f"## {title}", ""] if len(groups) > 1 else [""]
        lines += [*heading, "```{eval-rst}", *_entries(package, names), "```", ""]
    return "\n".join(lines)


ELSEWHERE = "From other packages"
"""Group of the names that another package defines."""


@functools.cache
def public_groups(package: str) -> dict[str, list[str]]:
    """Public names of a package by group: by the room, or the module, that defines them.

    A group is named by the first sentence of that room or module; names that other packages define
    come last.
    """
    found: dict[str, list[str]] = {}
    for name in public_names(package):
        value = getattr(importlib.import_module(package), name)
        if inspect.ismodule(value):
            module = value.__name__
        elif documented_in(package, name) != package:
            module = ""
        else:
            module = getattr(value, "__module__", "") if callable(value) else ""
            module = module if module.startswith("trueup.") else _home_of_data(package, name)
        found.setdefault(_group_of(package, module), []).append(name)
    last = {ELSEWHERE: found.pop(ELSEWHERE)} if ELSEWHERE in found else {}
    return {**dict(sorted(found.items())), **last}


def _group_of(package: str, module: str) -> str:
    if not f"{module}.".startswith(f"{package}."):
        return ELSEWHERE
    place = module.removeprefix(package).lstrip(".").split(".")[0]
    home = importlib.import_module(f"{package}.{place}" if place else package)
    text = inspect.cleandoc(home.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    sentence = text.split(". ")[0].rstrip(".").replace("``", "`")
    return re.sub(r":\w+:`([^`]+)`", r"`\1`", sentence) or place


def _module_text(module: str) -> list[str]:
    return [f".. automodule:: {module}", "   :no-members:"]


def _entries(module: str, names: list[str]) -> list[str]:
    """Directives for the names of a module; what another page describes becomes a link."""
    lines: list[str] = []
    for name in names:
        value = getattr(importlib.import_module(module), name)
        if (home := documented_in(module, name)) != module:
            lines += ["", f"- :py:obj:`{home}.{name}`"]
        elif inspect.ismodule(value):
            own = _names_of_module(value)
            lines += ["", *_module_text(value.__name__), *_entries(value.__name__, own)]
        elif inspect.isclass(value):
            lines += ["", f".. autoclass:: {module}.{name}", "   :members:"]
        elif inspect.isroutine(value):
            lines += ["", f".. autofunction:: {module}.{name}"]
        else:
            lines += ["", f".. py:data:: {module}.{name}", ""]
            lines += textwrap.indent(data_docstring(module, name), "   ").splitlines()
    return lines


def _names_of_module(module: Any) -> list[str]:
    """Public names of a module that is public itself: those listed, or those it defines."""
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__]
    listed = getattr(module, "__all__", [name for name in own if not name.startswith("_")])
    return sorted(listed)


def _home_of_data(package: str, name: str) -> str:
    """Module that assigns a public name, found by following imports."""
    module = importlib.import_module(package)
    exports = getattr(module, "_EXPORTS", {})
    if name in exports and exports[name] != package:
        return _home_of_data(exports[name], name)
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ImportFrom) and any(a.name == name for a in node.names):
            return _home_of_data(str(node.module), name)
    return package


def data_docstring(package: str, name: str) -> str:
    """Docstring of a public constant: the string below its assignment, or the ``#:`` above."""
    return _data_docstring(_home_of_data(package, name), name)


def _data_docstring(module: str, name: str) -> str:
    source = inspect.getsource(importlib.import_module(module))
    found = _strings_below(ast.parse(source).body).get(name, "")
    if found:
        return found
    lines = source.splitlines()
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            above = lines[node.lineno - 2].strip()
            return above.removeprefix("#:").strip() if above.startswith("#:") else ""
    return ""


def _strings_below(body: list[ast.stmt]) -> dict[str, str]:
    """Name -> the string that stands below its assignment."""
    found = {}
    for node, below in itertools.pairwise(body):
        if not (isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)):
            continue
        if not isinstance(below.value.value, str):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name):
                found[target.id] = inspect.cleandoc(below.value.value)
    return found


def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Key -> meaning of a part of the experiment file, from the strings below the fields."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    assert isinstance(tree, ast.ClassDef)
    own = {k: " ".join(v.split()) for k, v in _strings_below(tree.body).items()}
    inherited = [base for base in model.__mro__[1:] if _is_part(base)]
    return {**(field_docstrings(inherited[0]) if inherited else {}), **own}


def _is_part(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, BaseModel) and kind is not BaseModel


def experiment_parts() -> list[type[BaseModel]]:
    """Parts of the experiment file, the file itself first, each below what holds it."""
    from trueup.sysid.experiment.settings import Experiment

    return list(dict.fromkeys(_parts_of(Experiment)))


def _parts_of(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for field in model.model_fields.values():
        for inner in _models_in(field.annotation):
            yield from _parts_of(inner)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if _is_part(annotation):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _models_in(inner)]


def experiment_page() -> str:
    """Reference of the experiment file: each part with its keys."""
    lines = [
        "# Experiment file",
        "",
        "One YAML file describes an identification completely. Keys that are not listed here are",
        "errors, reported with their line. File names are relative to the experiment file.",
    ]
    for model in experiment_parts():
        doc = " ".join(inspect.cleandoc(model.__doc__ or "").split())
        lines += ["", f"({_anchor(model)})=", f"## {_title(model)}", "", doc, ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        meanings = field_docstrings(model)
        for key, field in model.model_fields.items():
            meaning = meanings.get(key, "").replace("|", "\\|")
            cells = [f"`{key}`", _choices(field), _default(field), meaning]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _anchor(model: type[BaseModel]) -> str:
    return f"experiment-{model.__name__.lower()}"


def _title(model: type[BaseModel]) -> str:
    if model.__name__ == "Experiment":
        return "The file"
    words = model.__name__.removesuffix("Part")
    return "".join(f" {c.lower()}" if c.isupper() and i else c for i, c in enumerate(words))


def _choices(field: Any) -> str:
    """Names of the registry that a key takes; else its type."""
    for entry in field.metadata:
        if isinstance(entry, RegisteredName):
            return ", ".join(f"`{name}`" for name in entry.names())
    return _type_words(field.annotation)


def _type_words(annotation: Any) -> str:
    if _is_part(annotation):
        return f"[{_title(annotation).lower()}](#{_anchor(annotation)})"
    plain = {float: "number", int: "integer", str: "text", bool: "true, false", type(None): ""}
    if annotation in plain:
        return plain[annotation]
    origin, inner = getattr(annotation, "__origin__", None), get_args(annotation)
    if origin is not None and str(origin) == "typing.Literal":
        return ", ".join(f"`{value}`" for value in inner)
    if origin is list:
        return f"list of {_type_words(inner[0])}"
    if origin is dict:
        return f"name: {_type_words(inner[1])}"
    if origin is tuple:
        words = [_type_words(part) for part in inner]
        return f"[{', '.join(words)}]" if len(set(words)) > 1 else f"{len(words)} x {words[0]}"
    if inner:
        return " or ".join(words for part in inner if (words := _type_words(part)))
    return str(annotation)


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    value = field.default if field.default is not PydanticUndefined else field.default_factory()
    if value is None or value in ("", [], {}, ()):
        return ""
    if isinstance(value, BaseModel):
        chosen = value.model_dump(exclude_defaults=True)
        return f"`{{{', '.join(f'{k}: {v}' for k, v in chosen.items())}}}`" if chosen else ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


@functools.cache
def command_page() -> str:
    """Reference of the command line: the help of each command."""
    from trueup.cli import commands

    twins = sections_of("from-python.md")
    lines = ["# Command line", "", *_help_of([])]
    for name, command in commands.COMMANDS.items():
        lines += ["", f"## trueup {name}", "", *_help_of([name])]
        inner = getattr(command, "COMMANDS", {})
        lines += [] if inner else ["", "From Python:", "", twins[f"trueup {name}"]]
        for each in inner:
            lines += ["", f"### trueup {name} {each}", "", *_help_of([name, each])]
            lines += ["", "From Python:", "", twins[f"trueup {name} {each}"]]
    return "\n".join([*lines, ""])


def _help_of(words: list[str]) -> list[str]:
    from trueup.cli import main

    plain = {**os.environ, "COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb"}
    plain.pop("FORCE_COLOR", None)
    # with an encoding that has the characters of boxes
    text = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with mock.patch.dict(os.environ, plain, clear=True), contextlib.redirect_stdout(text):
        main([*words, "--help"])
    shown = text.buffer.getvalue().decode()
    return ["```text", *(line.rstrip() for line in shown.rstrip().splitlines()), "```"]


def target_page() -> str:
    """Reference of parameter targets: the attributes of each kind of element."""
    from trueup.simulation.targets.actuator_targets import ACTUATOR_TARGETS
    from trueup.simulation.targets.attributes import ATTRIBUTES, OPTIONS, Attribute

    def row(target: str, attribute: Attribute) -> str:
        fields = ", ".join(f"`{part.field}`" for part in attribute.parts)
        numbers = "one" if attribute.shared else "one each index"
        sign = "above" if attribute.strict else "at least"
        low = f"{sign} {attribute.lowest:g}" if attribute.lowest > -1e300 else ""
        return f"| `{target}` | {fields} | {numbers} | {low} | {attribute.needs_advice} |"

    head = ["| target | field of the compiled model | numbers | bounds | needs |", "|---" * 5 + "|"]
    lines = [
        "# Parameter targets",
        "",
        "A target says where in the model a value goes: `kind/name/attribute`, with `/index` for",
        "one number of several: `joint/elbow/armature`, `geom/foot/friction/0`. The name may hold",
        "wildcards (`joint/finger*/damping`): one parameter then goes to every match, or, with",
        "`each: true`, every match gets one of its own. Each target is checked against a",
        "recompiled model before a fit begins.",
        "",
        "`state/<joint>/qpos`, `state/<joint>/qvel` and `state/<actuator>/act` are the initial",
        "state of every sequence; `state/<joint>/qvel@run_1` that of the sequence `run_1`.",
        "",
        "Joints and actuators without a name in the MJCF are called `unnamed_joint_0`,",
        "`unnamed_actuator_0` and so on, by their number; a free joint is known by its body.",
        "",
        *head,
    ]
    for kind, attributes in ATTRIBUTES.items():
        lines += [row(f"{kind}/<name>/{name}", found) for name, found in attributes.items()]
    for name, width in OPTIONS.items():
        numbers = "one" if width == 1 else str(width)
        lines.append(f"| `option/{name}` | `opt.{name}` | {numbers} | | |")
    lines += [
        "",
        "## Actuators by their type",
        "",
        "The numbers of `gainprm`, `biasprm` and `dynprm` mean something else in each type of",
        "actuator: `gainprm/0` is the stiffness of a `position` servo, the integral gain of a",
        "`pid` servo and the resistance of a `dcmotor`. These targets have MuJoCo's names and are",
        "those of one type; another type refuses them and names its own. Parts of an attribute of",
        "`dcmotor` have its name in front (`lugre_stiffness`), but for those of `controller`, and",
        "for `timeconst` and `current_rate` of `inductance` and `saturation`. `kd` of a `pid` is",
        "another name of its `kv`. A `general` actuator with the law of another type is of that",
        "type; other `general` actuators, `motor` and `plugin` have the targets of every actuator",
        "alone. A damping ratio is no target: the compiler turns it into `kv`.",
        "",
        "| type " + head[0],
        "|---" * 6 + "|",
    ]
    lines += [
        f"| `{kind}` {row(f'actuator/<name>/{name}', found)}"
        for kind, attributes in ACTUATOR_TARGETS.items()
        for name, found in attributes.items()
    ]
    return "\n".join([*lines, ""])


def unit_page() -> str:
    """Reference of units: every unit that a column may have."""
    from trueup.signals import UNITS

    lines = [
        "# Units",
        "",
        "A column's unit is converted to SI (radians for angles) when it is read.",
        "",
        "| quantity | SI unit | units |",
        "|---|---|---|",
    ]
    families: dict[tuple[str, str], list[str]] = {}
    for name, unit in UNITS.items():
        families.setdefault((unit.quantity, unit.si), []).append(name)
    for (quantity, si), names in families.items():
        lines.append(f"| {quantity} | `{si}` | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join([*lines, ""])


def index_page() -> str:
    """Index of the packages."""
    return "\n".join(["# Python API", "", "```{toctree}", *public_packages(), "```", ""])


def page_makers() -> dict[str, Callable[[], str]]:
    """What makes each generated page, by file name; that of the command line takes its time."""
    packages = {f"{name}.md": functools.partial(api_page, name) for name in public_packages()}
    return {
        "experiment.md": experiment_page,
        "command-line.md": command_page,
        "targets.md": target_page,
        "units.md": unit_page,
        "api.md": index_page,
        **packages,
    }


def pages() -> dict[str, str]:
    """Every generated page by file name."""
    return {name: make() for name, make in page_makers().items()}


def write_pages(folder: Path) -> None:
    """Write the generated pages; a page that did not change keeps its date."""
    folder.mkdir(exist_ok=True)
    current = pages()
    for old in set(folder.glob("*.md")) - {folder / name for name in current}:
        old.unlink()
    for name, text in current.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Write the pages before a build looks for them."""
    app.connect("config-inited", lambda app, config: write_pages(Path(app.srcdir) / "generated"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
