"""The example that submits jobs to SLURM, with a stand-in for the commands of SLURM."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

# not imported here: importing it replaces the handler of Ctrl-C in this process, for all tests
if find_spec("dask_jobqueue") is None:
    pytest.skip("dask_jobqueue is not installed", allow_module_level=True)

_EXAMPLE = Path(__file__).parents[3] / "examples" / "slurm" / "study_on_slurm.py"

# A job is a process group of its own; its number is that of the group. It runs a copy of the
# script, as SLURM's jobs do: the script itself is deleted as soon as it is submitted.
_SBATCH = """#!/bin/bash
cp "$1" "$JOBS/script"
setsid bash "$JOBS/script" >"$JOBS/log" 2>&1 &
echo $! >>"$JOBS/submitted"
echo "Submitted batch job $!"
"""
_SCANCEL = """#!/bin/bash
echo "$@" >>"$JOBS/cancelled"
for job in "$@"; do kill -TERM -- "-$job"; done
"""


@pytest.fixture
def slurm(tmp_path):
    """Environment with ``sbatch`` and ``scancel``, and the folder of their notes."""
    commands, jobs = tmp_path / "bin", tmp_path / "jobs"
    commands.mkdir()
    jobs.mkdir()
    for name, text in (("sbatch", _SBATCH), ("scancel", _SCANCEL)):
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "JOBS": str(jobs)}, jobs


def _run(environment, folder, *options):
    command = [sys.executable, _EXAMPLE, "--interface", "lo", "--queue", "short", *options]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
def test_a_study_runs_on_jobs_and_ends_them(slurm, tmp_path):
    environment, jobs = slurm
    done = _run(environment, tmp_path, "--jobs", "1", "--generations", "3")
    assert done.returncode == 0, done.stderr + (jobs / "log").read_text()
    assert "ITERATION_LIMIT" in done.stdout
    script = (jobs / "script").read_text()
    assert "#SBATCH -p short" in script
    assert "export OMP_NUM_THREADS=1" in script
    submitted = (jobs / "submitted").read_text().split()
    assert (jobs / "cancelled").read_text().split() == submitted
    _, alive = psutil.wait_procs(
        [psutil.Process(int(job)) for job in submitted if psutil.pid_exists(int(job))], timeout=10
    )
    assert not alive


def test_the_script_of_a_job_is_shown_and_nothing_submitted(slurm, tmp_path):
    environment, jobs = slurm
    done = _run(environment, tmp_path, "--show-job")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("#!/usr/bin/env bash")
    assert "--lifetime 55m" in done.stdout
    assert not list(jobs.iterdir())
