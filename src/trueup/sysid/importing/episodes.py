"""Episodes of the data sets among the logs of an import."""

from collections.abc import Sequence
from pathlib import Path

from trueup.errors import RecordingError, listing
from trueup.signals import read_all
from trueup.signals.readers.lerobot import is_lerobot

_MOST = 50  # episodes that are imported without being named


def expanded(logs: Sequence[Path], episodes: Sequence[int]) -> tuple[list[Path], list[int | None]]:
    """Logs with a data set once per episode, and the episode of each; None for other logs.

    Args:
      logs: files and folders.
      episodes: indices of episodes; empty for all.

    Raises:
      RecordingError: an episode that does not exist, episodes of logs that are no data sets, or
        more episodes than are imported without being named.
    """
    paths: list[Path] = []
    numbers: list[int | None] = []
    sets = [path for path in logs if path.is_dir() and is_lerobot(path)]
    if episodes and not sets:
        raise RecordingError(
            f"{listing(str(p) for p in logs)} has no episodes: --episode is for LeRobot data sets; "
            "remove it"
        )
    for path in logs:
        if path not in sets:
            paths.append(path)
            numbers.append(None)
            continue
        has = [int(str(r.metadata["episode_index"])) for r in read_all(path)]
        if missing := [n for n in episodes if n not in has]:
            absent = ", ".join(map(str, missing))
            raise RecordingError(
                f"{path} has no episode {absent}: it has {len(has)} episodes, {min(has)} to "
                f"{max(has)}. Give others with --episode"
            )
        chosen = list(dict.fromkeys(episodes)) or has
        if len(chosen) > _MOST and not episodes:
            raise RecordingError(
                f"{path} has {len(has)} episodes, {min(has)} to {max(has)}: give those to import "
                f"with --episode, such as --episode {has[0]} {has[1]}; without it at most {_MOST} "
                "are imported"
            )
        paths += [path] * len(chosen)
        numbers += chosen
    return paths, numbers
