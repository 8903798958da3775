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
