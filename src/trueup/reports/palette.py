"""The colours of a report, light and dark, as CSS variables and as tokens in figures.

The series colours are those of Okabe and Ito (Color Universal Design, 2008), darkened or lightened
for contrast with the background; the order of the "other" series follows the same set.
A figure names a colour by its token, ``"@fitted"``, which the page's script replaces by the colour
of the current theme.
"""

LIGHT = {
    "paper": "#fdfdfc",
    "surface": "#f4f5f3",
    "ink": "#191d21",
    "muted": "#59616a",
    "line": "#dadedb",
    "grid": "#e7eae8",
    "accent": "#0b5d9c",
    "good": "#17774a",
    "info": "#0b5d9c",
    "warning": "#8a5a00",
    "serious": "#b3261e",
    "measured": "#88909a",
    "fitted": "#0072b2",
    "initial": "#c45a00",
    "residual": "#00755a",
    "trivial": "#a34a87",
    "series-1": "#0072b2",
    "series-2": "#c45a00",
    "series-3": "#00755a",
    "series-4": "#a34a87",
    "series-5": "#7a6a00",
    "series-6": "#3b7ea1",
    "series-7": "#6b4fa0",
    "track": "#d5dad7",
    "shade": "#eceee9",
    "negative": "#c45a00",
    "positive": "#0072b2",
    "middle": "#f4f5f3",
    "on-strong": "#ffffff",
}

DARK = {
    "paper": "#14171a",
    "surface": "#1d2125",
    "ink": "#e8eaec",
    "muted": "#a1a9b2",
    "line": "#33393f",
    "grid": "#272c31",
    "accent": "#6cb6ef",
    "good": "#62c997",
    "info": "#6cb6ef",
    "warning": "#e2b04a",
    "serious": "#ff8d82",
    "measured": "#858e98",
    "fitted": "#4fb0ea",
    "initial": "#f0974a",
    "residual": "#45c3a0",
    "trivial": "#dc92c1",
    "series-1": "#4fb0ea",
    "series-2": "#f0974a",
    "series-3": "#45c3a0",
    "series-4": "#dc92c1",
    "series-5": "#e3d24f",
    "series-6": "#9ecbe0",
    "series-7": "#b3a1e6",
    "track": "#3a4147",
    "shade": "#22272b",
    "negative": "#f0974a",
    "positive": "#4fb0ea",
    "middle": "#22272b",
    "on-strong": "#101315",
}

OTHER_SERIES = tuple(f"series-{number}" for number in range(1, 8))


def css_variables(colours: dict[str, str]) -> str:
    """Return the colours as CSS declarations ``--name: value;``."""
    return " ".join(f"--{name}: {value};" for name, value in colours.items())
