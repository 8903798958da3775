"""The reflex controller, compiled: one step of one simulation.

Rows: ``measured (2, signals)``, ``registers (2, registers)``, ``rings (2, ring_size)``, a leg each,
right then left. ``program`` is :class:`trueup.gait.controller.controller_program.Program`.
"""

import math

from trueup.gait.controller import _registers as r
from trueup.gait.controller._compiled import compiled


@compiled
def _between(ring, start, length, part, tick):
    """The oldest value of a ring, or one between it and the next, ``part`` of the way back."""
    oldest = ring[start + tick % length]
    if part == 0.0:
        return oldest
    next_one = ring[start + (tick + 1) % length]
    return next_one + part * (oldest - next_one)


@compiled
def _delay(ring, start, length, part, tick, value):
    """Store a value and return what it is at the end of a lag."""
    ring[start + tick % length] = value
    return _between(ring, start, length, part, tick + 1)


@compiled
def _tell_legs(program, measured, registers, rings, tick):
    for leg in range(2):
        for k in range(len(program.lines)):
            line = program.lines[k]
            value = measured[leg, line.measured]
            registers[leg, line.register] = _delay(
                rings[leg], line.start, line.length, line.part, tick, value
            )


@compiled
def _landing_angle(row):
    """Leg angle to land with, of the supraspinal layer (sagittal plane)."""
    distance = row[r.R_S_PELVIS_X] - row[r.R_S_FOOT_X]
    speed = row[r.R_S_PELVIS_VX] - row[r.R_S_FOOT_VX]
    lean = row[r.R_S_PITCH]
    return ((row[r.R_ALPHA_0] - row[r.R_C_D] * distance) - row[r.R_C_V] * speed) - lean


@compiled
def _frontal_landing_angle(row):
    """The same in the frontal plane; sideways is positive towards the leg's own side."""
    distance = row[r.R_S_PELVIS_Y] - row[r.R_S_FOOT_Y]
    speed = row[r.R_S_PELVIS_VY] - row[r.R_S_FOOT_VY]
    lean = row[r.R_S_ROLL]
    return ((row[r.R_ALPHA_0_F] - row[r.R_C_D_F] * distance) - row[r.R_C_V_F] * speed) - lean


@compiled
def _supraspinal(program, registers, rings, tick):
    """Landing angles, and which leg is to swing in double support."""
    head = program.head[0]
    for leg in range(2):
        row, start, length = registers[leg], head.target_start, head.target_length
        part = head.target_part
        row[r.R_LEG_ANGLE_TARGET] = _delay(
            rings[leg], start, length, part, tick, _landing_angle(row)
        )
        if head.frontal:
            row[r.R_FRONTAL_ANGLE_TARGET] = _delay(
                rings[leg], start + length, length, part, tick, _frontal_landing_angle(row)
            )
    chosen = -1
    if registers[0, r.R_S_CONTACT] > 0.5 and registers[1, r.R_S_CONTACT] > 0.5:
        right, left = _distance(head.frontal, registers[0]), _distance(head.frontal, registers[1])
        if right > left:
            chosen = 0
        elif left > right or head.myoassist:
            chosen = 1
    for leg in range(2):
        start, length = head.command_start, head.command_length
        stored = _between(rings[leg], start, length, head.command_part, tick)
        registers[leg, r.R_SWING_COMMAND] = 0.0 if chosen == 1 - leg else stored
        rings[leg, start + tick % length] = 1.0 if chosen == leg else 0.0


@compiled
def _see_other_leg(program, row, ring, tick):
    """Tell a leg what the other one does: the copies of the other leg's delay lines."""
    head = program.head[0]
    for k in range(len(program.muscles)):
        muscle = program.muscles[k]
        row[muscle.register] = _between(
            ring, muscle.crossed, head.crossed_length, head.crossed_part, tick
        )


@compiled
def _distance(frontal_too, row):
    """How far a leg is from where it is to land [rad]."""
    sagittal = (row[r.R_S_HIP] - 0.5 * row[r.R_S_KNEE]) - row[r.R_LEG_ANGLE_TARGET]
    if not frontal_too:
        return abs(sagittal)
    frontal = row[r.R_S_HIP_ADDUCTION] - row[r.R_FRONTAL_ANGLE_TARGET]
    return math.sqrt(sagittal * sagittal + frontal * frontal)


@compiled
def _angles(row):
    row[r.R_LEG_ANGLE] = row[r.R_HIP] - 0.5 * row[r.R_KNEE]
    row[r.R_LEG_ANGLE_RATE] = row[r.R_HIP_RATE] - 0.5 * row[r.R_KNEE_RATE]
    row[r.R_HIP_TARGET] = row[r.R_LEG_ANGLE_TARGET] + row[r.R_KNEE_TGT] * 0.5
    row[r.R_FRONTAL_ANGLE] = row[r.R_HIP_ADDUCTION]


@compiled
def _phases(row, other_contact):
    """Phases of one leg's stride, advanced by one step."""
    contact = row[r.R_CONTACT] > 0.5
    if contact and row[r.R_CONTACT_BEFORE] == 0.0:
        row[r.R_STANCE] = 1.0
        row[r.R_SWING] = 0.0
        row[r.R_SWING_1] = 0.0
        row[r.R_SWING_2] = 0.0
        row[r.R_SWING_3] = 0.0
        row[r.R_SWING_4] = 0.0
        row[r.R_KNEE_FLEXED] = 0.0
    if row[r.R_STANCE] == 1.0:
        row[r.R_ALONE] = 0.0 if other_contact > 0.5 else 1.0
        row[r.R_TRANSITION] = row[r.R_SWING_COMMAND]
        row[r.R_FULL_STANCE] = 1.0 - row[r.R_TRANSITION]
    if not contact and row[r.R_CONTACT_BEFORE] == 1.0:
        row[r.R_STANCE] = 0.0
        row[r.R_ALONE] = 0.0
        row[r.R_TRANSITION] = 0.0
        row[r.R_FULL_STANCE] = 0.0
        row[r.R_SWING] = 1.0
        row[r.R_SWING_1] = 1.0
    if row[r.R_SWING] == 1.0:
        if row[r.R_SWING_1] == 1.0:
            if row[r.R_KNEE] <= row[r.R_KNEE_SW_TGT]:
                row[r.R_SWING_1] = 0.0
                row[r.R_SWING_2] = 1.0
                row[r.R_KNEE_FLEXED] = 1.0
        else:
            target = row[r.R_LEG_ANGLE_TARGET]
            if row[r.R_SWING_2] == 1.0 and row[r.R_LEG_ANGLE] <= target:
                row[r.R_SWING_2] = 0.0
            if row[r.R_LEG_ANGLE] <= target + row[r.R_ALPHA_DELTA]:
                row[r.R_SWING_3] = 1.0
            if row[r.R_LEG_ANGLE_RATE] >= 0.0 and row[r.R_KNEE_FLEXED] == 1.0:
                row[r.R_SWING_4] = 1.0
    row[r.R_CONTACT_BEFORE] = 1.0 if contact else 0.0


@compiled
def _gates(row, other):
    load = other[r.R_LOAD]
    unloading = min(max(1.0 - row[r.R_TR_ST_SUP] * load, 0.0), 1.0)
    loading = row[r.R_TR_SW] * load
    transition = row[r.R_TRANSITION]
    row[r.R_SUPPORT] = row[r.R_FULL_STANCE] + transition * unloading
    row[r.R_SWING_DRIVE] = transition * loading + row[r.R_SWING]
    row[r.R_KNEE_RELEASE] = row[r.R_SWING_1] + transition * loading
    row[r.R_STANCE_LOAD] = row[r.R_STANCE] * row[r.R_LOAD]
    row[r.R_OTHER_SWING] = other[r.R_SWING]


@compiled
def _reflexes(program, row, stimulation, crossed):
    """Stimulation of each muscle of a leg, and what the other leg sees of it."""
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
        row[reflex.drive + 1] = gated
        if reflex.muscle >= 0:
            stimulation[reflex.muscle] += reflex.sign * gated
            if reflex.crossed:
                crossed[reflex.muscle] += reflex.sign * gated
    for muscle in range(len(stimulation)):
        stimulation[muscle] = min(max(stimulation[muscle], least), 1.0)
        crossed[muscle] = min(max(crossed[muscle], least), 1.0)


@compiled
def step_reflexes(program, measured, registers, rings, tick, stimulation, crossed):
    """Run the controller once.

    Args:
      program: the controller.
      measured: ``(2, signals)`` measured signals.
      registers: ``(2, registers)``, changed.
      rings: ``(2, ring_size)`` delay lines, changed.
      tick: how often the controller has run before.
      stimulation: ``(2, muscles)``, filled.
      crossed: ``(muscles,)``, scratch.
    """
    _tell_legs(program, measured, registers, rings, tick)
    _supraspinal(program, registers, rings, tick)
    for leg in range(2):
        _angles(registers[leg])
        _phases(registers[leg], registers[1 - leg, r.R_CONTACT])
    for leg in range(2):
        _gates(registers[leg], registers[1 - leg])
    # A swinging leg comes first: a leg that stands sees what it does without waiting for the next
    # step. Where both swing or none does, each sees the step before, so that neither side is
    # favoured. MyoAssist has the right leg first where both swing, and its lags are those of turns.
    head = program.head[0]
    first = 0 if registers[0, r.R_SWING] == 1.0 else 1
    in_turn = head.myoassist or registers[0, r.R_SWING] != registers[1, r.R_SWING]
    stored = tick % head.crossed_length
    for turn in range(2):
        leg = first if turn == 0 else 1 - first
        other = 1 - leg
        row = registers[leg]
        seen = tick + (turn if head.myoassist else 1)
        if turn == 0 or in_turn:
            _see_other_leg(program, row, rings[other], seen)
        if turn == 0 and not in_turn:
            _see_other_leg(program, registers[other], rings[leg], seen)
        _reflexes(program, row, stimulation[leg], crossed)
        for k in range(len(program.muscles)):
            muscle = program.muscles[k]
            rings[leg, muscle.crossed + stored] = crossed[k]
            stimulation[leg, k] = _delay(
                rings[leg], muscle.start, muscle.length, muscle.part, tick, stimulation[leg, k]
            )


@compiled
def start_reflexes(program, measured, registers, rings, swing_leg, activation, target):
    """Fill the delay lines and the phases as a walk begins.

    Args:
      program: the controller.
      measured: ``(2, signals)`` measured signals at the start.
      registers: ``(2, registers)`` with the gains, changed.
      rings: ``(2, ring_size)``, filled.
      swing_leg: the leg that swings at the start, 0 right or 1 left.
      activation: ``(2, muscles)`` initial activations, which the delayed stimulations begin with.
      target: ``(2, 2)`` landing angles of each leg, sagittal and frontal, that the delayed ones
        begin with; NaN for those of the gains.
    """
    head = program.head[0]
    for leg in range(2):
        row, ring = registers[leg], rings[leg]
        ring[:] = 0.0
        for k in range(len(program.lines)):
            line = program.lines[k]
            value = measured[leg, line.measured]
            row[line.register] = value
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
        row[r.R_ZERO] = 0.0
        row[r.R_ALWAYS] = 1.0
        for register in range(r.R_STANCE, r.R_SWING_COMMAND + 1):
            row[register] = 0.0
        row[r.R_STANCE] = 0.0 if swings else 1.0
        row[r.R_SWING] = 1.0 if swings else 0.0
        row[r.R_SWING_1] = 1.0 if swings else 0.0
        row[r.R_CONTACT_BEFORE] = 0.0 if swings else 1.0
