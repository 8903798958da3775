"""Calibration of sampled posteriors: ranks of the truth among the samples (Talts et al. 2018).

    python benchmarks/posterior_ranks.py RESULTS [--repeats 400] [--problems ridge arm]
    python benchmarks/posterior_ranks.py RESULTS --report

Truths are drawn from the prior (uniform between the bounds), data are simulated with noise, and the
posterior is sampled. Where it is right, the rank of the truth among independent samples is uniform:
the chi-squared test of ten bins has to have p above 0.01. ``ridge``: a product of two factors, of
which one alone has a small effect too, so that the data bound each of them only in part. ``arm``:
armature, damping and friction of a joint under gravity, in MuJoCo. The ranks of the truth in the
Gaussian of the linearised fit, cut at the bounds, stand next to them. RESULTS takes one JSON object
a repeat, and further runs continue.
"""

import argparse
import copy
import json
from pathlib import Path

import mujoco
import numpy as np
from mujoco.rollout import rollout
from scipy.stats import chisquare

from trueup import fitting
from trueup.fitting.posterior.likelihood import NoiseLikelihood
from trueup.fitting.posterior.sampler import PosteriorSampler, reflected
from trueup.fitting.problem import ResidualGroup
from trueup.fitting.uncertainty import SequenceFit, estimate_covariance
from trueup.parameters import Parameter, ParameterDict

SAMPLES, BINS = 99, 10
TIMES = np.linspace(0.0, 2.0, 100)
ARM = """<mujoco><option timestep="0.01" integrator="implicitfast"/><worldbody><body>
<joint name="hinge" axis="0 1 0" armature="0.1" damping="0.1" frictionloss="0.1"/>
<geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.02" mass="1"/></body></worldbody>
<actuator><motor joint="hinge"/></actuator></mujoco>"""
ARM_BOUNDS = {"armature": (0.02, 0.2), "damping": (0.0, 1.0), "friction": (0.0, 0.5)}


def ridge(rng):
    """Truth, and problem of a product of two factors, one of which acts alone a little."""
    truth = rng.uniform(0.0, 2.0, 2)

    def signal(X):
        return X[:, :1] * X[:, 1:] * np.sin(6.0 * TIMES) + 0.05 * X[:, :1] * np.cos(9.0 * TIMES)

    y = signal(truth[None])[0] + 0.3 * rng.normal(size=len(TIMES))
    space = ParameterDict({k: Parameter(k, 1.0, 0.0, 2.0) for k in "ab"}).space()
    return truth, fitting.Vectorised(lambda X: signal(X) - y, space)


def arm(rng):
    """Truth, and problem of a joint with a recorded angle."""
    low, high = np.transpose(list(ARM_BOUNDS.values()))
    truth = rng.uniform(low, high)
    torque = 3.0 * np.sin(2 * np.pi * rng.uniform(0.5, 1.5) * 0.01 * np.arange(200))

    model = mujoco.MjModel.from_xml_string(ARM)
    data, pool = mujoco.MjData(model), []

    def angles(values):
        pool.extend(copy.copy(model) for _ in range(len(values) - len(pool)))
        models = pool[: len(values)]
        for each, (armature, damping, friction) in zip(models, values, strict=True):
            each.dof_armature[:], each.dof_damping[0] = armature, damping
            each.dof_frictionloss[:] = friction
            mujoco.mj_setConst(each, data)
        controls = np.tile(torque[None, :, None], (len(models), 1, 1))
        states = rollout(models, data, np.zeros((len(models), 3)), controls)[0]
        return states[:, 1::2, 1]

    y = angles(truth[None])[0] + 0.02 * rng.normal(size=100)
    names = {k: Parameter(k, 0.5 * sum(ends), *ends) for k, ends in ARM_BOUNDS.items()}
    return truth, fitting.Vectorised(lambda X: angles(X) - y, ParameterDict(names).space())


PROBLEMS = {"ridge": ridge, "arm": arm}


def repeat(name: str, seed: int) -> dict:
    """Ranks of the truth in one repeat, by samples and by the linearised fit."""
    rng = np.random.default_rng([list(PROBLEMS).index(name), seed])
    truth, problem = PROBLEMS[name](rng)
    space, p = problem.space, problem.space.size
    x = fitting.minimise(problem, fitting.LeastSquares(space)).x
    residual, jacobian, _ = fitting.final_jacobian(problem, x, central=True)
    found = estimate_covariance(
        [SequenceFit(residual[:, None], np.asarray(jacobian)[:, None, :])], "per_channel"
    )
    group = ResidualGroup("run", ("y",), TIMES, 0)
    likelihood = NoiseLikelihood(residual, [group], np.zeros(0), white=True, parameters=p)
    spread = np.where(np.isfinite(found.matrix), found.matrix, 0.0)
    spread[found.undetermined, found.undetermined] = np.inf
    sampler = PosteriorSampler(problem, likelihood, x, spread, seed)
    samples = sampler.run(200_000)
    rows = np.linspace(0, len(samples.values) - 1, SAMPLES).astype(int)
    wide = found.undetermined
    linear = np.tile(x, (SAMPLES, 1))
    linear[:, wide] = rng.uniform(space.lower[wide], space.upper[wide], (SAMPLES, wide.sum()))
    if (~wide).any():
        block = found.matrix[np.ix_(~wide, ~wide)]
        linear[:, ~wide] += rng.multivariate_normal(np.zeros((~wide).sum()), block, SAMPLES)
    linear = reflected(linear, space.lower, space.upper)
    return {
        "problem": name,
        "seed": seed,
        "converged": samples.converged,
        "evaluations": samples.evaluations,
        "sampled": (samples.values[rows] < truth).sum(axis=0).tolist(),
        "linear": (linear < truth).sum(axis=0).tolist(),
    }


def report(file: Path) -> None:
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
    for name in PROBLEMS:
        some = [row for row in rows if row["problem"] == name]
        if not some:
            continue
        done = sum(row["converged"] for row in some)
        evaluations = np.median([row["evaluations"] for row in some])
        print(f"{name}: {len(some)} repeats, {done} converged, {evaluations:.0f} evaluations each")
        for kind in ("sampled", "linear"):
            for k, ranks in enumerate(np.transpose([row[kind] for row in some])):
                counts = np.histogram(ranks, bins=BINS, range=(0, SAMPLES + 1))[0]
                p = chisquare(counts).pvalue
                print(f"  {kind:8s} parameter {k}: p {p:.3g}  {' '.join(map(str, counts))}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS), choices=list(PROBLEMS))
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    known = set()
    if given.results.is_file():
        read = map(json.loads, given.results.read_text().splitlines())
        known = {(row["problem"], row["seed"]) for row in read}
    for problem_name in [] if given.report else given.problems:
        for number in range(given.repeats):
            if (problem_name, number) not in known:
                row = repeat(problem_name, number)
                with given.results.open("a") as out:
                    out.write(json.dumps(row) + "\n")
    report(given.results)
