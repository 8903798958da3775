"""The toolbox's calls on a robot that rests away from zero: a state as it is, or what it leaves."""

import mujoco
import numpy as np
import pytest

from resting_arm import TRUTH, delayed, model_text, write_log
from trueup import sysid

PID = (
    '<pid name="ml" joint="lift" kp="60" ki="30" kv="1.5" input="pos"/>'
    '<pid name="mb" joint="bend" kp="50" ki="20" kv="1" input="pos"/>'
)
SENSORS = '<jointpos name="lift_pos" joint="lift"/><jointpos name="bend_pos" joint="bend"/>'


def _sequences(folder, actuators, held):
    """Model and recording, from its first sample, with the toolbox's names."""
    rows = write_log(folder, actuators, noise=0.0, settle=15.0)
    spec = mujoco.MjSpec.from_string(model_text(TRUTH, actuators, SENSORS))
    model = spec.compile()
    times = rows[:, 0]
    control = sysid.TimeSeries.from_control_names(times, rows[:, 3:], model)
    control = control.resample(np.arange(times[0], times[-1], 0.002), method="zoh")
    measured = sysid.TimeSeries.from_names(times, rows[:, 1:3], model, ["lift_pos", "bend_pos"])
    state = sysid.create_initial_state(model, rows[0, 1:3], held=held)
    return sysid.ModelSequences("arm", spec, "run", state, control, measured)


def _set_armature(spec, parameter):
    spec.joint("lift").armature = parameter.value[0]


@pytest.mark.parametrize("kind", ["delay", "pid"])
@pytest.mark.parametrize("custom", [False, True])
def test_what_a_state_leaves_open_begins_with_the_first_command(tmp_path, kind, custom):
    actuators = PID if kind == "pid" else delayed(0.0193)
    hooks = {}
    if custom:
        hooks["custom_rollout"] = lambda param_dicts, **rest: sysid.sysid_rollout(**rest)

    def largest(held: bool) -> float:
        models = _sequences(tmp_path, actuators, held)
        function = sysid.build_residual_fn(models_sequences=[models], **hooks)
        true = sysid.Parameter("a", TRUTH["armature"], 1e-3, 1.0, modifier=_set_armature)
        parameters = sysid.ParameterDict({"a": true})
        residual = np.ravel(function(parameters.as_vector(), parameters)[0][0])
        return float(np.abs(residual[:50]).max())  # two signals over 0.25 s

    assert largest(True) < 1e-3 * largest(False)
