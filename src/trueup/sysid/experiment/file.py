"""Parser of experiment files, with errors that name the line and the allowed values."""

import os
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from trueup._input_files import plain_data, read_settings
from trueup.errors import ExperimentError, did_you_mean, listing
from trueup.sysid.experiment.settings import Experiment
from trueup.sysid.experiment.short_forms import example_of, written_out


def load_experiment(path: str | os.PathLike[str]) -> Experiment:
    """Read an experiment file.

    Raises:
      ExperimentError: the file is missing, not YAML, or does not describe an experiment; all
        problems are listed with their lines.
    """
    path = Path(path)
    try:
        text = read_settings(path)
    except FileNotFoundError:
        raise ExperimentError(
            f"no such experiment file: {path}; write one with  trueup import LOG --model MODEL"
        ) from None
    except IsADirectoryError:
        raise ExperimentError(f"{path} is a folder, not an experiment file") from None
    except UnicodeDecodeError as error:
        raise ExperimentError(f"{path} is not a text file: {error}") from error
    return parse_experiment(text, path.name)


def parse_experiment(text: str, name: str = "experiment") -> Experiment:
    """Read an experiment from YAML text; ``name`` is used in messages."""
    try:
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        content = plain_data(tree)
    except RecursionError as error:
        raise ExperimentError(f"{name}: nested too deeply for an experiment file") from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise ExperimentError(f"{name}{where}: not valid YAML: {problem}") from error
    if not isinstance(content, dict):
        raise ExperimentError(
            f"{name}: expected an experiment with keys such as model, recordings and parameters; "
            f"found {type(content).__name__ if content is not None else 'nothing'}"
        )
    if (wrong := _key_that_is_no_name(tree)) is not None:
        key, line = wrong
        raise ExperimentError(
            f"{name} line {line}: YAML parses the name {key} as a boolean, a number or null, not "
            f'as text: write it in quotes, "{key}"'
        )
    doubled = _double_keys(tree)
    if doubled:
        key, line = doubled
        raise ExperimentError(f"{name} line {line}: duplicate key {key!r}")
    content = without_header(content)
    try:
        return Experiment.model_validate(written_out(content))
    except ValidationError as error:
        problems = _problems(error, tree, name)
        raise ExperimentError("\n".join(problems)) from error


def without_header(content: dict[str, Any]) -> dict[str, Any]:
    """The experiment in ``experiment.yaml`` of a run, without the header of the run."""
    if content.get("kind") != "identification":
        return content
    return {key: value for key, value in content.items() if key not in _OF_THE_RUN}


_OF_THE_RUN = ("kind", "format_version", "trueup", "folder", "inputs", "execution")


def dump_experiment(experiment: Experiment) -> str:
    """The resolved experiment as YAML, with all settings."""
    return yaml.safe_dump(
        experiment.model_dump(mode="json"), sort_keys=False, default_flow_style=None, width=100
    )


def _problems(error: ValidationError, tree: Any, name: str) -> list[str]:
    lines: list[str] = []
    for problem in error.errors():
        place = _place(problem)
        if _is_other_branch(problem) and any(
            _place(other)[: len(place)] == place and not _is_other_branch(other)
            for other in error.errors()
        ):
            continue
        line = _line(tree, place)
        path = ".".join(str(part) for part in place)
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            allowed = _allowed(place[:-1])
            message = (
                f"unknown key {place[-1]!r}; available keys: {listing(allowed, 20)}."
                f"{did_you_mean(str(place[-1]), allowed)}"
            )
            path = ".".join(str(part) for part in place[:-1])
        elif problem["type"] == "missing":
            message = f"{place[-1]!r} is missing"
            path = ".".join(str(part) for part in place[:-1])
        else:
            message = _mismatch(problem, message, place)
        text = f"{name} line {line}: {path + ': ' if path else ''}{message}"
        if text not in lines:
            lines.append(text)
    return lines


def _place(problem: Any) -> tuple[Any, ...]:
    """Keys that lead to a problem."""
    return tuple(part for part in problem["loc"] if not _is_tag(part))


def _mismatch(problem: Any, message: str, place: tuple[Any, ...]) -> str:
    """Message with the found value, the expected type, and an example for a whole part."""
    found = problem.get("input")
    shown = repr(found)
    shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
    if isinstance(found, bool) and problem["type"] == "string_type":
        return (
            f"found {found}: YAML parses on, off, yes, no, true and false as booleans; write a "
            'name in quotes, such as "off"'
        )
    wanted = _SHAPES.get(problem["type"])
    if wanted is None:
        if problem["type"] == "value_error" and shown in message:
            return message  # contains the found value
        return f"{message}; found {shown}" if not isinstance(found, dict | list) else message
    example = "".join(f"\n    {line}" for line in example_of(place).splitlines())
    return f"found {shown}; expected {wanted}{', such as' + example if example else ''}"


_SHAPES = {
    "model_type": "a mapping of keys",
    "model_attributes_type": "a mapping of keys",
    "dict_type": "a mapping of names",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "a text",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}
"""Expected types, by pydantic's kinds of errors."""


def _key_that_is_no_name(node: Any, above: tuple[int, ...] = ()) -> tuple[str, int] | None:
    """First key that YAML does not parse as text, and its line."""
    if id(node) in above:  # an anchor that contains itself
        return None
    above = (*above, id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
                return str(key.value), key.start_mark.line + 1
            if (inner := _key_that_is_no_name(value, above)) is not None:
                return inner
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            if (inner := _key_that_is_no_name(value, above)) is not None:
                return inner
    return None


def _is_other_branch(problem: Any) -> bool:
    """Whether a problem is of the other branch of a union."""
    found, kind = problem.get("input"), problem["type"]
    mapping_for_text = kind == "string_type" and isinstance(found, dict)
    text_for_mapping = kind == "model_type" and isinstance(found, str)
    word_for_value = kind == "literal_error" and not isinstance(found, str)
    other_shape = kind in ("list_type", "tuple_type") and not isinstance(found, list | str)
    several_for_one = kind == "float_type" and isinstance(found, dict | list)
    one_for_several = kind == "dict_type" and isinstance(found, float | int | list)
    return (
        mapping_for_text
        or text_for_mapping
        or word_for_value
        or other_shape
        or several_for_one
        or one_for_several
    )


def _is_tag(part: Any) -> bool:
    """Whether a part of pydantic's path names a branch of a union, not a key of the file."""
    return isinstance(part, str) and (
        part in ("str", "float", "constrained-float")
        or part.startswith(("literal[", "tuple[", "list[", "dict[", "function-", "nullable"))
        or (part[:1].isupper() and part.isidentifier() and _model_named(part) is not None)
    )


def _model_named(name: str) -> type[BaseModel] | None:
    from trueup.sysid.experiment import settings as experiment

    candidate = getattr(experiment, name, None)
    is_model = isinstance(candidate, type) and issubclass(candidate, BaseModel)
    return candidate if is_model else None


def _allowed(place: tuple) -> list[str]:
    """Keys of the part of the schema at a path."""
    models: list[Any] = [Experiment]
    for part in place:
        following: list[Any] = []
        for model in models:
            if isinstance(model, type) and issubclass(model, BaseModel):
                if part in model.model_fields:
                    following += _inside(model.model_fields[part].annotation)
            else:
                following.append(model)
        # a list index or the name of an entry leads to the model of the entries
        models = following or models
    return sorted(
        {
            key
            for model in models
            if isinstance(model, type) and issubclass(model, BaseModel)
            for key in model.model_fields
        }
    )


def _inside(annotation: Any) -> list[Any]:
    """Models within an annotation such as ``dict[str, Part | str]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _inside(inner)]


def _line(tree: Any, place: tuple) -> int:
    """Line of the file at a path, or the nearest one above it."""
    node, line = tree, 1
    for part in place:
        found = None
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == str(part):
                    found, line = value, key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            found = node.value[part] if part < len(node.value) else None
            line = found.start_mark.line + 1 if found is not None else line
        if found is None:
            break
        node = found
    return line


def _double_keys(node: Any, above: tuple[int, ...] = ()) -> tuple[str, int] | None:
    """First duplicate key in one mapping; YAML would silently keep the last."""
    if id(node) in above:  # an anchor that contains itself
        return None
    above = (*above, id(node))
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if str(key.value) in seen:
                return str(key.value), key.start_mark.line + 1
            seen.add(str(key.value))
            if (inner := _double_keys(value, above)) is not None:
                return inner
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            if (inner := _double_keys(value, above)) is not None:
                return inner
    return None
