"""PNG files drawn by matplotlib without a window system."""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from trueup.errors import MissingExtraError, ReportError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_RESOLUTION = 120  # dots per inch


def new_figure(size: tuple[float, float], *, tight: bool = True) -> "Figure":
    """Empty figure that requires no window system.

    Args:
        size: width and height [inches].
        tight: fit the margins to the texts, which takes seconds for many axes.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("drawing PNG files", "plots", "matplotlib") from error
    figure = Figure(figsize=size, layout="constrained" if tight else None, dpi=_RESOLUTION)
    FigureCanvasAgg(figure)
    return figure


def save_png(figure: "Figure", path: Path) -> None:
    """Write a figure atomically; create missing folders.

    Raises:
        ReportError: the file cannot be written.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(partial, format="png")
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise ReportError(
            f"cannot write the image '{path}': {error.strerror or error}. Choose another path or "
            "free space in the folder"
        ) from error


def numbered_paths(path: str | os.PathLike[str], count: int) -> list[Path]:
    """Paths of one or more files: ``plot.png``, ``plot-2.png``, ..."""
    path = Path(path)
    if path.suffix.lower() != ".png":
        path = path.with_name(path.name + ".png")
    return [path, *(path.with_name(f"{path.stem}-{n}{path.suffix}") for n in range(2, count + 1))]
