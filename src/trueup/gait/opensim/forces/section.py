"""Errors of the forces of converted muscles, in a page and in words."""

from collections.abc import Mapping

from trueup import reports
from trueup.gait.opensim.muscle_fit import CLOSE, SPEEDS, MuscleFit

_SAID = (
    "Force of the MuJoCo muscle compared with fibers and tendon of OpenSim (Thelen 2003, Millard "
    "et al. 2013, Schutte et al. 1993) at 20 lengths within the joint ranges, activations from "
    "0.1 to 1 and speeds from the largest of shortening (-1) to as fast lengthening (1), at a "
    "constant length of the tendon. MuJoCo's muscle has one curve of length and one "
    "of speed, made of parabolas. It cannot follow the hyperbola of force and speed, the damping "
    "of fibers, a largest speed that grows with activation, and the lengths at which a tendon "
    "that stretches, or the pennation, moves the largest force with activation. Its activation "
    "follows the excitation by the same equation and time constants; OpenSim's does not fall "
    "below its minimum, 0.01 by default."
)
_TENDON = (
    "Tendons of MuJoCo do not stretch. Those of the file are longer, and the fibers shorter, by "
    "the stretch at the largest isometric force, which the fitted lengths hold on average over the "
    "activations. The force of OpenSim rises later, by at least the time in which the fibers take "
    "up the stretch at their largest speed; energy that the tendon stores and returns is lost."
)


def forces_section(fits: Mapping[str, MuscleFit]) -> reports.Section:
    """Section on forces by speed, and on stretch of tendons, by muscle."""
    by_speed: list[reports.Column | str] = [
        "muscle",
        *(reports.Column(f"speed {speed:g}", "% rms", digits=2, align="right") for speed in SPEEDS),
        reports.Column("largest", "% of strength", digits=2, align="right"),
        reports.Column(f"within {100 * CLOSE:g} %", "% of the states", digits=2, align="right"),
    ]
    forces = [
        [
            name,
            *(100.0 * error for error in fit.speed_errors),
            100.0 * fit.force_error,
            100.0 * fit.share_close,
        ]
        for name, fit in fits.items()
    ]
    by_tendon: list[reports.Column | str] = [
        "muscle",
        reports.Column("stretch at the largest force", "mm", digits=3, align="right"),
        reports.Column("of the optimal fiber length", "%", digits=3, align="right"),
        reports.Column("force later by at least", "ms", digits=3, align="right"),
    ]
    tendons = [
        [name, 1e3 * fit.stretch, 100.0 * fit.stretch / fit.fiber, 1e3 * fit.delay]
        for name, fit in fits.items()
        if fit.stretch > 0.0
    ]
    content: list[reports.Content | str] = [reports.Table(by_speed, forces), _TENDON]
    content.append(reports.Table(by_tendon, tendons) if tendons else "All tendons are rigid.")
    return reports.Section("Forces and tendons", "forces", _SAID, content)


def force_words(fits: Mapping[str, MuscleFit]) -> list[str]:
    """Sentences on the forces and the tendons of all muscles."""
    if not fits:
        return []
    close = sum(fit.share_close for fit in fits.values()) / len(fits)
    said = [
        f"Forces of {100 * close:.0f} % of lengths, activations and speeds are within "
        f"{100 * CLOSE:g} % of the strength."
    ]
    name = max(fits, key=lambda one: fits[one].stretch)
    longest = fits[name]
    if longest.stretch > 0.0:
        said.append(
            f"Tendons of MuJoCo do not stretch: those of the file stretch by up to "
            f"{1e3 * longest.stretch:.1f} mm ({name}, {100 * longest.stretch / longest.fiber:.0f} "
            f"% of its fibers), and delay the force by at least "
            f"{1e3 * max(fit.delay for fit in fits.values()):.0f} ms."
        )
    return said
