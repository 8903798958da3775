"""Unknowns of position servos whose effect a recording shows: zeros of encoders, a late command."""

from dataclasses import replace

import mujoco

from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.importing.command_delays import delay_of_commands
from trueup.sysid.importing.encoder_zeros import Zeros, are_biases, biases, shared_zeros
from trueup.sysid.importing.proposed_parameters import (
    FurtherUnknowns,
    ProposedLink,
    ProposedParameter,
    rounded,
)
from trueup.sysid.recordings.beginnings import beginnings, simulated_steps

_MOST_STEPS = 150_000  # simulated steps of all candidates together
_SECONDS = 5.0  # limit of each fit of the beginnings [s]
_SPACE, _LONGEST = 3.0, 0.1  # length of the buffer in delays, and at least [s]


def unknowns_of_servos(prepared: Prepared) -> FurtherUnknowns:
    """Unknowns of a robot that stands on its base and follows position commands.

    Args:
      prepared: the experiment with armature, damping and friction as unknowns.
    """
    nothing = FurtherUnknowns()
    model = prepared.training[0].gt_model
    servos = _joints_of_servos(model)
    free = (model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)).any()
    if not servos or free:
        return nothing
    count = len(servos) + prepared.parameters.size + 2
    share = _MOST_STEPS / count / simulated_steps(prepared.training)
    prepared = replace(prepared, training=beginnings(prepared.training, share, "zoh"))
    problem = prepared.motion_problem()
    failures: dict[int, str] = {}
    problem.costs(problem.space.start[None], failures)
    if failures:
        return nothing
    zeros, delay = _zeros_and_delay(prepared, model, servos)
    parameters: list[ProposedParameter | ProposedLink] = [*zeros.parameters]
    lines, notes = [], []
    if zeros.biases:
        notes.append(
            "positions differ from their commands by a constant that no load explains: the bias of "
            "each is an unknown"
        )
    if delay is not None:
        step = float(model.opt.timestep)
        longest = rounded(max(_SPACE * delay, _LONGEST), 1)
        if not model.actuator_history[:, 0].all():
            lines = [
                "# Longest delay of commands [s]: the actuators of the model had no buffer.",
                f"delay_buffer: {longest:g}",
            ]
        else:
            longest = float(model.actuator_history[:, 0].min()) * step
        start = min(max(rounded(delay), step), longest)
        command = ProposedParameter(
            "command_delay", "actuator/*/delay", start, step, longest, False, "s", widens=False
        )
        parameters = [*parameters, command]
        notes.append(
            f"commands act about {delay:.2g} s later than the model simulates: command_delay is "
            "an unknown"
        )
    return FurtherUnknowns(parameters, lines, notes, zeros.biases)


def _zeros_and_delay(
    prepared: Prepared, model: mujoco.MjModel, servos: list[str]
) -> tuple[Zeros, float | None]:
    """Zeros of the encoders and delay of the commands [s], each with the other one as found."""
    zeros = shared_zeros(prepared, model, servos)
    delay = delay_of_commands(zeros.prepared, _SECONDS)
    others = biases(prepared, model, servos)
    if not are_biases(others, delay, _SECONDS):
        return zeros, delay.seconds
    return others, delay_of_commands(others.prepared, _SECONDS).seconds


def _joints_of_servos(model: mujoco.MjModel) -> list[str]:
    """Hinges with a position servo."""
    found = []
    for i in range(model.nu):
        joint = int(model.actuator_trnid[i, 0])
        on_joint = int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_JOINT)
        hinge = on_joint and int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_HINGE)
        if hinge and model.actuator_biasprm[i, 1] < 0 and model.joint(joint).name:
            found.append(model.joint(joint).name)
    return found
