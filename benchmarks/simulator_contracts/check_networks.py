"""Exported networks in the classes of Isaac Lab and mjlab, compared with the numpy runtime.

The stand-ins of the tests run the same motion and must give the same torques. Run in the
environment that ``run.py`` makes.
"""

import inspect
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import isaac_lab_import
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "networks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "deploy"))
import isaac_lab_stand_in
import mjlab_learned_stand_in
from random_networks import random_network
from simulator_steps import MOTOR, expected, isaac_lab_torques, motion, usage_config

from trueup.deploy import export_network
from trueup.networks import AnalyticBase
from trueup.networks.data.features import SIMULATOR_FEATURE_NAMES

BAR = 1e-5
"""Greatest difference, as a share of the torque's range."""
PD = AnalyticBase(kp=6.0, kd=0.3, stall_torque=3.0, no_load_speed=5.0)
SPRING = AnalyticBase(kp=6.0, kd=0.3, k_spring=0.8, theta0=0.1, stall_torque=3.0, no_load_speed=5.0)
FIT = {"features": SIMULATOR_FEATURE_NAMES, "torque_limit": 9.0}
CASES = {
    "isaac-lab mlp": random_network("mlp", history=3, base=PD, **FIT),
    "isaac-lab linear": random_network("linear", history=4, **FIT),
    "isaac-lab lstm": random_network("lstm", base=PD, **FIT),
    "isaac-lab-combined": random_network("gru", base=SPRING, torque_limit=9.0),
}


def report(title: str, found: np.ndarray, wanted: np.ndarray) -> None:
    """Print a difference; stop where it is too large."""
    share = np.abs(found - wanted).max() / np.ptp(wanted)
    print(f"{title:44} {share:.1e} of the torque's range")
    if not share <= BAR:
        raise SystemExit(f"{title}: torques differ")


def check_isaac_lab(folder: Path) -> None:
    """Each form, by the real class and by the stand-in."""
    isaac_lab_import.prepare()
    import isaaclab.actuators
    from isaaclab.utils.types import ArticulationActions

    for title, network in CASES.items():
        form = title.split()[0]
        usage = export_network(network, form, folder / f"{title.replace(' ', '_')}.pt").usage
        usage = usage.replace("...", "50.0")
        settings = {} if form == "isaac-lab-combined" else MOTOR
        moved = motion()
        cfg = usage_config(usage, **settings)
        found = isaac_lab_torques(ArticulationActions, cfg, moved)
        report(f"Isaac Lab, {title}", found, expected(network, *moved))
        if form == "isaac-lab-combined":
            continue
        own = getattr(isaac_lab_stand_in, cfg.class_type.__name__)
        stand_in = SimpleNamespace(**{**vars(cfg), "class_type": own})
        limits = {**MOTOR, "effort_limit": 2.0, "saturation_effort": 3.0, "velocity_limit": 2.0}
        for key, value in limits.items():
            setattr(stand_in, key, value)
            setattr(cfg, key, value)
        real = isaac_lab_torques(ArticulationActions, cfg, moved)
        ours = isaac_lab_torques(isaac_lab_stand_in.ArticulationActions, stand_in, moved)
        report(f"the stand-in within tight limits, {title}", ours, real)
    for name in isaac_lab_stand_in.NAMES:
        ours, real = getattr(isaac_lab_stand_in, name), getattr(isaaclab.actuators, name)
        for method in ("compute", "reset"):
            if hasattr(ours, method) and not name.endswith("Cfg"):
                pair = [
                    list(inspect.signature(getattr(c, method)).parameters) for c in (ours, real)
                ]
                if pair[0] != pair[1]:
                    raise SystemExit(f"{name}.{method} takes {pair[1]}, the stand-in {pair[0]}")
    first = isaac_lab_stand_in.IdealPDActuator, isaaclab.actuators.IdealPDActuator
    wanted = [list(inspect.signature(c.__init__).parameters) for c in first]
    if wanted[0] != wanted[1]:
        raise SystemExit(f"an actuator takes {wanted[1]}, the stand-in {wanted[0]}")


def check_mjlab(folder: Path) -> None:
    """The learned MLP actuator of mjlab."""
    import torch
    from mjlab.actuator import ActuatorCmd, LearnedMlpActuatorCfg

    for title, family, base in (("mlp", "mlp", PD), ("linear", "linear", None)):
        network = random_network(family, history=3, base=base, **FIT)
        usage = export_network(network, "mjlab", folder / f"mjlab_{title}.pt").usage
        cfg = usage_config(usage.replace("...", "50.0"), **MOTOR)
        assert isinstance(cfg, LearnedMlpActuatorCfg)
        moved = motion()

        def torques(actuator, moved=moved):
            found = []
            for target, angle, velocity in zip(*(torch.tensor(m) for m in moved), strict=True):
                zero = torch.zeros_like(target)
                found.append(actuator.compute(ActuatorCmd(target, zero, zero, angle, velocity)))
            return torch.stack(found).double().numpy()

        def real(cfg):
            actuator = cfg.build(SimpleNamespace(), [0, 1], ["a", "b"])
            return mjlab_learned_stand_in.prepare(actuator, envs=3)

        report(f"mjlab, {title}", torques(real(cfg)), expected(network, *moved))
        for settings in (MOTOR, {"effort_limit": 2.0, "saturation_effort": 3.0,
                                 "velocity_limit": 2.0}):  # fmt: skip
            for key, value in settings.items():
                setattr(cfg, key, value)
            ours = mjlab_learned_stand_in.LearnedMlpActuator(cfg, envs=3, joints=2)
            report(f"the stand-in, {title}", torques(ours), torques(real(cfg)))


def main() -> None:
    """Run all checks."""
    with tempfile.TemporaryDirectory() as folder:
        check_isaac_lab(Path(folder))
        check_mjlab(Path(folder))


if __name__ == "__main__":
    main()
