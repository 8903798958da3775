"""Prepared models whose plan was altered: the law is marked as failed, and nothing is harmed."""

import subprocess
import sys
from pathlib import Path

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmarks" / "prepared_model_mutants.py"


def test_no_altered_plan_harms_the_process():
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), "--count", "60", "--seed", "7", "--per-child", "61"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("untouched: running")
    assert "'failed'" in done.stdout and "died" not in done.stdout


IN_MEMORY = """
import itertools, sys
import mujoco
sys.path.insert(0, sys.argv[1])
from prepared_model_mutants import LAW, prepared
from trueup.simulation import captured_warnings, control

fields = ("numeric_adr", "numeric_size", "tuple_adr", "tuple_size", "tuple_objid", "tuple_objtype")
values = (-1, -(2**30), 3, 2**30, 2**31 - 1)
xml = prepared()
for field, value, place in itertools.product(fields, values, (0, -1)):
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    print(field, value, flush=True)
    getattr(model, field)[place] = value
    with captured_warnings(), control.installed(LAW):
        for _ in range(3):
            mujoco.mj_step(model, data)
print("done")
"""


def test_addresses_that_are_changed_in_memory_do_not_harm_the_process():
    """The compiler writes these fields; of MuJoCo's step only the callback reads them."""
    done = subprocess.run(
        [sys.executable, "-c", IN_MEMORY, str(BENCHMARK.parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode} after {done.stdout[-60:]} {done.stderr[-300:]}"
    assert done.stdout.endswith("done\n")
