"""Actuators that an experiment makes motors or servos, whatever they were."""

import mujoco
import pytest

from trueup.simulation.targets.actuator_types import actuator_type
from trueup.sysid.experiment.model_loading import load_spec
from trueup.sysid.experiment.settings import ModelPart

_ACTUATORS = [
    '<motor name="a" joint="j" gear="3"/>',
    '<velocity name="a" joint="j" kv="3"/>',
    '<intvelocity name="a" joint="j" kp="3"/>',
    '<position name="a" joint="j" kp="3" timeconst="0.1"/>',
    # two inputs and two states
    '<pid name="a" joint="j" kp="20" ki="12" slewmax="2" imax="2"/>',
    '<dcmotor name="a" joint="j" motorconst="0.5" resistance="2" inductance="0 0.1" '
    'lugre="9 1 1 1 1"/>',
    '<muscle name="a" joint="j" lengthrange="-1 1"/>',
    '<cylinder name="a" joint="j"/>',
]


@pytest.mark.parametrize("actuator", _ACTUATORS)
@pytest.mark.parametrize(
    ("settings", "kind", "gain", "bias"),
    [
        ({"actuators": "torque"}, "motor", 1.0, [0.0, 0.0, 0.0]),
        ({"actuators": "position", "kp": 5.0, "kd": 1.0}, "position", 5.0, [0.0, -5.0, -1.0]),
    ],
)
def test_nothing_of_the_former_type_is_left(actuator, settings, kind, gain, bias, tmp_path):
    (tmp_path / "m.xml").write_text(
        "<mujoco><worldbody><body><joint name='j' axis='0 1 0'/><geom size='0.1'/></body>"
        f"</worldbody><actuator>{actuator}</actuator></mujoco>"
    )
    model = load_spec(ModelPart(file="m.xml", **settings), tmp_path).compile()
    assert actuator_type(model, 0) == kind
    assert (model.na, model.nu, int(model.actuator_ctrlspec[0])) == (0, 1, 0)
    assert model.actuator_biastype[0] == int(mujoco.mjtBias.mjBIAS_AFFINE)
    assert model.actuator_gainprm[0, 0] == gain
    assert model.actuator_biasprm[0, :3].tolist() == bias
