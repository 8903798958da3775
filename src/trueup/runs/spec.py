"""What a run is of: the content of its ``experiment.yaml``, as a value.

How a kind of run is written
----------------------------

1. A subclass of :class:`Spec`: a frozen model whose fields are all that the run depends on. It
   reads nothing and does nothing.
2. A function ``run(spec, session) -> Outcome`` that does the run from top to bottom: it reads and
   checks the inputs, opens the run with :meth:`trueup.runs.Session.begin`, searches with
   :meth:`trueup.runs.Run.search`, and ends with :meth:`trueup.runs.Run.finish`.
3. A line in ``runs/kinds.py`` with the spec, that function, and the functions that read a finished
   run: report, state, what is compared.

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
    """What a field may do where a call resumes a run; without a mark it has to be the same."""

    FORMER = "the value of the run counts"
    CALL = "the value of the call counts"


@dataclass(frozen=True)
class Place:
    """Where a run directory is, and where its inputs have moved to."""

    directory: Path
    folder: Path | None = None

    def found(self, relative: str) -> Path:
        """Path of an input that ``experiment.yaml`` names relative to the run directory.

        Raises:
          RunDirectoryError: it is gone.
        """
        path = Path(os.path.normpath(self.directory / relative))
        moved = path if self.folder is None else self.folder / path.name
        if moved.exists() or path.exists():
            return moved if moved.exists() else path
        raise RunDirectoryError(
            f"{self.directory} was made from {path}, which is gone: say where {path.name} is "
            "with --folder"
        )


def _read_input(value: Any, info: ValidationInfo) -> Any:
    if isinstance(info.context, Place) and value and isinstance(value, str):
        return info.context.found(value)
    return value  # what is no text is refused as no path


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
"""File that a run writes outside of its directory; it need not exist."""


@dataclass(frozen=True)
class Serialised:
    """Mark of a field whose class has ``to_dict`` and ``from_dict``: those are used."""

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
    """What a run is of; see the text above.

    Fields with ``exclude=True`` hold what a call in Python has at hand and no file needs.

    Attributes:
      name: name of the run.
      seed: seed of everything random; None where nothing is.
      limits: limits of the search; a call that resumes may give others.
      notes: what was done about the start, and the like; sentences for the summary.
      lacking: fields that were objects in Python, which no file holds.
    """

    model_config = ConfigDict(
        frozen=True, arbitrary_types_allowed=True, protected_namespaces=(), extra="ignore"
    )

    kind: ClassVar[str]
    """Kind, as ``experiment.yaml`` names it."""
    noun: ClassVar[str]
    """What a run is called in messages, with its article: ``"a servo fit"``."""
    function: ClassVar[str] = ""
    """Public function that starts such a run, for messages."""
    format_version: ClassVar[int] = 1
    """Version of the content of ``experiment.yaml``; runs of others are refused."""
    known_limits: ClassVar[tuple[str, ...]] = LIMITS
    """Limits that the search knows, among the fields of :class:`trueup.runs.Budget`."""
    limits_of_call: ClassVar[bool] = True
    """Whether limits come with a call, whose time counts from it; else they stand in an input."""
    searched: ClassVar[bool] = True
    """Whether ``study.sqlite`` holds its search."""
    interruption: ClassVar[type[RunInterrupted]] = RunInterrupted
    """What Ctrl-C raises once the run is saved."""

    name: Annotated[str, OnResume.FORMER]
    seed: int | None = None
    limits: Annotated[Budget, OnResume.FORMER] = Budget()
    notes: Annotated[tuple[str, ...], OnResume.FORMER] = ()
    lacking: Annotated[tuple[str, ...], OnResume.FORMER] = ()

    # --- experiment.yaml -------------------------------------------------------------------------

    def only_in_python(self) -> tuple[str, ...]:
        """Names of the fields whose values are objects that no file holds."""
        return ()

    def to_dict(self, directory: Path) -> dict[str, Any]:
        """Content of ``experiment.yaml``; paths are relative to ``directory``, the run directory.

        Both may move together. Kind and version are added by the writer.
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
          folder: where the inputs are, if they have moved away from the run.

        Raises:
          RunDirectoryError: a key is missing or wrong, or an input is gone.
        """
        lacking = content.get("lacking") or ()
        # a run writes every key: what is gone would count as its default
        written = [key for key, field in cls.model_fields.items() if not field.exclude]
        missing = [key for key in written if key not in content and key not in lacking]
        file = directory / "experiment.yaml"
        if missing:
            raise RunDirectoryError(
                f"{file} is damaged: it lacks {listing(missing)}. Take it from a copy, or start "
                "the run again with --overwrite"
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
        """Inputs that the spec names."""
        found: list[Path] = []
        for name, field in type(self).model_fields.items():
            if _INPUT in field.metadata or _names_inputs(field.annotation):
                value = getattr(self, name)
                several = value if isinstance(value, list | tuple) else [value]
                found += [each for each in several if isinstance(each, Path)]
        return found

    # --- resume ----------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """Values that have to be the same on resume, by the names that a message gives them."""
        found: dict[str, Any] = {}
        lacking = {*self.lacking, *self.only_in_python()}
        for name, field in type(self).model_fields.items():
            if name in lacking or any(isinstance(each, OnResume) for each in field.metadata):
                continue
            value = self.model_dump(mode="json", include={name}).get(name)
            for key, each in (value if isinstance(value, dict) else {name: value}).items():
                # two fields may hold a value of the same name, such as a seed
                found[key if found.get(key, each) == each else f"{name}.{key}"] = each
        return found

    def resumed_by(self, call: Self) -> Self:
        """This spec, continued by a call whose spec is ``call``.

        Limits and the fields marked ``OnResume.CALL`` are those of the call, and so are objects in
        Python that no file of this run holds.
        """
        fields = type(self).model_fields.items()
        new = [name for name, field in fields if OnResume.CALL in field.metadata]
        given = {name: getattr(call, name) for name in (*new, *self.lacking)}
        return self.model_copy(update={**given, "lacking": ()}).with_limits(call.limits)

    def with_limits(self, limits: Budget) -> Self:
        """This spec with other limits, where they are given.

        Raises:
          RunDirectoryError: the search does not know one of them.
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
        """Raise RunDirectoryError where objects in Python are missing that no file holds."""
        if self.lacking:
            of = "" if where is None else f" of {where}"
            raise RunDirectoryError(
                f"the {listing(self.lacking)}{of} were objects in Python, which no file holds: "
                f"resume it with  {self.function}(..., directory=..., resume=True)  and the same "
                "objects"
            )


def _names_inputs(annotation: Any) -> bool:
    """Whether a type, such as ``InputPath | None`` or ``list[InputPath]``, holds input paths."""
    return any(part is _INPUT or _names_inputs(part) for part in get_args(annotation))
