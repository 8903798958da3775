"""Coverage of confidence intervals: Monte-Carlo repeats on a spring-mass-damper.

A mass of 1 kg on a spring of 100 N/m with a damper of 5 N s/m is driven by two tones (5 N at
1.5 Hz, 3 N at 3.7 Hz); position and velocity are recorded every 2 ms with noise. Each repeat draws
new noise, refits the parameters by Gauss-Newton and checks whether each interval covers the true
value. For comparison: the classical formula (one variance, white noise), which
``mujoco.sysid.calculate_intervals`` uses.

Noise is 5 % of each channel's spread: white; AR(1) with rho 0.95; white and twice as large while
the mass moves faster than its median speed; and both together.

    python benchmarks/interval_coverage.py                 # bar: 1000 repeats, 1500 samples
    python benchmarks/interval_coverage.py --samples 750 --seed 5 --method newey_west
"""

import argparse
import itertools
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from trueup.fitting.judgement._whiteness import heteroscedasticity
from trueup.fitting.uncertainty import SequenceFit, estimate_covariance

TIME_STEP = 0.002
TRUE_VALUES = {"mass": 1.0, "stiffness": 100.0, "damping": 5.0}
NOISE_SHARE = 0.05
CORRELATION = 0.95
NOISES = ("white", "ar1", "moving", "ar1_moving")
TARGETS = {"white": (93.0, 97.0), "ar1": (89.0, 97.0)}


@dataclass(frozen=True)
class Case:
    """One column of the study: which parameters are free, which noise, how many samples."""

    free: tuple[str, ...]
    noise: str
    samples: int
    method: str
    seed: int


def two_tone_force(samples: int) -> np.ndarray:
    """Return the force at each step [N]."""
    t = np.arange(samples) * TIME_STEP
    return 5.0 * np.sin(2.0 * np.pi * 1.5 * t) + 3.0 * np.sin(2.0 * np.pi * 3.7 * t)


def filtered(numerator, denominator, signal: np.ndarray) -> np.ndarray:
    """Run a rational filter along the first axis."""
    return np.asarray(lfilter(numerator, denominator, signal, axis=0))


def response(values: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Simulate from rest, exactly as semi-implicit Euler with implicit damping would.

    ``(m + dt c) v' = m v + dt (f - k x)``, ``x' = x + dt v'`` is a linear recursion in x, hence a
    filter; its derivatives by m, k, c are the same filter with another input.

    Args:
        values: ``(3,)`` mass [kg], stiffness [N/m], damping [N s/m].
        force: ``(T,)`` [N].

    Returns:
        Position and velocity ``(T, 2)`` [m, m/s] and their derivatives ``(T, 2, 3)``.
    """
    mass, stiffness, damping = values
    dt = TIME_STEP
    total = mass + dt * damping
    carry, gain = mass / total, dt * dt / total
    denominator = np.array([1.0, gain * stiffness - 1.0 - carry, carry])
    position = filtered([0.0, gain], denominator, force)
    signals = [position]
    for d_total, d_mass, d_stiffness in ((1.0, 1.0, 0.0), (0.0, 0.0, 1.0), (dt, 0.0, 0.0)):
        d_carry = d_mass / total - mass * d_total / total**2
        d_gain = -gain * d_total / total
        d_denominator = [0.0, d_gain * stiffness + gain * d_stiffness - d_carry, d_carry]
        drive = filtered([0.0, d_gain], [1.0], force) - filtered(d_denominator, [1.0], position)
        signals.append(filtered([1.0], denominator, drive))
    positions = np.array(signals)
    velocities = np.diff(positions, axis=1, prepend=0.0) / dt
    both = np.stack([positions, velocities], axis=-1)
    return both[0], np.moveaxis(both[1:], 0, -1)


def draw_noise(case: Case, repeat: int, clean: np.ndarray) -> np.ndarray:
    """Return noise ``(T, 2)``: 5 % of each channel's spread, of the kind the case names."""
    rng = np.random.default_rng([case.seed, NOISES.index(case.noise), repeat])
    settle = 400
    noise = rng.standard_normal((case.samples + settle, 2))
    if case.noise.startswith("ar1"):
        noise = filtered([np.sqrt(1.0 - CORRELATION**2)], [1.0, -CORRELATION], noise)
    noise = noise[settle:]
    if case.noise.endswith("moving"):
        speed = np.abs(clean[:, 1])
        noise = noise * np.where(speed > np.median(speed), 2.0, 1.0)[:, None]
    return NOISE_SHARE * clean.std(axis=0) * noise


def refit(
    measured: np.ndarray, force: np.ndarray, columns: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit by Gauss-Newton from 20 % off; returns the values, residuals and Jacobian."""
    values = np.array(list(TRUE_VALUES.values()))
    values[columns] *= 1.2
    for _ in range(20):
        predicted, sensitivity = response(values, force)
        residual = (measured - predicted) / scale
        jacobian = -sensitivity[:, :, columns] / scale[:, None]
        flat = jacobian.reshape(-1, len(columns))
        step = -np.linalg.lstsq(flat, residual.ravel(), rcond=None)[0]
        values[columns] += step
        if np.all(np.abs(step) < 1e-8 * np.abs(values[columns])):
            break
    predicted, sensitivity = response(values, force)
    return values, (measured - predicted) / scale, -sensitivity[:, :, columns] / scale[:, None]


def one_repeat(case: Case, repeat: int) -> dict[str, np.ndarray | str | bool]:
    """Return which intervals held the truth, and their half-widths, for one draw of noise."""
    truth = np.array(list(TRUE_VALUES.values()))
    columns = np.array([list(TRUE_VALUES).index(name) for name in case.free])
    force = two_tone_force(case.samples)
    clean, _ = response(truth, force)
    scale = clean.std(axis=0)
    measured = clean + draw_noise(case, repeat, clean)
    values, residuals, jacobian = refit(measured, force, columns, scale)
    error = (values - truth)[columns]
    fit = [SequenceFit(residuals, jacobian, "record", ("position", "velocity"))]
    ours = estimate_covariance(fit, case.method, names=case.free)
    classical = estimate_covariance(fit, "classical", names=case.free)
    sizes = heteroscedasticity(residuals, clean[:, 1], driver_name="speed")
    return {
        "error": error,
        "half_widths": ours.half_widths,
        "classical_half_widths": classical.half_widths,
        "dof": ours.dof,
        "method": ours.method,
        "uneven": any(not test.constant for test in sizes),
    }


def run_repeats(case: Case, repeats: range) -> dict:
    """Run some repeats of a case and return their figures as arrays."""
    rows = [one_repeat(case, repeat) for repeat in repeats]
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


def summarise(case: Case, figures: dict) -> dict:
    """Return coverage [%] and mean half-widths for each parameter of a case."""
    error = np.abs(figures["error"])
    ours, classical = figures["half_widths"], figures["classical_half_widths"]
    return {
        "free": list(case.free),
        "noise": case.noise,
        "samples": case.samples,
        "method": case.method,
        "repeats": len(error),
        "coverage": (100.0 * np.mean(error <= ours, axis=0)).round(2).tolist(),
        "classical_coverage": (100.0 * np.mean(error <= classical, axis=0)).round(2).tolist(),
        "actual_deviation": error_deviation(figures["error"]),
        "mean_half_width": np.mean(ours, axis=0).tolist(),
        "classical_mean_half_width": np.mean(classical, axis=0).tolist(),
        "median_dof": np.median(figures["dof"], axis=0).round(1).tolist(),
        "chosen": {
            str(name): int(count)
            for name, count in zip(*np.unique(figures["method"], return_counts=True))
        },
        "size_change_reported": round(100.0 * float(np.mean(figures["uneven"])), 2),
        "target": TARGETS.get(case.noise),
    }


def error_deviation(error: np.ndarray) -> list[float]:
    """Return the actual standard deviation of the estimates, ``(p,)``."""
    return np.std(error, axis=0).tolist()


def coverage_study(
    repeats: int = 1000,
    samples: int = 1500,
    seed: int = 1,
    method: str = "auto",
    noises: tuple[str, ...] = NOISES,
    workers: int = 1,
) -> list[dict]:
    """Return the summary of each case: one and three free parameters under each noise."""
    results = []
    for free in (("mass",), tuple(TRUE_VALUES)):
        for noise in noises:
            case = Case(free, noise, samples, method, seed)
            if workers == 1:
                parts = [run_repeats(case, range(repeats))]
            else:
                edges = np.linspace(0, repeats, 4 * workers + 1).astype(int)
                ranges = [range(a, b) for a, b in itertools.pairwise(edges) if b > a]
                with ProcessPoolExecutor(workers) as pool:
                    parts = list(pool.map(run_repeats, [case] * len(ranges), ranges))
            figures = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
            results.append(summarise(case, figures))
    return results


def table(results: list[dict]) -> str:
    """Return the results as text, a line for each parameter of each case."""
    head = (
        f"{'noise':<12}{'free':>5} {'parameter':<10}{'coverage %':>11}{'classical %':>12}"
        f"{'target':>9}{'half-width':>12}{'1.96 sd':>10}{'dof':>8}  size change reported"
    )
    lines = [head, "-" * len(head)]
    for row in results:
        for i, name in enumerate(row["free"]):
            target = f"{row['target'][0]:.0f}-{row['target'][1]:.0f}" if row["target"] else "report"
            lines.append(
                f"{row['noise']:<12}{len(row['free']):>5} {name:<10}{row['coverage'][i]:>11.1f}"
                f"{row['classical_coverage'][i]:>12.1f}{target:>9}"
                f"{row['mean_half_width'][i]:>12.4g}{1.96 * row['actual_deviation'][i]:>10.4g}"
                f"{row['median_dof'][i]:>8.0f}  {row['size_change_reported']:.1f} %"
            )
    return "\n".join(lines)


def main() -> int:
    """Run the study, print its table, write JSON; exit code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--method", default="auto")
    parser.add_argument("--noise", nargs="+", choices=NOISES, default=list(NOISES))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=Path("interval_coverage.json"))
    options = parser.parse_args()
    start = time.perf_counter()
    results = coverage_study(
        options.repeats,
        options.samples,
        options.seed,
        options.method,
        tuple(options.noise),
        options.workers,
    )
    seconds = time.perf_counter() - start
    print(table(results))
    missed = [
        f"{name} ({row['noise']}, {len(row['free'])} free): {value:.1f} %"
        for row in results
        if row["target"]
        for name, value in zip(row["free"], row["coverage"])
        if not row["target"][0] <= value <= row["target"][1]
    ]
    print(f"{options.repeats} repeats of {options.samples} samples in {seconds:.0f} s")
    print("outside the target: " + ("; ".join(missed) if missed else "none"))
    report = {
        "seed": options.seed,
        "samples": options.samples,
        "seconds": round(seconds, 1),
        "results": results,
        "missed": missed,
    }
    options.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"written to {options.output}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
