"""False alarms of the checks of recordings on clean logs of known machines.

    python benchmarks/data_checks.py --seeds 0 30

Each right model of the bank (`benchmarks/bank`) is recorded without a fault, and changed as real
logs are: quantised to 12 and 14 bits, slow, without noise, with resting phases, printed with few
digits. Whatever the checks find in them beyond information is a false alarm.
"""

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bank.recorder import Log, record
from bank.right_models import lost_frames, situations, spikes
from trueup.signals import check_quality
from trueup.signals.checks.finding import Finding

CHECKED = ("wrapping", "copy", "spikes", "stale", "stuck", "lag", "position-velocity", "time order")

Change = Callable[[Log, np.random.Generator], Log]


def rounded(bits: int) -> Change:
    """Encoders of some bits, and velocities that a drive computes from them."""

    def change(log: Log, rng: np.random.Generator) -> Log:
        del rng
        step = 2 * np.pi / 2**bits
        return replace(log, position=np.round(log.position / step) * step)

    return change


def noise_free(log: Log, rng: np.random.Generator) -> Log:
    """Positions and their slopes without noise."""
    del rng
    speed = np.gradient(log.clean, log.time, axis=0)
    return replace(log, position=log.clean, velocity=speed)


def resting(log: Log, rng: np.random.Generator) -> Log:
    """An encoder that shows exactly the same count while the joint rests, and no velocity."""
    count = len(log.time)
    where = np.arange(count)
    for begin in rng.uniform(0, 0.8, 3) * count:
        inside = (where >= begin) & (where < begin + 0.15 * count)
        where[inside] = int(begin)
        where[where > begin + 0.15 * count] -= int(0.15 * count)
    position = rounded(14)(log, rng).position[np.maximum(where, 0)]
    speed = log.velocity[np.maximum(where, 0)]
    still = np.diff(position, axis=0, prepend=np.nan) == 0
    return replace(
        log, position=position, velocity=np.where(still, 0.0, speed), command=log.command[where]
    )


def slow(log: Log, rng: np.random.Generator) -> Log:
    """The same motion, twenty times slower and smaller, by an encoder of 12 bits."""
    step = 2 * np.pi / 4096
    still = rounded(12)(replace(log, position=0.05 * log.clean), rng)
    noise = 2e-3 * rng.normal(size=log.velocity.shape)
    speed = 0.05 * np.gradient(log.clean, log.time, axis=0) + noise
    return replace(still, position=np.round(still.position / step) * step, velocity=speed)


def ticks(log: Log, rng: np.random.Generator) -> Log:
    """An encoder of 12 bits, with a velocity that is computed from its last 8 samples."""
    out = rounded(12)(log, rng)
    step = float(np.median(np.diff(log.time)))
    late = np.vstack([np.repeat(out.position[:1], 8, axis=0), out.position[:-8]])
    return replace(out, velocity=(out.position - late) / (8 * step))


def printed(log: Log, rng: np.random.Generator) -> Log:
    """Four decimals."""
    del rng
    return replace(log, position=np.round(log.position, 4), velocity=np.round(log.velocity, 3))


CHANGES: dict[str, Change] = {
    "as recorded": lambda log, rng: log,
    "12 bits": rounded(12),
    "14 bits": rounded(14),
    "noise-free": noise_free,
    "resting": resting,
    "slow": slow,
    "velocity of ticks": ticks,
    "printed": printed,
}


def findings(log: Log, joints: list[str], drive: str) -> list[Finding]:
    """Findings of a log beyond information."""
    channels, roles, targets = {}, {}, {}
    for k, joint in enumerate(joints):
        for name, values, role in (
            (f"{joint} q", log.position, "position"),
            (f"{joint} v", log.velocity, "velocity"),
            (f"{joint} u", log.command, "control"),
        ):
            channels[name], roles[name] = values[:, k], role
        if drive == "servo":
            targets[f"{joint} u"] = f"{joint} q"
    pairs = [(f"{j} q", f"{j} v") for j in joints]
    report = check_quality(
        log.time, channels, roles=roles, pairs=pairs, targets=targets, responses=targets
    )
    return [f for f in report.findings if f.severity != "info" and f.check in CHECKED]


def main() -> None:
    """Count the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 3), metavar=("FIRST", "END"))
    parser.add_argument("--published", action="store_true", help="include published robots")
    parser.add_argument("--show", action="store_true", help="print each finding")
    given = parser.parse_args()
    alarms: dict[str, Counter[str]] = {name: Counter() for name in CHANGES}
    logs: Counter[str] = Counter()
    for situation in situations():
        if situation.plant in (lost_frames, spikes):
            continue  # not clean
        if situation.machines[0] in ("fr3", "z1", "hc20", "iiwa14") and not given.published:
            continue
        for seed in range(*given.seeds):
            setup, rng = situation.make(0, seed)
            log = record(setup.machine, setup.motion, setup.wiring, rng, setup.noise)
            for name, change in CHANGES.items():
                if name == "as recorded" or situation.name == "plain":
                    found = findings(change(log, rng), list(setup.machine.joints), situation.drive)
                    logs[name] += 1
                    alarms[name].update({f.check for f in found})
                    for f in found if given.show else ():
                        print(f"{situation.drive} {situation.name} {seed} {name}: {f.sentence}")
    for name in CHANGES:
        counts = ", ".join(f"{check} {n}" for check, n in sorted(alarms[name].items()))
        print(f"{name:20}{logs[name]:5} logs   {counts or 'no finding'}")


if __name__ == "__main__":
    main()
