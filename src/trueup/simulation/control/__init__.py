"""Control laws that run inside MuJoCo at native speed.

A law is a Python function, compiled by numba and installed as MuJoCo's control callback. It runs in
a ``mujoco.batch.Batch``, in a loop over ``mj_step``, in ``mujoco.rollout`` and in the viewer, and
each simulation has its own gains and its own controller state::

    from trueup.simulation import control

    @control.control_law(gains={"kp": "joint", "kd": "joint"}, writes=["ctrl"])
    def pd(position, velocity, command, gains, ctrl_out):
        for i in range(len(position)):
            ctrl_out[i] = gains.kp[i] * (command[i] - position[i]) - gains.kd[i] * velocity[i]

    law = pd.on(joints=["elbow"], actuators=["motor"])
    model = control.prepare_spec(spec, law).compile()
    batch = Batch(model, 100)
    law.start(batch, {"kp": np.linspace(1.0, 9.0, 100), "kd": 0.1})
    with control.installed(law, batch):
        recorded = batch.rollout(1000, control=commands)
    law.failures(batch)

Guarantees:

- Time: it runs once a step, or every ``period_steps`` steps with its outputs held between. Calls at
  the same time (``mj_forward``) and at the stages of Runge-Kutta do not run it again.
- Sensors and forces of the acceleration stage are those of the previous step when it runs. A law
  that reads derived fields needs a ``Batch`` with ``persistent=True``, and does not run in
  ``mujoco.rollout`` with several rollouts a thread.
- It writes fields of the model only where each simulation has its own (``Batch.expand``).
- A failure (a custom code, an exception, a value that is not finite) stops the law in that
  simulation alone; the reason is in :meth:`TargetedLaw.failures`.

The law is installed for the whole process, one at a time; models that are not prepared for a law
are not affected.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.simulation.control._delay_line import delay_line, delayed
    from trueup.simulation.control._installed import installed
    from trueup.simulation.control._law import ControlLaw, control_law
    from trueup.simulation.control._pd_law import pd_law
    from trueup.simulation.control._prepare import add_command_channels, prepare_spec
    from trueup.simulation.control._targeted_law import TargetedLaw
    from trueup.simulation.control._userdata import Part

_EXPORTS = {
    "ControlLaw": "trueup.simulation.control._law",
    "Part": "trueup.simulation.control._userdata",
    "TargetedLaw": "trueup.simulation.control._targeted_law",
    "add_command_channels": "trueup.simulation.control._prepare",
    "control_law": "trueup.simulation.control._law",
    "delay_line": "trueup.simulation.control._delay_line",
    "delayed": "trueup.simulation.control._delay_line",
    "installed": "trueup.simulation.control._installed",
    "pd_law": "trueup.simulation.control._pd_law",
    "prepare_spec": "trueup.simulation.control._prepare",
}

__all__ = [
    "ControlLaw",
    "Part",
    "TargetedLaw",
    "add_command_channels",
    "control_law",
    "delay_line",
    "delayed",
    "installed",
    "pd_law",
    "prepare_spec",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
