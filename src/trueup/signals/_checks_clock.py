"""Quality checks of the clock: order, duplicates, gaps, jitter, length."""

import numpy as np

from trueup.signals._finding import Finding
from trueup.signals._samples import GAP_STEPS, Array

_FEWEST_SAMPLES = 10
_FEW_SAMPLES = 50
_JITTER_WORTH_A_WARNING = 0.05
_SHOWN = 6


def clock_is_usable(times: Array) -> bool:
    """Whether the times are finite and increase, so that intervals between them mean something."""
    return bool(times.size >= 2 and np.all(np.isfinite(times)) and np.all(np.diff(times) > 0))


def check_order(times: Array, first_line: int | None) -> list[Finding]:
    """Find times that are not finite, run backwards or occur twice."""
    word, offset = ("row", 1) if first_line is None else ("line", first_line)
    findings = []
    broken = np.flatnonzero(~np.isfinite(times))
    if broken.size:
        findings.append(
            Finding(
                "time order",
                "refuse",
                "",
                f"{broken.size} times are NaN or infinite, the first at {word} "
                f"{broken[0] + offset}: remove those rows.",
                {"count": float(broken.size), "first_index": float(broken[0])},
            )
        )
    with np.errstate(invalid="ignore"):
        steps = np.diff(times)
        backwards = np.flatnonzero(steps < 0)
        equal = np.flatnonzero(steps == 0) + 1
    if backwards.size:
        where = int(backwards[0])
        findings.append(
            Finding(
                "time order",
                "refuse",
                "",
                f"Time runs backwards {_times(backwards.size)}, first from {times[where]:.6g} s to "
                f"{times[where + 1]:.6g} s at {word} {where + 1 + offset}: split the recording "
                "there, or sort its rows.",
                {"count": float(backwards.size), "first_index": float(where + 1)},
            )
        )
    if equal.size:
        shown = ", ".join(str(index + offset) for index in equal[:_SHOWN])
        more = f" and {equal.size - _SHOWN} more" if equal.size > _SHOWN else ""
        plural = f"{word}s" if equal.size > 1 else word
        findings.append(
            Finding(
                "duplicate times",
                "refuse",
                "",
                f"{equal.size} of {times.size} times repeat the one before: {plural} "
                f"{shown}{more}; keep one row of each.",
                {"count": float(equal.size), "first_index": float(equal[0])},
            )
        )
    return findings


def check_length(times: Array) -> list[Finding]:
    """Find a recording that is too short to say anything."""
    count = times.size
    figures = {"count": float(count), "needed": float(_FEWEST_SAMPLES)}
    if count < _FEWEST_SAMPLES:
        sentence = f"The recording has {count} samples: at least {_FEWEST_SAMPLES} are needed."
        return [Finding("samples", "refuse", "", sentence, figures)]
    if count < _FEW_SAMPLES:
        sentence = f"The recording has only {count} samples: every number will be uncertain."
        return [Finding("samples", "warning", "", sentence, figures)]
    return []


def check_steps(times: Array) -> list[Finding]:
    """Describe the clock, find gaps, and measure jitter; the times increase."""
    steps = np.diff(times)
    typical = float(np.median(steps))
    duration = float(times[-1] - times[0])
    findings = [
        Finding(
            "clock",
            "info",
            "",
            f"{times.size} samples in {duration:.4g} s, one each {1e3 * typical:.4g} ms "
            f"({1.0 / typical:.4g} Hz).",
            {"count": float(times.size), "duration": duration, "median_step": typical},
        )
    ]
    long = np.flatnonzero(steps > GAP_STEPS * typical)
    if long.size:
        longest = int(long[np.argmax(steps[long])])
        lost = float(np.sum(steps[long]))
        findings.append(
            Finding(
                "gaps",
                "warning",
                "",
                f"{long.size} {'gap' if long.size == 1 else 'gaps'} of more than {GAP_STEPS:g} "
                f"steps, {lost:.3g} s together; the longest lasts {steps[longest]:.3g} s, from "
                f"{times[longest]:.6g} s.",
                {
                    "count": float(long.size),
                    "longest": float(steps[longest]),
                    "start_of_longest": float(times[longest]),
                    "total": lost,
                },
            )
        )
    regular = steps[steps <= GAP_STEPS * typical]
    spread = float(np.std(regular))
    largest = float(np.max(np.abs(regular - typical)))
    # Less than a thousandth of a step matters to nothing that is done with the samples.
    if largest > max(1e-3 * typical, 8.0 * float(np.spacing(np.max(np.abs(times))))):
        strong = spread > _JITTER_WORTH_A_WARNING * typical
        findings.append(
            Finding(
                "jitter",
                "warning" if strong else "info",
                "",
                f"The clock jitters: its steps differ from the median of {1e3 * typical:.4g} ms by "
                f"{1e3 * largest:.3g} ms at most (standard deviation {1e3 * spread:.3g} ms, "
                f"{100.0 * spread / typical:.2g} % of a step).",
                {"median_step": typical, "standard_deviation": spread, "largest": largest},
            )
        )
    return findings


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
