"""The control step of walks on a device, on signals of the CPU, against the compiled one."""

from typing import Any

import numpy as np
import pytest
from warp_models import needs_warp

from trueup.errors import MissingExtraError
from trueup.gait.controller.exoskeleton import FourParameterProfile
from trueup.gait.models.terrain import Stairs
from trueup.gait.models.walker import Walker
from trueup.gait.walk.frames import ACTIVATIONS
from trueup.gait.walk.perturbations import Perturbations
from trueup.gait.walk.settings import WalkSettings
from trueup.gait.walk.simulation import WalkSimulation
from trueup.simulation.warp.devices import find_device, warp_modules

pytestmark = needs_warp

WALKS = 4


class Recorded:
    """Walks of the CPU, with all that the controllers read and write at each step."""

    def __init__(self, simulation: WalkSimulation, X: np.ndarray, perturbations=None):
        self.simulation, self.fields, self.controls = simulation, [], []
        self.started: Any = None

        def observe(tick, batch):
            fields = simulation._fields(batch)
            self.controls.append(np.array(fields.ctrl))
            self.fields.append({n: np.array(a) for n, a in fields._asdict().items()})

        own_start = simulation._start

        def start(batch, walks, *others):
            ids = own_start(batch, walks, *others)
            self.started = type(walks)(*(np.array(a) for a in walks))
            return ids

        simulation._start = start  # type: ignore[method-assign]
        self.records = simulation.run(X, observe=observe, perturbations=perturbations)
        self.frames = self.records.frames.copy()

    def replayed(self) -> tuple[np.ndarray, np.ndarray]:
        """Controls ``(steps, walks, controls)`` and frames of a device that reads the same."""
        from trueup.gait.walk import warp_kernel as w
        from trueup.gait.walk.warp_worlds import Controllers
        from trueup.simulation.warp.numba_text import array_of
        from trueup.simulation.warp.worlds import fill

        wp, _ = warp_modules()
        device = find_device("warp-cpu")
        assert device is not None and self.started is not None
        shared = Controllers(self.simulation, device)
        fields, walks = w.Fields(), w.Walks()
        for name, array in self.fields[0].items():
            kind = wp.int32 if name == "warning" else wp.float32
            setattr(fields, name, wp.zeros(array.shape, dtype=kind, device="cpu"))
        for name, array in self.started._asdict().items():
            if name == "disturbances":
                walks.disturbances = array_of(array, w.Disturbance, "cpu")
                continue
            kind = np.int32 if name == "status" else np.float32
            setattr(walks, name, wp.array(array.astype(kind), device="cpu"))
        tick = wp.zeros(1, dtype=wp.int32, device="cpu")
        failed = wp.zeros((len(self.started.status), 2), dtype=wp.int32, device="cpu")
        found = []
        for step, arrays in enumerate(self.fields):
            for name, array in arrays.items():
                if name not in ("ctrl", "xfrc_applied", "warning"):
                    fill(getattr(fields, name), array)
            tick.fill_(step)
            wp.launch(
                w.control,
                len(self.started.status),
                [
                    *(shared.program, shared.body, shared.fibers, shared.rules, fields, walks),
                    *(tick, self.simulation.runs, failed),
                ],
                device="cpu",
            )
            found.append(fields.ctrl.numpy().astype(float))
        return np.array(found), walks.frames.numpy().astype(float)


def _vectors(simulation, n=WALKS):
    """Vectors around the nominal one, within their bounds."""
    entries = simulation.parameters.entries
    rng = np.random.default_rng(3)
    X = simulation.parameters.start * (1 + 0.02 * rng.standard_normal((n, len(entries))))
    return np.clip(X, [e.lower for e in entries], [e.upper for e in entries])


CASES = {
    "planar": ({}, {}, None),
    "without delays": ({}, {"delayed": False}, None),
    "gains of each leg": ({}, {"per_leg": True}, None),
    "slope": ({"slope": 4.0}, {}, None),
    "stairs": ({"stairs": Stairs(0.08, 0.4, start=0.5)}, {}, None),
    "exoskeleton": ({"device": "ankle"}, {"max_torque": 20.0}, FourParameterProfile()),
    "frontal": ({"path": "myolegs26"}, {}, None),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("perturbed", [False, True])
def test_the_control_step_of_a_device_is_that_of_the_cpu(case, perturbed):
    """Controls and frames over half a second, rounded to single precision once and again."""
    model, settings, profile = CASES[case]
    model = {"path": "planar22", **model}
    try:
        walker = Walker.load(model.pop("path"), **model)
    except MissingExtraError as error:
        pytest.skip(str(error))
    simulation = WalkSimulation(walker, WalkSettings(0.5, threads=1, **settings), None, profile)
    repeats = Perturbations(2, seed=5) if perturbed else None
    recorded = Recorded(simulation, _vectors(simulation), repeats)
    controls, frames = recorded.replayed()
    wanted = np.array(recorded.controls)
    assert np.abs(controls - wanted).max() < 1e-4
    assert wanted.std(axis=0).max() > 0.05
    length = int(recorded.records.length.min()) - 1
    ours, theirs = frames[:, :length], recorded.frames[:, :length]
    size = np.abs(theirs).max(axis=(0, 1)) + 1.0
    assert np.abs((ours - theirs) / size).max() < 1e-5
    assert np.ptp(theirs[:, :, ACTIVATIONS:]) > 0.1
