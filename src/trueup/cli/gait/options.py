"""Options and keys of a gait configuration on the command line."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from tyro.conf import Positional, arg

from trueup.cli.key_values import values_of
from trueup.cli.settings import Keys, given, options_of
from trueup.cli.study.options import OfRuns
from trueup.errors import GaitError, listing
from trueup.gait.search.configuration import COSTS, OF_SEARCHES, PATHS, GaitConfiguration
from trueup.gait.search.path_words import path_or_word

GaitOptions = options_of(GaitConfiguration, "GaitOptions")
"""An option for each marked key of a configuration."""


def changes_of(
    words: Sequence[str],
    options: Mapping[str, Any] | None = None,
    *,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """Values that replace those of a configuration, by key.

    Args:
      words: words ``KEY=VALUE``.
      options: values given as options, by name.
      without: keys that cannot be given.

    Raises:
      ExperimentError: a key is unknown or given twice, or has no value.
      GaitError: both a kind of cost and weights are given.
    """
    changes = values_of(GaitConfiguration, words, options, without=without)
    for key in PATHS:
        value = changes.get(key)
        if isinstance(value, tuple):
            changes[key] = tuple(path_or_word(str(path)) for path in value)
        elif value is not None:
            changes[key] = path_or_word(str(value))
    if "cost" in changes:
        changes["cost"] = str(changes["cost"]).lstrip("-")
        if changes.get("weights"):
            raise GaitError(f"cost {changes['cost']!r} has its own weights; remove cost or weights")
    return changes


def with_cost(words: Sequence[str]) -> list[str]:
    """The words of a command with MyoAssist's ``-eff``, ``-vel``, ... replaced by ``--cost KIND``.

    Raises:
      GaitError: several kinds of cost are given.
    """
    flags = [word for word in words if word.startswith("-") and word.lstrip("-") in COSTS]
    kinds = {word.lstrip("-") for word in flags}
    kinds |= {words[i + 1] for i, word in enumerate(words[:-1]) if word == "--cost"}
    if len({kind.lstrip("-") for kind in kinds}) > 1:
        raise GaitError(f"costs {listing(sorted(kinds))} exclude each other; give one of them")
    others = [word for word in words if word not in flags]
    return [*others, "--cost", flags[0].lstrip("-")] if flags else others


def current_options(command: Any) -> dict[str, Any]:
    """Values of the given options of a command, by key of a configuration."""
    return given(command, GaitConfiguration)


@dataclass(frozen=True, kw_only=True)
class WalkOfTarget(OfRuns):
    """Walk of a run, or of a vector with a configuration."""

    KEYS: ClassVar[type] = GaitConfiguration
    WITHOUT: ClassVar[tuple[str, ...]] = ("says", *OF_SEARCHES)

    target: Annotated[Positional[Path], arg(metavar="RUN|FILE")]
    """Run directory, or a file with a vector such as *_Best.txt."""
    keys: Keys = ()
    config: Annotated[str | None, arg(metavar="CONFIG")] = None
    """Configuration of a vector, by name or file."""
    threads: Annotated[int, arg(metavar="INT")] = 0
    """Simulation threads; 0 uses all cores."""

    @property
    def walk(self) -> Any:
        """The selected walk."""
        from trueup.gait.search.given_walks import given_walk

        changes = changes_of(self.keys, without=self.WITHOUT)
        return given_walk(self.target, self.config, changes, self.threads, anyway=self.anyway)
