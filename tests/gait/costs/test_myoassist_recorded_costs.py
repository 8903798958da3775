"""Costs of a recorded walk of 20 s: all kinds, EMG included, are those of MyoAssist."""

import numpy as np
import pytest
from mujoco.batch import Batch

from trueup.gait import MyoAssistCost, WalkSettings
from trueup.gait.costs.myoassist import read_myoassist_emg, read_myoassist_kinematics
from trueup.gait.walk.frames import FRAME
from trueup.gait.walk.records import WalkRecords


def activations(ctrl, first, muscles):
    """Activations after each control step, by MuJoCo's activation dynamics [0.01 s, 0.04 s]."""
    drive = np.empty((len(ctrl), len(muscles)))
    drive[:, muscles["act"]] = np.clip(ctrl[:, muscles["ctrl"]], 0.0, 1.0)
    act, found = first.copy(), np.empty_like(drive)
    for i, u in enumerate(drive):
        for _ in range(10):
            scale = 0.5 + 1.5 * np.clip(act, 0.0, 1.0)
            act = act + 0.001 * (u - act) / np.where(u > act, 0.01 * scale, 0.04 / scale)
        found[i] = act
    return found


@pytest.fixture(scope="module")
def recorded_walk(tutorial_walker, golden):
    """Frames of the recorded states; the loads are the recorded ones."""
    recorded, _ = golden("3.3.3")
    body = tutorial_walker.body_map(())
    part, muscles = body.parts[0], body.muscles
    n = len(recorded["time"])
    act = activations(recorded["ctrl"], recorded["act0"], muscles)
    batch = Batch(tutorial_walker.model, n, 1)
    for name, values in {**recorded, "act": act}.items():
        if name in ("qpos", "qvel", "act", "ctrl"):
            batch.bind(name)[:] = values
    sensed, xpos, xquat, anchor = map(batch.bind, ("sensordata", "xpos", "xquat", "xanchor"))
    batch.forward()
    touch = sensed[:, part["touch"]] / part["weight"]
    frames = np.zeros((1, n, len(FRAME) + len(muscles)))
    pelvis, quat = xpos[:, part["pelvis"]], xquat[:, part["torso"]]

    def put(name, values):
        frames[0, :, FRAME.index(name)] = values

    put("time", np.round(recorded["time"], 4))
    frames[0, :, 1:4] = pelvis
    put("torso_pitch", np.arcsin(2.0 * (quat[:, 0] * quat[:, 2] - quat[:, 3] * quat[:, 1])))
    for leg, side in enumerate("rl"):
        hip, knee, ankle, _ = recorded["qpos"][:, part["qpos"][leg]].T
        put(f"hip_{side}", np.pi - hip)
        put(f"knee_{side}", np.pi + knee)
        put(f"ankle_{side}", 0.5 * np.pi - ankle)
        put(f"heel_{side}", touch[:, leg, 0])
        load = touch[:, leg].sum(axis=1)
        load[:-1] = recorded[f"sensor/{side}_leg/load_ipsi"][1:]
        put(f"load_{side}", load)
        for name in ("knee", "ankle"):
            place = FRAME.index(f"{name}_x_{side}")
            joint = anchor[:, part[f"{name}_joint"][leg]]
            frames[0, :, place : place + 3] = joint - pelvis
    frames[0, :, len(FRAME) :] = act[:, muscles["act"]]
    length, ended = np.array([n]), np.array([0])
    names, mass = tutorial_walker.muscle_names, tutorial_walker.mass
    return WalkRecords(frames, length, ended, {}, 0.01, names, mass)


@pytest.mark.parametrize(
    ("kind", "scalar"),
    [
        ("Effort", 30.049),
        ("Velocity", 10027.763),
        ("Vel_grf", 41.99430),
        ("Classic", 41.880),
        ("Kine", 150.117193),
        ("Kine_grf_musc", 391.17916),
    ],
)
def test_scalars(kind, scalar, recorded_walk, recorded_data, tutorial_vector, tutorial_walker):
    folder = recorded_data / "gait_norms/myoassist"
    cost = MyoAssistCost(
        kind,
        kinematics=read_myoassist_kinematics(folder / "ref_kinematics_radians.csv"),
        emg=read_myoassist_emg(folder / "ref_EMG.csv"),
    )
    terms = cost.terms(recorded_walk, tutorial_walker.anatomy)
    settings = WalkSettings(duration=20.0, delayed=False, compat=True)
    found = cost.scalars(tutorial_vector[None], recorded_walk, terms, settings)[0]
    assert found == pytest.approx(scalar, rel=2e-5 if kind in ("Effort", "Classic") else 2e-7)
    assert terms["emg"][0] == pytest.approx(240.94755, rel=1e-7)
