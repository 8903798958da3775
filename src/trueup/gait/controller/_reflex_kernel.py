"""Compiled reflex controller: one step of one simulation.

Equations: S. Song and H. Geyer, "A neural circuitry that emphasizes spinal feedback generates
diverse behaviours of human locomotion", J. Physiol. 593 (2015), called S below: its supraspinal
layer and its spinal modules M1 to M10, which ``reflexes.yaml`` numbers as they do.
Positive force feedback and the phases of stance and swing are those of H. Geyer and H. Herr, "A
muscle-reflex model that encodes principles of legged mechanics produces human walking dynamics and
muscle activities", IEEE Trans. Neural Syst. Rehabil. Eng. 18 (2010). The order of summation is
that of MyoAssist, so that its recorded commands are reproduced to the last digits.

Rows are those of ``_registers``: ``measured (2, signals)``, ``registers (2, registers)`` and
``rings (2, ring_size)``, one of each for the right and the left leg. ``program`` is a
:class:`trueup.gait.controller.program.Program`.
"""

import math

from trueup.gait.compiled import compiled
from trueup.gait.controller._registers import Register


@compiled
def _read(ring, start, length, part, tick):
    """Oldest value of a ring, interpolated towards the next by ``part``."""
    oldest = ring[start + tick % length]
    if part == 0.0:
        return oldest
    newer = ring[start + (tick + 1) % length]
    return newer + part * (oldest - newer)


@compiled
def _delayed(ring, start, length, part, tick, value):
    """Output of a delay line after a new value is stored."""
    ring[start + tick % length] = value
    return _read(ring, start, length, part, tick + 1)


@compiled
def _delay_signals(program, measured, registers, rings, tick):
    for leg in range(2):
        for k in range(len(program.lines)):
            line = program.lines[k]
            value = measured[leg, line.measured]
            registers[leg, line.output] = _delayed(
                rings[leg], line.start, line.length, line.part, tick, value
            )


@compiled
def _landing_angle(row):
    """Target angle of the leg at landing in the sagittal plane [rad].

    S, supraspinal layer: ``alpha_0 - C_d d - C_v v``, with distance and velocity of the pelvis from
    the stance foot, minus the lean of the trunk, which converts it to an angle of the hip.
    """
    distance = row[Register.supraspinal_pelvis_x] - row[Register.supraspinal_other_foot_x]
    speed = row[Register.supraspinal_pelvis_vx] - row[Register.supraspinal_other_foot_vx]
    upright = row[Register.alpha_0] - row[Register.C_d] * distance - row[Register.C_v] * speed
    return upright - row[Register.supraspinal_pitch]


@compiled
def _frontal_landing_angle(row):
    """Target angle of the leg at landing in the frontal plane [rad], positive outwards."""
    distance = row[Register.supraspinal_pelvis_y] - row[Register.supraspinal_other_foot_y]
    speed = row[Register.supraspinal_pelvis_vy] - row[Register.supraspinal_other_foot_vy]
    upright = row[Register.alpha_0_f] - row[Register.C_d_f] * distance - row[Register.C_v_f] * speed
    return upright - row[Register.supraspinal_roll]


@compiled
def _distance_from_landing(frontal_too, row):
    """Angle between a leg and its landing angle [rad], both with supraspinal delays."""
    leg_angle = row[Register.supraspinal_hip] - 0.5 * row[Register.supraspinal_knee]
    sagittal = leg_angle - row[Register.leg_angle_target]
    if not frontal_too:
        return abs(sagittal)
    frontal = row[Register.supraspinal_hip_adduction] - row[Register.frontal_angle_target]
    return math.sqrt(sagittal * sagittal + frontal * frontal)


@compiled
def _supraspinal(program, registers, rings, tick):
    """Landing angles of both legs, and in double support the choice of the leg to swing.

    S: the leg that is further from its landing angle swings first.
    """
    head = program.head[0]
    for leg in range(2):
        row, start, length = registers[leg], head.target_start, head.target_length
        part = head.target_part
        row[Register.leg_angle_target] = _delayed(
            rings[leg], start, length, part, tick, _landing_angle(row)
        )
        if head.frontal:
            row[Register.frontal_angle_target] = _delayed(
                rings[leg], start + length, length, part, tick, _frontal_landing_angle(row)
            )
    chosen = -1
    right_on_ground = registers[0, Register.supraspinal_contact] > 0.5
    if right_on_ground and registers[1, Register.supraspinal_contact] > 0.5:
        right = _distance_from_landing(head.frontal, registers[0])
        left = _distance_from_landing(head.frontal, registers[1])
        if right > left:
            chosen = 0
        elif left > right or head.myoassist:
            chosen = 1  # with equal distances MyoAssist chooses the left leg; here none is chosen
    for leg in range(2):
        # the command is read before the new one is stored, so even without delays it acts one step
        # later; for a leg that was not chosen there is no delay
        start, length = head.command_start, head.command_length
        stored = _read(rings[leg], start, length, head.command_part, tick)
        registers[leg, Register.swing_command] = 0.0 if chosen == 1 - leg else stored
        rings[leg, start + tick % length] = 1.0 if chosen == leg else 0.0


@compiled
def _see_other_leg(program, row, ring, tick):
    """Copy the stimulations of the other leg (delay lines ``ring``), for M4."""
    head = program.head[0]
    for k in range(len(program.muscles)):
        muscle = program.muscles[k]
        row[muscle.output] = _read(
            ring, muscle.crossed, head.crossed_length, head.crossed_part, tick
        )


@compiled
def _angles(row):
    """Angle and rate of the leg from hip to ankle, with thigh and shank of equal length (S)."""
    row[Register.leg_angle] = row[Register.hip] - 0.5 * row[Register.knee]
    row[Register.leg_angle_rate] = row[Register.hip_rate] - 0.5 * row[Register.knee_rate]
    row[Register.hip_target] = row[Register.leg_angle_target] + row[Register.knee_tgt] * 0.5
    row[Register.frontal_angle] = row[Register.hip_adduction]


@compiled
def _phases(row, other_contact):
    """Advance the phases of the stride of one leg by one step.

    The order of the tests matters: touch-down, stance, lift-off, swing; the contact is stored last.
    S: in swing the knee is flexed (1), then held (2) while the leg swings forwards; the leg brakes
    near the landing angle (3) and is extended once it moves back (4).
    """
    contact = row[Register.contact] > 0.5
    if contact and row[Register.contact_before] == 0.0:
        row[Register.stance] = 1.0
        row[Register.swing] = 0.0
        row[Register.swing_1] = 0.0
        row[Register.swing_2] = 0.0
        row[Register.swing_3] = 0.0
        row[Register.swing_4] = 0.0
        row[Register.knee_flexed] = 0.0
    if row[Register.stance] == 1.0:
        row[Register.alone] = 0.0 if other_contact > 0.5 else 1.0
        row[Register.transition] = row[Register.swing_command]
        row[Register.full_stance] = 1.0 - row[Register.transition]
    if not contact and row[Register.contact_before] == 1.0:
        row[Register.stance] = 0.0
        row[Register.alone] = 0.0
        row[Register.transition] = 0.0
        row[Register.full_stance] = 0.0
        row[Register.swing] = 1.0
        row[Register.swing_1] = 1.0
    if row[Register.swing] == 1.0:
        # the tests of later phases begin in the step after the knee has flexed
        if row[Register.swing_1] == 1.0:
            if row[Register.knee] <= row[Register.knee_sw_tgt]:
                row[Register.swing_1] = 0.0
                row[Register.swing_2] = 1.0
                row[Register.knee_flexed] = 1.0
        else:
            target = row[Register.leg_angle_target]
            if row[Register.swing_2] == 1.0 and row[Register.leg_angle] <= target:
                row[Register.swing_2] = 0.0
            if row[Register.leg_angle] <= target + row[Register.alpha_delta]:
                row[Register.swing_3] = 1.0
            if row[Register.leg_angle_rate] >= 0.0 and row[Register.knee_flexed] == 1.0:
                row[Register.swing_4] = 1.0
    row[Register.contact_before] = 1.0 if contact else 0.0


@compiled
def _gates(row, other):
    """Gates of the modules; in double support they shift with the load on the other leg (S)."""
    load = other[Register.load]
    unloading = min(max(1.0 - row[Register.Tr_St_sup] * load, 0.0), 1.0)
    loading = row[Register.Tr_Sw] * load
    transition = row[Register.transition]
    row[Register.support] = row[Register.full_stance] + transition * unloading
    row[Register.swing_drive] = transition * loading + row[Register.swing]
    row[Register.knee_release] = row[Register.swing_1] + transition * loading
    row[Register.stance_load] = row[Register.stance] * row[Register.load]
    row[Register.other_swing] = other[Register.swing]


@compiled
def _reflexes(program, row, stimulation, crossed):
    """Stimulation of each muscle of a leg, and its part with a crossed effect on the other leg."""
    least = program.head[0].prestimulation
    stimulation[:] = least
    crossed[:] = 0.0
    for k in range(len(program.reflexes)):
        reflex = program.reflexes[k]
        drive = 0.0
        for t in range(reflex.first, reflex.end):
            term = program.terms[t]
            above = row[term.above] + row[term.above_too]
            drive += term.sign * row[term.gain] * (row[term.signal] - above)
        gated = row[reflex.gate] * max(drive, 0.0) * row[reflex.times]
        row[reflex.drive] = drive
        row[reflex.output] = gated
        if reflex.muscle >= 0:
            stimulation[reflex.muscle] += reflex.sign * gated
            if reflex.crossed:
                crossed[reflex.muscle] += reflex.sign * gated
    for muscle in range(len(stimulation)):
        stimulation[muscle] = min(max(stimulation[muscle], least), 1.0)
        crossed[muscle] = min(max(crossed[muscle], least), 1.0)


@compiled
def step_reflexes(program, measured, registers, rings, tick, stimulation, crossed):
    """Run the controller for one step.

    Args:
      program: controller.
      measured: measured signals ``(2, signals)``.
      registers: registers ``(2, registers)``, modified.
      rings: delay lines ``(2, ring_size)``, modified.
      tick: number of earlier runs of the controller.
      stimulation: output, stimulation of each muscle group ``(2, muscles)`` [0, 1].
      crossed: scratch ``(muscles,)``.
    """
    _delay_signals(program, measured, registers, rings, tick)
    _supraspinal(program, registers, rings, tick)
    for leg in range(2):
        _angles(registers[leg])
        _phases(registers[leg], registers[1 - leg, Register.contact])
    for leg in range(2):
        _gates(registers[leg], registers[1 - leg])
    # A leg in swing is computed first, so that a leg in stance uses its current stimulation. Where
    # both or neither are in swing, each uses the previous step, so that the sides are
    # symmetric. MyoAssist computes the right leg first where both are in swing, and counts lags in
    # controller steps.
    head = program.head[0]
    first = 0 if registers[0, Register.swing] == 1.0 else 1
    in_turn = head.myoassist or registers[0, Register.swing] != registers[1, Register.swing]
    stored = tick % head.crossed_length
    for turn in range(2):
        leg = first if turn == 0 else 1 - first
        other = 1 - leg
        row = registers[leg]
        seen = tick + (turn if head.myoassist else 1)
        if turn == 0 or in_turn:
            _see_other_leg(program, row, rings[other], seen)
        if turn == 0 and not in_turn:
            # before the first leg overwrites the values that the second one uses
            _see_other_leg(program, registers[other], rings[leg], seen)
        _reflexes(program, row, stimulation[leg], crossed)
        for k in range(len(program.muscles)):
            muscle = program.muscles[k]
            rings[leg, muscle.crossed + stored] = crossed[k]
            stimulation[leg, k] = _delayed(
                rings[leg], muscle.start, muscle.length, muscle.part, tick, stimulation[leg, k]
            )


@compiled
def start_reflexes(program, measured, registers, rings, swing_leg, activation, target):
    """Fill the delay lines and set the phases at the start of a walk.

    Args:
      program: controller.
      measured: measured signals at the start ``(2, signals)``.
      registers: registers with the gains ``(2, registers)``, modified.
      rings: output, delay lines ``(2, ring_size)``.
      swing_leg: leg in swing initially, 0 right or 1 left.
      activation: initial activations ``(2, muscles)``, initial values of the stimulation lines.
      target: landing angles of each leg ``(2, 2)`` [rad], sagittal and frontal, initial values of
        their lines; NaN: computed from the gains.
    """
    head = program.head[0]
    for leg in range(2):
        row, ring = registers[leg], rings[leg]
        ring[:] = 0.0
        for k in range(len(program.lines)):
            line = program.lines[k]
            value = measured[leg, line.measured]
            row[line.output] = value
            ring[line.start : line.start + line.length] = value
        start, length = head.target_start, head.target_length
        angle = target[leg, 0]
        ring[start : start + length] = _landing_angle(row) if math.isnan(angle) else angle
        if head.frontal:
            angle = target[leg, 1]
            angle = _frontal_landing_angle(row) if math.isnan(angle) else angle
            ring[start + length : start + 2 * length] = angle
        swings = leg == swing_leg
        start = head.command_start
        ring[start : start + head.command_length] = 1.0 if swings else 0.0
        for k in range(len(program.muscles)):
            muscle = program.muscles[k]
            ring[muscle.start : muscle.start + muscle.length] = activation[leg, k]
            crossed = muscle.crossed
            ring[crossed : crossed + head.crossed_length] = head.prestimulation
        row[Register.zero] = 0.0
        row[Register.always] = 1.0
        for phase in range(Register.stance, Register.swing_command + 1):
            row[phase] = 0.0
        row[Register.stance] = 0.0 if swings else 1.0
        row[Register.swing] = 1.0 if swings else 0.0
        row[Register.swing_1] = 1.0 if swings else 0.0
        row[Register.contact_before] = 0.0 if swings else 1.0
