"""Description of a run: the content of its ``experiment.yaml``, as a value.

How a kind of run is written
----------------------------

1. A subclass of :class:`Spec`: a frozen model whose fields are all that the run depends on. It
   reads nothing and does nothing.
2. A function ``run(spec, session) -> Outcome`` that executes the run: it reads and
   checks the inputs, opens the run with :meth:`trueup.runs.Session.begin`, searches with
   :meth:`trueup.runs.Run.search`, and ends with :meth:`trueup.runs.Run.finish`.
3. A line in ``runs/kinds.py`` with the spec, that function, and the functions that read a finished
   run: report, state, comparison.

The function of the capability (``sysid.identify``, ``actuators.fit``, ...) makes the spec from its
arguments and calls :func:`trueup.runs.start` with both; :func:`trueup.runs.resume` reads the spec
from ``experiment.yaml`` and calls the same function. Nothing else calls them.
"""

import enum
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    PlainSerializer,
    SerializationInfo,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import CoreSchema, core_schema

from trueup.errors import RunDirectoryError, TrueupError, listing
from trueup.runs.interruption import RunInterrupted
from trueup.runs.loop.budget import Budget, limit_in_words

LIMITS = ("max_evaluations", "max_generations", "max_seconds", "target_cost")
"""Fields of a budget."""


class OnResume(enum.Enum):
    """Source of a field on resume; an unmarked field must be unchanged."""

    FORMER = "the value of the run is used"
    CALL = "the value of the call is used"


@dataclass(frozen=True)
class Place:
    """Locations of a run directory and of its moved inputs."""

    directory: Path
    folder: Path | None = None

    def found(self, relative: str) -> Path:
        """Path of an input that ``experiment.yaml`` names relative to the run directory.

        Raises:
          RunDirectoryError: the input is missing.
        """
        path = Path(os.path.normpath(self.directory / relative))
        moved = path if self.folder is None else self.folder / path.name
        if moved.exists() or path.exists():
            return moved if moved.exists() else path
        raise RunDirectoryError(
            f"{self.directory} was made from {path}, which is missing: give the folder of "
            f"{path.name} "
            "with --folder"
        )


def _read_input(value: Any, info: ValidationInfo) -> Any:
    if isinstance(info.context, Place) and value and isinstance(value, str):
        return info.context.found(value)
    return value  # other types are rejected as paths


def _read_output(value: Any, info: ValidationInfo) -> Any:
    if isinstance(info.context, Place) and value and isinstance(value, str):
        return Path(os.path.normpath(info.context.directory / value))
    return value


def _write_path(path: Path | None, info: SerializationInfo) -> str | None:
    if path is None:
        return None
    if isinstance(info.context, Place):
        return os.path.relpath(path, info.context.directory)
    return str(path.absolute())


_INPUT = BeforeValidator(_read_input)

InputPath = Annotated[Path, _INPUT, PlainSerializer(_write_path)]
"""File or folder that a run reads: relative to the run directory in ``experiment.yaml``."""

OutputPath = Annotated[Path, BeforeValidator(_read_output), PlainSerializer(_write_path)]
"""File that a run writes outside its directory; it need not exist."""


@dataclass(frozen=True)
class Serialised:
    """Annotation of a field that is serialised by ``to_dict`` and ``from_dict`` of its class."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, source) else source.from_dict(value),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: value.to_dict()
            ),
        )


class Spec(BaseModel):
    """Description of a run; see the module docstring.

    Fields with ``exclude=True`` are Python objects of the call, not saved in a file.

    Attributes:
      name: name of the run.
      seed: seed of all random draws; None if there are none.
      limits: limits of the search; may change on resume.
      notes: sentences for the summary, such as on the start values.
      lacking: fields that were Python objects, which are not saved in a file.
    """

    model_config = ConfigDict(
        frozen=True, arbitrary_types_allowed=True, protected_namespaces=(), extra="ignore"
    )

    kind: ClassVar[str]
    """Kind of run in ``experiment.yaml``."""
    noun: ClassVar[str]
    """Noun for a run in messages, with its article: ``"a servo fit"``."""
    function: ClassVar[str] = ""
    """Public function that starts such a run, for messages."""
    format_version: ClassVar[int] = 1
    """Version of the content of ``experiment.yaml``; other versions are an error."""
    known_limits: ClassVar[tuple[str, ...]] = LIMITS
    """Supported limits of the search, among the fields of :class:`trueup.runs.Budget`."""
    limits_of_call: ClassVar[bool] = True
    """Whether limits are arguments of a call, with the time from that call, not from an input."""
    searched: ClassVar[bool] = True
    """Whether its search is saved in ``study.sqlite``."""
    interruption: ClassVar[type[RunInterrupted]] = RunInterrupted
    """Exception raised by Ctrl-C once the run is saved."""

    name: Annotated[str, OnResume.FORMER]
    seed: int | None = None
    limits: Annotated[Budget, OnResume.FORMER] = Budget()
    notes: Annotated[tuple[str, ...], OnResume.FORMER] = ()
    lacking: Annotated[tuple[str, ...], OnResume.FORMER] = ()

    # --- experiment.yaml -------------------------------------------------------------------------

    def only_in_python(self) -> tuple[str, ...]:
        """Names of the fields with Python objects that are not saved in a file."""
        return ()

    def to_dict(self, directory: Path) -> dict[str, Any]:
        """Content of ``experiment.yaml``; paths are relative to ``directory``, the run directory.

        Inputs and run directory may be moved together. The writer adds kind and version.
        """
        lacking = self.lacking or self.only_in_python()
        content = self.model_dump(mode="json", context=Place(directory), exclude=set(lacking))
        return {**content, "lacking": list(lacking)}

    @classmethod
    def from_dict(cls, content: dict[str, Any], directory: Path, folder: Path | None) -> Self:
        """The spec of a run.

        Args:
          content: content of ``experiment.yaml``; kind and version are checked.
          directory: run directory.
          folder: location of the inputs, if they were moved.

        Raises:
          RunDirectoryError: a key is missing or wrong, or an input is missing.
        """
        lacking = content.get("lacking") or ()
        # a run writes every key: a missing one would silently become its default
        written = [key for key, field in cls.model_fields.items() if not field.exclude]
        missing = [key for key in written if key not in content and key not in lacking]
        file = directory / "experiment.yaml"
        if missing:
            raise RunDirectoryError(
                f"{file} is damaged: missing {listing(missing)}. Restore it from a copy, or "
                "restart "
                "the run with --overwrite"
            )
        try:
            return cls.model_validate(content, context=Place(directory, folder))
        except RunDirectoryError:
            raise
        except TrueupError as error:  # of from_dict of a field
            raise RunDirectoryError(f"{file} cannot be read: {error}") from error
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            raise RunDirectoryError(f"{file} is damaged: {key}: {first['msg']}") from error

    def paths(self) -> list[Path]:
        """Paths of the inputs in the spec."""
        found: list[Path] = []
        for name, field in type(self).model_fields.items():
            if _INPUT in field.metadata or _names_inputs(field.annotation):
                value = getattr(self, name)
                several = value if isinstance(value, list | tuple) else [value]
                found += [each for each in several if isinstance(each, Path)]
        return found

    # --- resume ----------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """Values that must not change on resume, by their names in messages."""
        found: dict[str, Any] = {}
        lacking = {*self.lacking, *self.only_in_python()}
        for name, field in type(self).model_fields.items():
            if name in lacking or any(isinstance(each, OnResume) for each in field.metadata):
                continue
            value = self.model_dump(mode="json", include={name}).get(name)
            for key, each in (value if isinstance(value, dict) else {name: value}).items():
                # two fields may contain a value of the same name, such as a seed
                found[key if found.get(key, each) == each else f"{name}.{key}"] = each
        return found

    def resumed_by(self, call: Self) -> Self:
        """This spec, resumed by a call with the spec ``call``.

        Limits, the fields marked ``OnResume.CALL`` and Python objects that are not saved in a file
        are those of the call.
        """
        fields = type(self).model_fields.items()
        new = [name for name, field in fields if OnResume.CALL in field.metadata]
        given = {name: getattr(call, name) for name in (*new, *self.lacking)}
        return self.model_copy(update={**given, "lacking": ()}).with_limits(call.limits)

    def with_limits(self, limits: Budget) -> Self:
        """This spec with the given limits.

        Raises:
          RunDirectoryError: the search does not support one of them.
        """
        given = {name: getattr(limits, name) for name in LIMITS}
        given = {name: value for name, value in given.items() if value is not None}
        if unknown := [name for name in given if name not in self.known_limits]:
            names = ", ".join(map(limit_in_words, unknown))
            known = ", ".join(map(limit_in_words, self.known_limits))
            raise RunDirectoryError(
                f"the run is {self.noun}, which does not support {names}"
                + (f"; it supports {known}" if known else " or another limit; remove it")
            )
        whole = {name: getattr(self.limits, name) for name in LIMITS} | given
        return self.model_copy(update={"limits": Budget(**whole)})

    def check_whole(self, where: Path | None = None) -> None:
        """Raise RunDirectoryError if Python objects are missing that are not saved in a file."""
        if self.lacking:
            of = "" if where is None else f" of {where}"
            raise RunDirectoryError(
                f"the {listing(self.lacking)}{of} were Python objects, which are not saved in a "
                "file: "
                f"resume it with  {self.function}(..., directory=..., resume=True)  and the same "
                "objects"
            )


def _names_inputs(annotation: Any) -> bool:
    """Whether a type, such as ``InputPath | None`` or ``list[InputPath]``, contains input paths."""
    return any(part is _INPUT or _names_inputs(part) for part in get_args(annotation))
