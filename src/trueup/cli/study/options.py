"""Options of all commands that run a search, without heavy imports."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any

from tyro.conf import arg

from trueup.cli.command_settings import made_of
from trueup.cli.registered_names import StudyMethod
from trueup.cli.settings import options_of
from trueup.runs.execution import Execution
from trueup.runs.loop.budget import Budget
from trueup.runs.studies.settings import StudySettings
from trueup.runs.trackers.registry import TRACKERS

Json = Annotated[bool, arg(help="Print one JSON object on standard output, for errors too.")]


@dataclass(frozen=True, kw_only=True)
class OfRuns:
    """Option of commands that read finished runs."""

    anyway: bool = False
    """Use a run with changed inputs or the verdict "do not use"; every result is marked."""


TrackerOptions = make_dataclass(
    "TrackerOptions",
    [
        (name, Annotated[bool, arg(help=kind.help)], field(default=False))
        for name, kind in TRACKERS.items()
    ],
    frozen=True,
    kw_only=True,
    namespace={"__doc__": "A switch for each registered tracker."},
)


@dataclass(frozen=True)
class SettingsOfResume(Budget, Execution):
    """Settings that can be changed when a run is resumed."""


@dataclass(frozen=True)
class SettingsOfStudy(SettingsOfResume, StudySettings):
    """All settings of a search."""


BudgetOptions = options_of(Budget, "BudgetOptions")
"""An option for each limit of a search, except the cost."""

StudyOptions = options_of(SettingsOfStudy, "StudyOptions", types={"method": StudyMethod})
"""An option for each marked setting of a search."""


NOT_KEYS = ("storage", "load_study")
"""Settings of an execution that are supported by servo fits only."""


def execution_of(command: Any, values: Mapping[str, Any]) -> Execution:
    """Execution of a command: how candidates are evaluated, and the trackers.

    Args:
      command: a command with switches of trackers.
      values: settings of the command, by name.
    """
    switched = [name for name in TRACKERS if getattr(command, name)]
    return dataclasses.replace(
        made_of(Execution, values),
        trackers=tuple(dict.fromkeys((*switched, *values.get("trackers", ())))),
    )
