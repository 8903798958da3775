"""Names of time columns, and the units in them."""

import re

# Usual names of a time column, most likely first.
_TIME_NAMES = (
    *("t", "time", "times", "timestamp", "timestamps", "time_stamp", "stamp"),
    *("sec", "secs", "second", "seconds", "elapsed", "elapsed_time", "rostime", "clock"),
    # counters of microcontrollers: a name that is a unit
    *("micros", "millis", "nanos", "usec", "msec", "nsec", "us", "ms", "ns"),
    *("microseconds", "milliseconds", "nanoseconds", "uptime", "time_boot"),
)
_TIME_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "seconds"), "s"),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "usec", "micros", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nsec", "nanos", "nanoseconds"), "ns"),
}
_SECONDS = ("sec", "secs")
_NANOSECONDS = ("nanosec", "nsec", "nsecs", "nanosecs")


def time_rank(name: str) -> int | None:
    """Rank of a usual name of a time column, 0 for the most likely; None for any other name."""
    plain, _ = _split_unit(name)
    return _TIME_NAMES.index(plain) if plain in _TIME_NAMES else None


def unit_in_name(name: str) -> str | None:
    """Unit of time that a name states: ms for ``time_ms``, us for ``micros``."""
    return _split_unit(name)[1]


def fraction_of(name: str, others: list[str]) -> str | None:
    """The column of nanoseconds that belongs to a column of whole seconds, as in a ROS stamp."""
    group, _, last = name.rpartition("/")
    if last.lower() not in _SECONDS:
        return None
    for other in others:
        around, _, end = other.rpartition("/")
        if around == group and end.lower() in _NANOSECONDS:
            return other
    return None


def _split_unit(name: str) -> tuple[str, str | None]:
    """Split ``Time [ms]``, ``time_ms`` or ``time (ms)`` into its plain name and its unit."""
    # PlotJuggler writes __time
    plain = name.rsplit("/", 1)[-1].strip().lower().replace("µ", "u").lstrip("_")
    match = re.fullmatch(r"(.+?)[\s_.-]*[\[(]\s*(\w+)\s*[\])]", plain)
    match = match or re.fullmatch(r"(.+)[\s_.-]([a-z]+)", plain)
    if match and match[2] in _TIME_UNITS:
        return re.sub(r"[\s.-]+", "_", match[1]), _TIME_UNITS[match[2]]
    unit = _TIME_UNITS.get(plain) if plain not in ("s", "sec", "secs", "seconds") else None
    return re.sub(r"[\s.-]+", "_", plain), unit
