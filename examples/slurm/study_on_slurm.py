"""Study whose candidates are evaluated by jobs of a SLURM cluster.

Run it on a machine that can submit jobs, such as a login node, in a terminal multiplexer, or as a
small job::

    python study_on_slurm.py --jobs 4 --queue short

Each job runs one worker; a job that reaches its time limit is replaced. ``--resume`` continues a
stopped study. ``--show-job`` prints the job script without submitting it.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from trueup.fitting import CmaEs
from trueup.fitting.problem import VectorisedCosts
from trueup.parameters import Space
from trueup.runs import Budget, RunDirectory, run_search
from trueup.runs.evaluators import DaskCluster


def slow_costs(X: np.ndarray) -> np.ndarray:
    """Costs ``(n,)`` of candidates ``(n, p)``: put your simulation here."""
    costs = np.empty(len(X))
    for i, x in enumerate(X):
        time.sleep(0.05)
        costs[i] = np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    return costs


def make_problem() -> VectorisedCosts:
    """Four unknowns between -2 and 2."""
    names = ("a", "b", "c", "d")
    space = Space(names, np.full(4, -2.0), np.full(4, 2.0), np.zeros(4), np.zeros(4, bool))
    return VectorisedCosts(slow_costs, space)


def make_cluster(options: argparse.Namespace):
    """The jobs: one worker of one core each."""
    from dask_jobqueue import SLURMCluster

    return SLURMCluster(
        queue=options.queue,
        account=options.account,
        cores=1,
        processes=1,
        memory=options.memory,
        walltime=options.walltime,
        # the network that compute nodes and this machine share, such as ib0
        interface=options.interface,
        # compiled libraries use as many threads as the job has cores
        job_script_prologue=[
            f"export {name}=1" for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
        ],
        # leaves before the job is ended, so that nothing is lost in the middle of a chunk
        worker_extra_args=["--lifetime", options.lifetime, "--lifetime-stagger", "2m"],
        scheduler_options={"dashboard": False},
    )


def main() -> None:
    """Run the study, or print the script of a job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--queue")
    parser.add_argument("--account")
    parser.add_argument("--interface")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--walltime", default="01:00:00")
    parser.add_argument("--lifetime", default="55m", help="shorter than the walltime")
    parser.add_argument("--output", type=Path, default=Path("slurm_study"))
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--show-job", action="store_true")
    options = parser.parse_args()
    with make_cluster(options) as cluster:
        if options.show_job:
            print(cluster.job_script())
            return
        # as many jobs all the time: one that has ended is submitted again
        cluster.adapt(minimum_jobs=options.jobs, maximum_jobs=options.jobs)
        problem = make_problem()
        directory = (
            RunDirectory.open(options.output)
            if options.resume
            else RunDirectory.create(options.output)
        )
        solution = run_search(
            problem,
            CmaEs(problem.space, seed=1),
            directory,
            resume=options.resume,
            budget=Budget(max_generations=options.generations),
            # a job may wait in the queue for as long [s]
            evaluator=DaskCluster(cluster, patience=24 * 3600.0),
        )
        print(solution.status.name, solution.message)
        print(solution.parameters)


if __name__ == "__main__":
    main()
