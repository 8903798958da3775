"""Made-up walks, whose costs are known."""

from dataclasses import replace

import numpy as np

from trueup.gait import Curve, WalkObjective
from trueup.gait.costs.reference import GaitReference
from trueup.gait.models.anatomy import myoassist_anatomy
from trueup.gait.walk.frames import FRAME
from trueup.gait.walk.records import WalkRecords

MUSCLES = ("soleus_r", "edl_r", "soleus_l", "edl_l")
PERIOD = 1.1
MASS = 80.0


def walk(rate=100, duration=10.0, speed=1.25, lame=0.0, activation=0.3, over=0.4):
    """A made-up walk: the left leg does what the right one does, half a cycle later."""
    time = np.arange(1, round(duration * rate) + 1) / rate
    frames = np.zeros((1, len(time), len(FRAME) + len(MUSCLES)))
    columns = {"time": time, "x": speed * time, "z": np.full(len(time), 0.9)}
    columns["torso_pitch"] = np.full(len(time), 0.15)
    for side, shift in (("r", 0.0), ("l", 0.5)):
        phase = (time / PERIOD + shift + 0.3) % 1.0
        columns[f"load_{side}"] = np.where(phase < 0.6, 0.8 + over * (phase < 0.1), 0.0)
        columns[f"hip_{side}"] = np.pi - 0.4 * np.cos(2 * np.pi * phase)
        columns[f"knee_{side}"] = np.pi - 0.5 * (1 - np.cos(2 * np.pi * phase))
        columns[f"ankle_{side}"] = 0.5 * np.pi - 0.1 * np.sin(2 * np.pi * phase)
        columns[f"sole_{side}"] = np.where(phase < 0.6, 0.0, 0.05)
        columns[f"limit_knee_{side}"] = np.full(len(time), 4.0)
        columns[f"knee_y_{side}"] = np.full(len(time), -0.1 if side == "r" else 0.1)
        columns[f"soleus_{side}"] = activation * np.maximum(np.sin(2 * np.pi * phase), 0.0)
        columns[f"edl_{side}"] = np.full(len(time), activation)
    columns["knee_x_r"] = np.full(len(time), lame)
    names = (*FRAME, *MUSCLES)
    for name, values in columns.items():
        frames[0, :, names.index(name)] = values
    return WalkRecords(
        frames=frames,
        length=np.array([len(time)]),
        ended=np.array([0]),
        invalid={},
        period=1.0 / rate,
        muscles=MUSCLES,
        mass=MASS,
    )


def cut(records, seconds):
    frames = round(seconds / records.period)
    return replace(records, length=np.array([frames]), ended=np.array([1]))


def reference(**changes):
    phase = np.arange(100) / 100
    angles = {
        "hip": Curve(0.4 * np.cos(2 * np.pi * phase)),
        "knee": Curve(0.5 * (1 - np.cos(2 * np.pi * phase))),
        "ankle": Curve(0.1 * np.sin(2 * np.pi * phase)),
        "trunk": Curve(np.full(100, 0.15)),
    }
    emg = {"SOL": Curve(0.3 * np.maximum(np.sin(2 * np.pi * phase), 0.0))}
    return GaitReference("made up", 1.25, {**angles, **changes}, emg)


def costs(records, duration=10.0, **options):
    objective = WalkObjective(**{"reference": reference(), **options})
    found = objective.costs(records, myoassist_anatomy(), duration)
    return float(found.total[0]), {name: float(value[0]) for name, value in found.terms.items()}
