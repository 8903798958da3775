"""Models prepared for a control law whose plan was altered: none may harm the process.

The plan that a prepared model carries is a list of numbers in an XML file, and the compiled
callback reads and writes memory by it. Each mutant changes the numbers, the targets or the size of
``userdata``; a child process compiles it and steps it with the law installed. A mutant passes where
the law is marked as failed, is left alone or runs as it should, and the child lives.

    python benchmarks/prepared_model_mutants.py --count 500 --seed 1

The exit code is 1 where a child dies, or a law runs on a plan that does not fit.
"""

import argparse
import json
import random
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter

import mujoco

from trueup.simulation import captured_warnings, control

ELEMENT = "trueup_control_law"
MODEL = """
<mujoco><option timestep="0.002"/><worldbody>
  <body name="upper"><joint name="a" axis="0 1 0"/><geom size="0.1" pos="0 0 -1"/>
    <body name="lower" pos="0 0 -1"><joint name="b" axis="0 1 0"/><geom size="0.1" pos="0 0 -1"/>
    <body name="ball" pos="0 0 -2"><joint name="c" type="ball"/><geom size="0.1"/></body>
  </body></body></worldbody>
  <actuator><motor name="ma" joint="a"/><motor name="mb" joint="b"/></actuator>
  <sensor><jointpos name="pa" joint="a"/><framepos name="tip" objtype="body" objname="lower"/>
  </sensor>
</mujoco>
"""
EDGES = (0, 1, -1, 2, 3, 7, 64, 1000, 99999, 999999, 1e9, -1e9, 1e300, 0.5, -2.5, 1e-300)


@control.control_law(
    gains={"kp": "joint", "kd": "joint", "level": 3},
    state={"line": ("joint", 5), "count": 1},
    writes=["ctrl"],
)
def servo(position, velocity, command, gains, state, targets, ctrl_out):
    for i in range(len(position)):
        state.line[i, int(state.count[0]) % 5] = position[i]
        ctrl_out[i] = gains.kp[i] * (command[i] - position[i]) - gains.kd[i] * velocity[i]
        ctrl_out[i] += gains.level[i] * len(targets.sensor)
    state.count[0] += 1.0


LAW = servo.on(joints=["a", "b"], actuators=["ma", "mb"], sensors=["pa", "tip"])
GAINS = {"kp": [3.0, 2.0], "kd": [0.1, 0.2], "level": [0.01, 0.02, 0.03]}


def prepared() -> str:
    """The prepared model as XML."""
    spec = control.prepare_spec(mujoco.MjSpec.from_string(MODEL), LAW, gains=GAINS)
    spec.compile()
    return spec.to_xml()


def altered(xml: str, chance: random.Random) -> tuple[str, bool]:
    """A mutant, and whether the law must not run on it."""
    root = ET.fromstring(xml)
    numeric = root.find(f".//numeric[@name='{ELEMENT}']")
    targets = root.find(f".//tuple[@name='{ELEMENT}']")
    numbers = numeric.get("data").split()
    laid_out = int(float(numbers[5]))  # default gains follow; number 6 is the control period
    kind = chance.choice(["number", "number", "number", "swap", "cut", "longer", "size", "targets"])
    harmful = True
    if kind == "number":
        place = chance.randrange(len(numbers))
        value = chance.choice(EDGES)
        if chance.random() < 0.5:
            value = float(numbers[place]) + chance.choice([-1, 1, 2, -3, 10])
        harmful = place < laid_out and float(numbers[place]) != value and place != 6
        numbers[place] = repr(value)
    elif kind == "swap":
        first, second = chance.sample(range(laid_out), 2)
        harmful = numbers[first] != numbers[second] and 6 not in (first, second)
        numbers[first], numbers[second] = numbers[second], numbers[first]
    elif kind == "cut":
        numbers = numbers[: chance.randrange(1, len(numbers))]
        numeric.set("size", str(len(numbers)))
    elif kind == "longer":
        numbers += ["7"] * chance.randrange(1, 40)
        numeric.set("size", str(len(numbers)))
        harmful = False
    elif kind == "size":
        size = root.find(".//size")
        value = int(size.get("nuserdata")) + chance.choice([-1, -5, -30, 1, 40])
        size.set("nuserdata", str(max(value, 0)))
        harmful = value < int(float(numbers[4]))
    else:
        elements = list(targets)
        change = chance.choice(["drop", "double", "joint", "kind"])
        element = chance.choice(elements)
        if change == "drop":
            targets.remove(element)
        elif change == "double":
            targets.append(ET.fromstring(ET.tostring(element)))
        elif change == "joint":
            elements[0].set("objname", chance.choice(["b", "c"]))
            harmful = False
        else:
            element.set("objtype", "body")
            element.set("objname", "lower")
    numeric.set("data", " ".join(numbers))
    return ET.tostring(root, encoding="unicode"), harmful


def run(xml: str) -> str:
    """What becomes of a mutant: refused, left alone, failed, or running."""
    try:
        model = mujoco.MjModel.from_xml_string(xml)
    except ValueError:
        return "refused"
    data = mujoco.MjData(model)
    data.ctrl[:] = 0.2
    with captured_warnings(), control.installed(LAW):
        for _ in range(30):
            mujoco.mj_step(model, data)
    warned = data.warning[mujoco.mjtWarning.mjWARN_BADCTRL].number > 0
    if warned:
        return "failed"
    return "running" if model.nuserdata and data.userdata[0] else "left alone"


def children(mutants: list[str], per_child: int) -> list[str]:
    """Run mutants in child processes, as many in each; a dead child is told by its signal."""
    outcomes: list[str] = []
    while len(outcomes) < len(mutants):
        part = mutants[len(outcomes) : len(outcomes) + per_child]
        child = subprocess.run(
            [sys.executable, __file__, "--child"],
            input=json.dumps(part),
            capture_output=True,
            text=True,
            check=False,
        )
        outcomes += child.stdout.split("\n")[:-1]
        if child.returncode:
            outcomes.append(f"died ({child.returncode}): {child.stderr.strip()[-300:]}")
    return outcomes


def main() -> int:
    """Run the mutants; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--per-child", type=int, default=50)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        for xml in json.load(sys.stdin):
            print(run(xml), flush=True)
        return 0
    chance, xml = random.Random(options.seed), prepared()
    mutants = [altered(xml, chance) for _ in range(options.count)]
    # the untouched model goes ahead of them: each child compiles the law, which takes the longest
    untouched, *outcomes = children([xml, *(text for text, _ in mutants)], options.per_child)
    wrong = [
        (text, outcome)
        for (text, harmful), outcome in zip(mutants, outcomes, strict=True)
        if outcome.startswith("died") or (harmful and outcome == "running")
    ]
    print(f"untouched: {untouched}; mutants: {dict(Counter(outcomes))}")
    for text, outcome in wrong[:5]:
        numeric = text[text.index("<numeric") : text.index("/>", text.index("<numeric"))]
        print(f"WRONG, {outcome}: {numeric}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
