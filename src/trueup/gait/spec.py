"""Spec of a gait optimisation: its configuration and the initial values of the search."""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from trueup.errors import RunDirectoryError
from trueup.gait.models._shipped_models import SHIPPED_MODELS
from trueup.gait.search.configuration import GaitConfiguration, make_configuration
from trueup.gait.search.earlier_runs import (
    FORMAT_VERSION,
    KIND,
    controller_digest,
    with_stored_controller,
)
from trueup.runs.spec import OnResume, Serialised, Spec


class GaitSpec(Spec):
    """Spec of a gait optimisation.

    Attributes:
      configuration: configuration with all changes; resolved once the search has started. Its paths
        are absolute.
      begun_with: :func:`fingerprint` of the original configuration.
      start: initial values by name; None before the first start.
      loaded: configuration before the changes.
      changes: values that replace those of ``loaded``, by key.
      source: name of the configuration in messages.
      threads: number of simulation threads; 0 uses all cores.
      anyway: also start from the walk of a run with changed inputs; every file records this.
      repeated: content of the ``experiment.yaml`` of a run to repeat from its initial state.
      directory: run directory from which the spec was read.
      folder: folder of the inputs, if they were moved.
    """

    kind: ClassVar[str] = KIND
    noun: ClassVar[str] = "a gait optimisation"
    function: ClassVar[str] = "trueup.gait.optimize"
    format_version: ClassVar[int] = FORMAT_VERSION

    configuration: Annotated[GaitConfiguration, Serialised()]
    begun_with: Annotated[str | None, OnResume.FORMER] = None
    start: Annotated[dict[str, float] | None, OnResume.FORMER] = None
    loaded: Annotated[GaitConfiguration | None, Field(exclude=True)] = None
    changes: Annotated[dict[str, Any], Field(exclude=True, default_factory=dict)]
    source: Annotated[str, Field(exclude=True)] = "the configuration"
    threads: Annotated[int, OnResume.CALL, Field(exclude=True)] = 0
    anyway: Annotated[bool, OnResume.CALL, Field(exclude=True)] = False
    repeated: Annotated[dict[str, Any] | None, Field(exclude=True)] = None
    directory: Annotated[Path | None, Field(exclude=True)] = None
    folder: Annotated[Path | None, Field(exclude=True)] = None

    @classmethod
    def from_dict(cls, content: dict[str, Any], directory: Path, folder: Path | None) -> Self:
        file = directory / "experiment.yaml"
        configuration = make_configuration(content.get("configuration"), str(file), resolved=True)
        read = super().from_dict({**content, "configuration": configuration}, directory, folder)
        if read.start is None:
            raise RunDirectoryError(f"{file} is damaged: the block 'start' is empty")
        return read.model_copy(update={"directory": directory, "folder": folder})

    @property
    def local(self) -> GaitConfiguration:
        """The configuration with the current paths of moved inputs."""
        found = self.configuration
        if self.directory is not None:
            found = with_stored_controller(found, self.directory)
        return found if self.folder is None else found_in(found, self.folder)

    def paths(self) -> list[Path]:
        """Paths of the model, the files that it includes, own reflexes, and references."""
        from trueup.simulation.models.sources import model_sources

        configuration = self.local
        model = configuration.model_file
        models = [] if model is None or model in SHIPPED_MODELS else model_sources(model)
        own = () if configuration.controller is None else (configuration.controller,)
        return [*models, *map(Path, (*own, *configuration.reference_files))]

    def identity(self) -> dict[str, Any]:
        # the configuration is resolved at the start: resumed_by compares the original one
        return {}

    def resumed_by(self, call: Self) -> Self:
        """This spec with more generations, if the configuration of the call has more.

        Raises:
          RunDirectoryError: the run was started with another configuration.
        """
        now = call.loaded or call.configuration
        if self.begun_with not in (None, fingerprint(now)) and now != self.configuration:
            raise RunDirectoryError(
                f"{self.directory} was started with another configuration than {call.source}. "
                f"To resume it unchanged use  trueup study resume {self.directory}"
            )
        given = self.configuration.with_changes(call.changes)
        own, stored = call.configuration.controller, self.local.controller
        if own and stored and controller_digest(own) != controller_digest(stored):
            raise RunDirectoryError(
                f"{self.directory} was started with another content of {own}: start a new run with "
                f"it, or resume this one with  trueup study resume {self.directory}"
            )
        kept = self.configuration.maxiter
        if given.model_copy(update={"maxiter": kept}) != self.configuration:
            raise RunDirectoryError(
                f"{self.directory} was started with another configuration: resume it without "
                "options that change it"
            )
        # maxiter sets the number of generations again, unless the call does
        limits = dataclasses.replace(self.limits, max_generations=None)
        resumed = self.model_copy(update={"configuration": given, "limits": limits})
        return super(GaitSpec, resumed).resumed_by(call)


def fingerprint(configuration: GaitConfiguration) -> str:
    """SHA-256 of a configuration."""
    text = json.dumps(configuration.to_dict(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def found_in(configuration: GaitConfiguration, folder: Path) -> GaitConfiguration:
    """The configuration with missing input files replaced by those of the same name in a folder.

    Raises:
      RunDirectoryError: a file is missing there too.
    """

    def found(path: str | None) -> str | None:
        if path is None or path in SHIPPED_MODELS or Path(path).exists():
            return path
        moved = folder / Path(path).name
        if not moved.exists():
            raise RunDirectoryError(f"the input {path} of the run is missing, also in {folder}")
        return str(moved.resolve())

    references = configuration.reference
    return configuration.model_copy(
        update={
            "model_file": found(configuration.model_file),
            "reference": None if references is None else tuple(map(found, references)),
            "reference_emg": found(configuration.reference_emg),
        }
    )
