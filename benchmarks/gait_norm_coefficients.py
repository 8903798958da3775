"""Fourier coefficients of the norm of adult walking, from curves that were read off figures.

The curves are those of walking in Grimmer and Seyfarth 2014 (CC0): angular velocities and moments
of hip, knee and ankle over the gait cycle. Angles are integrals of the velocities, whose mean is
left out, so that they are periodic; they start from the angle at touch-down.

    python benchmarks/gait_norm_coefficients.py $TRUEUP_DATA/gait_norms/grimmer2014_walking

prints the ``joints`` of ``src/trueup/gait/costs/adult_walking.yaml``.
"""

import argparse
from pathlib import Path

import numpy as np

PERIOD = 1.117
"""Time of a stride [s]: two steps at 107.4 steps a minute, the cadence of people at 1.25 m/s."""

HARMONICS = 10
TOUCH_DOWN = {"hip": 20.0, "knee": 5.0, "ankle": 0.0}
"""Angle at touch-down, flexion and dorsiflexion positive [deg] (Perry and Burnfield 2010)."""

RANGES = {"hip": 40.0}
"""Range of motion [deg] where the curves have another one (Perry and Burnfield 2010): the hip's
velocities give 29 degrees."""


def coefficients(table: np.ndarray) -> np.ndarray:
    """Mean, then cosine and sine of each harmonic, of a curve (percent, value) by least squares."""
    phase = 2.0 * np.pi * table[:, 0] / 100.0
    waves = [f(k * phase) for k in range(1, HARMONICS + 1) for f in (np.cos, np.sin)]
    basis = np.stack([np.ones_like(phase), *waves], axis=1)
    found, *_ = np.linalg.lstsq(basis, table[:, 1], rcond=None)
    return found


def values(found: np.ndarray, points: int = 200) -> np.ndarray:
    """Curve of coefficients over the cycle."""
    phase = 2.0 * np.pi * np.arange(points) / points
    waves = [f(k * phase) for k in range(1, HARMONICS + 1) for f in (np.cos, np.sin)]
    return found[0] + found[1:] @ np.stack(waves)


def angle_of(velocity: np.ndarray, joint: str) -> np.ndarray:
    """Coefficients of an angle [deg], from those of its velocity, extension positive [deg/s]."""
    rate = 2.0 * np.pi * np.arange(1, HARMONICS + 1) / PERIOD
    angle = np.zeros_like(velocity)
    angle[1::2], angle[2::2] = velocity[2::2] / rate, -velocity[1::2] / rate  # flexion positive
    if joint in RANGES:
        angle *= RANGES[joint] / np.ptp(values(angle))
    angle[0] = TOUCH_DOWN[joint] - values(angle)[0]
    return angle


def main() -> None:
    """Print the coefficients."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the curves")
    folder = parser.parse_args().folder
    for joint in ("hip", "knee", "ankle"):
        stem = joint.capitalize()
        tables = [
            np.loadtxt(folder / f"{stem}_{name}.txt", delimiter=",")
            for name in ("Angle_Velocity", "Torque")
        ]
        velocity, moment = map(coefficients, tables)
        print(f"  {joint}:")
        for name, found in (("angle", angle_of(velocity, joint)), ("moment", moment)):
            digits = 3 if name == "angle" else 4
            print(f"    {name}: [{', '.join(f'{value:.{digits}f}' for value in found)}]")


if __name__ == "__main__":
    main()
