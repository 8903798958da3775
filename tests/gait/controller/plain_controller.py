"""The reflex controller in plain Python: signals, phases and reflexes by name, one step at a time.

It follows the description of a controller and the text of Song and Geyer 2015, not the compiled
code: whole histories in place of rings, names in place of places.
"""

import math

import numpy as np


class PlainController:
    """A controller of two legs.

    Args:
      controller: description, of a walker in the plane or in space.
      gains: values of the gains of the right and of the left leg, by name.
      period: time between runs of the controller [s].
      timestep: time step of the model [s].
      delayed: neural delays.
      compat: order and lags of MyoAssist.
      swing_leg: leg in swing at the start.
      frontal: the walker can fall sideways.
      activation: initial stimulation in the lines of the muscles.
    """

    def __init__(
        self, controller, gains, period, timestep, delayed, compat, swing_leg, frontal, activation
    ):
        self.controller, self.gains, self.frontal = controller, gains, frontal
        self.period, self.timestep = period, timestep
        self.delayed, self.compat = delayed, compat
        self.legs = [
            {
                "stance": leg != swing_leg,
                "swing": leg == swing_leg,
                "swing_1": leg == swing_leg,
                **dict.fromkeys(("swing_2", "swing_3", "swing_4", "flexed", "alone"), False),
                **dict.fromkeys(("transition", "full_stance"), 0.0),
                "before": leg != swing_leg,
            }
            for leg in range(2)
        ]
        least = controller.prestimulation
        self.commands = [History(float(leg == swing_leg)) for leg in range(2)]
        self.copies = [{m.name: History(least) for m in controller.muscles} for _ in range(2)]
        self.lines = [{m.name: History(activation) for m in controller.muscles} for _ in range(2)]
        self.signals = None
        self.targets = None

    def lag(self, delay, late=0.0):
        """Lag of a line in periods."""
        if not self.delayed:
            return 0.0
        if self.compat:
            return max(math.floor(delay / self.period + 0.5), 1) - 1.0
        return max(delay - late, 0.0) / self.period

    def step(self, measured):
        """Stimulation of the muscles of both legs, for their measured signals by name."""
        if self.signals is None:
            self.signals = [
                {s.name: History(measured[leg][s.measured]) for s in self.controller.signals}
                for leg in range(2)
            ]
            first = [{s.name: measured[leg][s.measured] for s in self.controller.signals}
                     for leg in range(2)]  # fmt: skip
            self.targets = [
                [History(self.landing(leg, first[leg], plane)) for plane in range(2)]
                for leg in range(2)
            ]
        seen = []
        for leg in range(2):
            row = {}
            for signal in self.controller.signals:
                force = signal.measured in ("load", "contact") or "force" in signal.measured
                late = 0.5 * (self.period + (self.timestep if force else 0.0))
                line = self.signals[leg][signal.name]
                line.append(measured[leg][signal.measured])
                row[signal.name] = line.at(self.lag(signal.delay, late))
            seen.append(row)
        self.supraspinal(seen)
        for leg in range(2):
            self.phases(leg, seen[leg], seen[1 - leg])
        for leg in range(2):
            self.gates(seen[leg], self.legs[leg], seen[1 - leg], self.legs[1 - leg])
        return self.act(seen)

    def landing(self, leg, row, plane):
        gain, axis = self.gains[leg], "xy"[plane]
        if plane and not self.frontal:
            return 0.0
        end = "_f" if plane else ""
        distance = row[f"supraspinal_pelvis_{axis}"] - row[f"supraspinal_other_foot_{axis}"]
        speed = row[f"supraspinal_pelvis_v{axis}"] - row[f"supraspinal_other_foot_v{axis}"]
        lean = row["supraspinal_roll" if plane else "supraspinal_pitch"]
        return (
            gain[f"alpha_0{end}"] - gain[f"C_d{end}"] * distance - gain[f"C_v{end}"] * speed - lean
        )

    def supraspinal(self, seen):
        far = []
        for leg in range(2):
            row = seen[leg]
            for plane, name in enumerate(("leg_angle_target", "frontal_angle_target")):
                line = self.targets[leg][plane]
                line.append(self.landing(leg, row, plane))
                row[name] = line.at(self.lag(self.controller.descending_delay))
            angle = row["supraspinal_hip"] - 0.5 * row["supraspinal_knee"]
            off = [angle - row["leg_angle_target"]]
            if self.frontal:
                off.append(row["supraspinal_hip_adduction"] - row["frontal_angle_target"])
            far.append(math.hypot(*off))
        chosen = None
        if seen[0]["supraspinal_contact"] > 0.5 and seen[1]["supraspinal_contact"] > 0.5:
            if far[0] != far[1]:
                chosen = 0 if far[0] > far[1] else 1
            elif self.compat:
                chosen = 1
        descending = self.lag(self.controller.descending_delay)
        # commands are read before they are stored, and so at least one step late
        late = descending + 1.0 if self.compat else max(descending, 1.0)
        for leg in range(2):
            self.commands[leg].append(float(chosen == leg))
            seen[leg]["command"] = 0.0 if chosen == 1 - leg else self.commands[leg].at(late)

    def phases(self, leg, row, other):
        state, gain = self.legs[leg], self.gains[leg]
        row["leg_angle"] = row["hip"] - 0.5 * row["knee"]
        row["leg_angle_rate"] = row["hip_rate"] - 0.5 * row["knee_rate"]
        row["hip_target"] = row["leg_angle_target"] + 0.5 * gain["knee_tgt"]
        row["frontal_angle"] = row["hip_adduction"]
        contact = row["contact"] > 0.5
        if contact and not state["before"]:
            swings = ("swing", "swing_1", "swing_2", "swing_3", "swing_4", "flexed")
            state |= dict.fromkeys(swings, False) | {"stance": True}
        if state["stance"]:
            state["alone"] = not other["contact"] > 0.5
            state["transition"], state["full_stance"] = row["command"], 1.0 - row["command"]
        if not contact and state["before"]:
            state |= {"stance": False, "alone": False, "transition": 0.0, "full_stance": 0.0}
            state |= {"swing": True, "swing_1": True}
        if state["swing"] and state["swing_1"]:
            if row["knee"] <= gain["knee_sw_tgt"]:
                state |= {"swing_1": False, "swing_2": True, "flexed": True}
        elif state["swing"]:
            target = row["leg_angle_target"]
            if row["leg_angle"] <= target:
                state["swing_2"] = False
            if row["leg_angle"] <= target + gain["alpha_delta"]:
                state["swing_3"] = True
            if row["leg_angle_rate"] >= 0.0 and state["flexed"]:
                state["swing_4"] = True
        state["before"] = contact
        row["leg"] = leg

    def gates(self, row, state, other, other_state):
        gain = self.gains[row["leg"]]
        unloading = np.clip(1.0 - gain["Tr_St_sup"] * other["load"], 0.0, 1.0)
        loading = gain["Tr_Sw"] * other["load"]
        row |= {name: float(value) for name, value in state.items()}
        row["always"] = 1.0
        row["support"] = state["full_stance"] + state["transition"] * unloading
        row["swing_drive"] = state["swing"] + state["transition"] * loading
        row["knee_release"] = state["swing_1"] + state["transition"] * loading
        row["stance_load"] = state["stance"] * row["load"]
        row["other_swing"] = float(other_state["swing"])

    def act(self, seen):
        swings = [state["swing"] for state in self.legs]
        first = 0 if swings[0] else 1
        in_turn = self.compat or swings[0] != swings[1]
        crossed = self.lag(self.controller.crossed_delay)
        views = {}
        for turn, leg in enumerate((first, 1 - first)):
            # without delays, the second leg sees what the first one did in this step
            lag = crossed + (1 - turn) if self.compat else crossed
            if lag == 0.0 and not (turn and in_turn):
                lag = 1.0
            views[leg] = lag
        ahead = {leg: {name: line.length for name, line in self.copies[leg].items()}
                 for leg in range(2)}  # fmt: skip
        stimulation = [None, None]
        for leg in (first, 1 - first):
            row = seen[leg]
            for name, line in self.copies[1 - leg].items():
                # a lag counts from this step, whether the other leg has stored its copy or not
                row[f"other {name}"] = line.at(views[leg], ahead[1 - leg][name])
            stimulation[leg] = self.reflexes(leg, row)
        return stimulation

    def reflexes(self, leg, row):
        controller, gain = self.controller, self.gains[leg]
        least = controller.prestimulation
        total = {muscle.name: least for muscle in controller.muscles}
        copies = dict.fromkeys(total, 0.0)
        values = {**row, **gain}
        for reflex in controller.reflexes:
            drive = sum(
                t.sign * gain[t.gain] * (values[t.signal] - sum(values[name] for name in t.above))
                for t in reflex.terms
            )
            output = values[reflex.gate] * max(drive, 0.0) * values[reflex.times]
            values[f"drive {reflex.name}"], values[f"reflex {reflex.name}"] = drive, output
            if reflex.muscle is not None:
                signed = -output if reflex.inhibits else output
                total[reflex.muscle] += signed
                copies[reflex.muscle] += signed if reflex.crossed else 0.0
        found = {}
        for muscle in controller.muscles:
            self.copies[leg][muscle.name].append(float(np.clip(copies[muscle.name], least, 1.0)))
            line = self.lines[leg][muscle.name]
            line.append(float(np.clip(total[muscle.name], least, 1.0)))
            found[muscle.name] = line.at(self.lag(muscle.delay))
        return found


class History:
    """All values of a quantity, one a step; before the first one it had its initial value."""

    def __init__(self, initial):
        self.initial, self.values = initial, []

    @property
    def length(self):
        return len(self.values)

    def append(self, value):
        self.values.append(value)

    def at(self, lag, now=None):
        """Value ``lag`` steps before the newest one, or before step ``now``; linear between."""
        now = self.length - 1 if now is None else now
        whole = math.floor(lag + 1e-9)
        part = max(lag - whole, 0.0)
        newer = self._value(now - whole)
        return newer if part < 1e-9 else newer + part * (self._value(now - whole - 1) - newer)

    def _value(self, place):
        return self.values[place] if place >= 0 else self.initial
