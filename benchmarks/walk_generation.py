"""A generation of a search for a walk, by the CPU and by a device: simulated seconds a second.

The candidates are the first generation of CMA-ES about the shipped walk of planar22, each in
repeats with perturbations. Many fall early, as in a search. Speed is the simulated time of all
walks, to their ends, in the time of the evaluation with its costs. Walking is chaotic, so that
costs and durations of the two are compared as samples (Kolmogorov and Smirnov).
"""

import time
from dataclasses import dataclass

import numpy as np
from scipy.stats import ks_2samp

from trueup.gait import load_configuration
from trueup.gait.search._make_problem import make_problem
from trueup.gait.search.problem import evaluate
from trueup.gait.search.searches import make_search
from trueup.gait.search.starts import start_of
from trueup.simulation.warp.devices import DeviceChoice


@dataclass(frozen=True)
class Generation:
    """A generation that was evaluated twice."""

    walks: int
    cpu: float
    """Simulated seconds a second of the CPU."""
    device: float
    """The same of the device."""
    p_cost: float
    """Probability of the difference of the costs, if they had one distribution."""
    p_lasted: float
    """The same of the durations of the walks."""
    notes: tuple[str, ...]


def compare(device: str, population: int, repeats: int, seconds: float) -> Generation:
    """Evaluate a generation by the CPU and by a device, whose kernels are compiled before."""
    changes = {"stages": None, "early_stop": False, "param_path": "shipped", "device": device}
    changes |= {"popsize": population, "perturbed_repeats": repeats, "sim_time": seconds}
    configuration = load_configuration("walk").with_changes(changes)
    problem = make_problem(configuration)
    problem.space, _ = start_of(configuration, problem)
    X = make_search(configuration, problem.space).ask()
    whole = problem.parameters.complete(X)
    (scenario,) = problem.scenarios

    def timed() -> tuple[float, np.ndarray, np.ndarray]:
        problem.costs(X[:2])  # loads compiled code
        began = time.perf_counter()
        costs = problem.costs(X)[:, 0]
        spent = time.perf_counter() - began
        lasted = problem.terms["lasted"]
        return float(lasted.sum()) * repeats / spent, costs, lasted

    cpu, costs, lasted = timed()
    problem.device = DeviceChoice(device)
    found = problem.device.device
    # kernels and graphs of all numbers of worlds
    evaluate(scenario, whole, perturbations=problem.perturbations, device=found)
    own, other_costs, other_lasted = timed()
    return Generation(
        walks=population * repeats,
        cpu=cpu,
        device=own,
        p_cost=float(ks_2samp(costs, other_costs).pvalue),
        p_lasted=float(ks_2samp(lasted, other_lasted).pvalue),
        notes=problem.device_notes,
    )
