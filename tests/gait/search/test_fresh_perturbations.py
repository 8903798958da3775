"""Every generation walks over perturbations of its own; the best is judged by others."""

import json
import zlib

import numpy as np
import pytest
import yaml
from given_configurations import FIRST_WALK, WITH_DEVICE

from trueup.cli import main
from trueup.errors import GaitError
from trueup.fitting import CmaEs, CmaEsSettings, VectorisedCosts, minimise
from trueup.gait import Perturbations, load_configuration, make_problem
from trueup.gait.search.fresh_perturbations import (
    FreshPerturbationsCmaEs,
    _seed,
    final_candidates,
    means_of_generations,
    reevaluated,
)
from trueup.gait.search.shipped_walk import SHIPPED_WALK
from trueup.parameters import Space
from trueup.runs import Store

POPULATION = 12
SETTINGS = CmaEsSettings(population=POPULATION, max_generations=8)


def space_of(size=3):
    return Space(
        names=tuple(f"x{i}" for i in range(size)),
        lower=np.full(size, -5.0),
        upper=np.full(size, 5.0),
        start=np.full(size, 2.0),
        log=np.zeros(size, bool),
        units=("1",) * size,
    )


class Walks(VectorisedCosts):
    """A sphere whose costs hang on the perturbations and the candidate, as those of walks do."""

    def __init__(self, noise=1.0):
        super().__init__(self.cost, space_of())
        self.noise = noise
        self.perturbations = Perturbations(2, seed=7, first_unperturbed=True)
        self.seen: list[tuple[int, np.ndarray]] = []
        self.scenarios = ()
        self.terms = {}

    def cost(self, X):
        seed = self.perturbations.seed
        self.seen.append((seed, X.copy()))
        luck = [np.random.default_rng([seed, zlib.crc32(x.tobytes())]).standard_normal() for x in X]
        total = np.sum(X**2, axis=1) + self.noise * np.array(luck)
        self.terms = {"first": X[:, 0].copy(), "seed": np.full(len(X), float(seed))}
        return total


def generation_of(search, problem):
    """Candidates of a generation, and the seed that each walked over."""
    X = search.ask()
    problem.seen.clear()
    costs = search.evaluate(problem, X, {})
    search.tell(X, costs, {})
    seeds = problem.terms["seed"]
    np.testing.assert_array_equal(problem.terms["first"], X[:, 0])
    return X, seeds


def test_a_generation_shares_perturbations_that_no_other_has_seen():
    problem = Walks()
    search = FreshPerturbationsCmaEs(problem.space, SETTINGS, seed=1)
    former: set[float] = set()
    for generation in range(6):
        X, seeds = generation_of(search, problem)
        shared, counts = np.unique(seeds, return_counts=True)
        # the population shares one, with the start value in the first generation
        assert counts.max() == POPULATION + (generation == 0)
        # the best and its challenger walk over others, the same for both
        judges = seeds != shared[np.argmax(counts)]
        if generation:
            contenders = np.unique(X[judges], axis=0)
            assert len(contenders) in (1, 2)
            for one in contenders:
                own = seeds[judges & (one == X).all(axis=1)]
                assert len(set(own)) == len(own) == 4
            assert len(set(seeds[judges])) == 4
        assert not former & set(shared)
        former |= set(shared)
    assert problem.perturbations.seed == 7 and 7.0 not in former


def test_what_is_told_of_the_best_is_no_luck():
    """The cheapest of many noisy costs is far below what its candidate costs on average."""
    problem = Walks(noise=1.0)
    settings = CmaEsSettings(population=40, max_generations=25)
    found = minimise(problem, FreshPerturbationsCmaEs(problem.space, settings, seed=3))
    true = float(np.sum(found.x**2))
    assert true < 0.5
    assert abs(found.cost - true) < 0.5
    lucky = minimise(problem, CmaEs(problem.space, settings, seed=3))
    assert lucky.cost < -2.0


def test_no_candidate_walks_again_for_being_noisy():
    """Half as many candidates would be walked in the same time."""
    problem = Walks(noise=50.0)
    search = FreshPerturbationsCmaEs(problem.space, SETTINGS, seed=1)
    sizes = [len(generation_of(search, problem)[0]) for _ in range(6)]
    assert sizes[0] == POPULATION + 1
    assert max(sizes) <= POPULATION + 8
    assert search.info()["repeats"] == 1


def test_the_same_seed_gives_the_same_history_and_another_one_another():
    def history(seed, perturbations=7):
        problem = Walks()
        problem.perturbations = Perturbations(2, seed=perturbations)
        return minimise(problem, FreshPerturbationsCmaEs(problem.space, SETTINGS, seed)).history

    assert history(1) == history(1)
    assert history(1) != history(2)
    assert history(1) != history(1, perturbations=8)


def test_a_search_goes_on_from_its_state_as_if_never_stopped():
    def go(search, problem, generations):
        return [generation_of(search, problem) for _ in range(generations)]

    whole = go(FreshPerturbationsCmaEs(space_of(), SETTINGS, seed=1), Walks(), 6)
    first = FreshPerturbationsCmaEs(space_of(), SETTINGS, seed=1)
    go(first, Walks(), 3)
    resumed = FreshPerturbationsCmaEs.from_state(first.state(), space_of())
    for (X, seeds), (Y, others) in zip(whole[3:], go(resumed, Walks(), 3), strict=True):
        np.testing.assert_array_equal(X, Y)
        np.testing.assert_array_equal(seeds, others)


def test_candidates_that_cannot_walk_are_named_by_their_row():
    class Refusing(Walks):
        def costs(self, X, failures=None):
            if failures is not None:
                failures.update({int(i): "too far" for i in np.flatnonzero(X[:, 0] > 2.5)})
            return super().costs(X, failures)

    problem = Refusing()
    search = FreshPerturbationsCmaEs(problem.space, SETTINGS, seed=1)
    for _ in range(3):
        X, failures = search.ask(), {}
        costs = search.evaluate(problem, X, failures)
        assert set(failures) == set(np.flatnonzero(X[:, 0] > 2.5).tolist())
        search.tell(X, costs, failures)


def test_the_perturbations_of_the_problem_are_its_own_again_after_an_error():
    broken = Walks()
    broken.costs = lambda X, failures=None: 1 / 0
    own = broken.perturbations
    search = FreshPerturbationsCmaEs(broken.space, SETTINGS)
    with pytest.raises(ZeroDivisionError):
        search.evaluate(broken, search.ask(), {})
    assert broken.perturbations is own


def test_the_cheapest_fifth_of_each_of_the_last_generations_is_left_over():
    generation = np.repeat(np.arange(7), 10)
    X = np.arange(70.0)[:, None]
    costs = np.tile(np.arange(10.0)[::-1], 7)
    left = final_candidates(X, costs, generation)
    np.testing.assert_array_equal(left[:, 0], [n * 10 + k for n in range(2, 7) for k in (8, 9)])
    # what could not walk is not cheap
    costs[69] = np.nan
    assert {67.0, 68.0} < set(final_candidates(X, costs, generation)[:, 0])
    # one candidate at least, each once
    few = final_candidates(np.zeros((6, 1)), np.arange(6.0), np.repeat([0, 1], 3))
    np.testing.assert_array_equal(few, [[0.0]])


def test_the_mean_of_the_cheaper_half_stands_for_its_generation():
    generation = np.repeat(np.arange(5), 4)
    X = np.stack([np.arange(20.0), np.arange(20.0) ** 2], axis=1)
    costs = np.tile([5.0, 1.0, 3.0, np.nan], 5)
    means = means_of_generations(X, costs, generation, 3)
    # of three that could walk the cheapest alone is the cheaper half
    np.testing.assert_array_equal(means, X[[9, 13, 17]])
    costs[19] = 2.0
    np.testing.assert_array_equal(
        means_of_generations(X, costs, generation, 1)[0], X[[17, 19]].mean(0)
    )
    assert means_of_generations(X, np.full(20, np.nan), generation).shape == (0, 2)


def test_a_candidate_that_walked_several_times_counts_once_by_its_mean():
    X = np.array([[1.0]] * 5 + [[2.0]] * 2 + [[3.0]] * 2 + [[4.0], [5.0], [6.0], [7.0]])
    # the first one was lucky once, and dear on average; the third is the cheapest
    costs = np.array([0.0, 9.0, 9.0, 9.0, 9.0, 5.0, 5.0, 2.0, 4.0, 6.0, 6.0, 6.0, 6.0])
    left = final_candidates(X, costs, np.zeros(13, int))
    np.testing.assert_array_equal(left, [[3.0]])


class Unsteady(Walks):
    """Candidates whose luck of each repeat is averaged over the repeats."""

    def cost(self, X):
        self.seen.append((self.perturbations.seed, X.copy(), self.perturbations.repeats))
        luck = [
            np.random.default_rng([self.perturbations.seed, zlib.crc32(x.tobytes()), repeat])
            for x in X
            for repeat in range(self.perturbations.repeats)
        ]
        noise = np.array([one.standard_normal() for one in luck]).reshape(len(X), -1)
        return np.sum(X**2, axis=1) + self.noise * noise.mean(axis=1)


def test_candidates_are_chosen_by_some_repeats_and_their_cost_told_of_others():
    problem = Unsteady(noise=1.0)
    own = problem.perturbations
    candidates = np.sqrt(np.linspace(0.0, 3.0, 40))[:, None] * np.eye(3)[:1]
    judged = reevaluated(problem, candidates)
    (chosen_by, seen, repeats), (told_by, best, others) = problem.seen
    assert (len(seen), repeats) == (40, 16) and (len(best), others) == (1, 20)
    assert len({chosen_by, told_by, own.seed}) == 3
    np.testing.assert_array_equal(best[0], judged.x)
    assert np.sum(judged.x**2) < 1.0
    assert abs(judged.cost - np.sum(judged.x**2)) < 4.0 / np.sqrt(20)
    assert problem.perturbations is own
    assert reevaluated(Unsteady(noise=1.0), candidates).cost == judged.cost
    for words in (
        f"cost {judged.cost:.6g}",
        "over 20 repeats",
        "over 16 other repeats",
        "40 candidates",
    ):
        assert words in judged.message


def test_a_candidate_that_falls_soon_after_the_search_is_passed_over(monkeypatch):
    short = {"sim_time": 0.8, "cost": "vel", "perturbed_repeats": 2, "unperturbed_repeat": True}
    problem = make_problem(load_configuration(FIRST_WALK).with_changes(short), threads=1)
    given = json.loads(SHIPPED_WALK.read_text())["parameters"]
    falls_after_a_second = problem.space.start
    shipped = np.array([given[name] for name in problem.space.names])
    monkeypatch.setattr(
        problem, "costs", lambda X: np.any(falls_after_a_second != X, axis=1).astype(float)[:, None]
    )
    judged = reevaluated(problem, np.array([falls_after_a_second, shipped]))
    np.testing.assert_array_equal(judged.x, shipped)
    assert judged.cost == 1.0 and "without 1 cheaper ones that fall" in judged.message
    alone = reevaluated(problem, falls_after_a_second[None])
    np.testing.assert_array_equal(alone.x, falls_after_a_second)
    assert "that fall" not in alone.message


def test_nothing_is_judged_without_perturbed_repeats():
    problem = Unsteady()
    problem.perturbations = None
    with pytest.raises(GaitError, match="the problem has none"):
        reevaluated(problem, np.zeros((1, 3)))


def test_a_problem_without_perturbed_repeats_is_refused():
    plain = VectorisedCosts(lambda X: np.sum(X**2, axis=1), space_of())
    search = FreshPerturbationsCmaEs(plain.space, SETTINGS)
    with pytest.raises(GaitError, match="requires a gait problem with perturbed repeats"):
        search.evaluate(plain, search.ask(), {})


def test_walks_cost_what_they_cost_over_these_perturbations():
    configuration = load_configuration(FIRST_WALK).with_changes(
        {
            "sim_time": 0.4,
            "cost": "vel",
            "perturbed_repeats": 2,
            "unperturbed_repeat": True,
            "fresh_perturbations": True,
        }
    )
    problem = make_problem(configuration, threads=1)
    search = FreshPerturbationsCmaEs(problem.space, CmaEsSettings(population=4), seed=0)
    X = search.ask()
    costs = search.evaluate(problem, X, {})
    other = make_problem(configuration, threads=1)
    assert other.perturbations is not None
    seed = _seed(other.perturbations, 0, 0)
    changed = configuration.with_changes({"perturbation_seed": seed, "fresh_perturbations": False})
    same = make_problem(changed, threads=1)
    np.testing.assert_array_equal(costs, same.costs(X))
    assert (costs != other.costs(X)).any()
    for name, values in same.terms.items():
        np.testing.assert_array_equal(problem.terms[name], values)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"perturbed_repeats": 0}, "fresh_perturbations.* requires perturbed repeats"),
        ({"early_stop": True}, "remove one of them"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(changes, words):
    given = {"perturbed_repeats": 2, "fresh_perturbations": True, **changes}
    with pytest.raises(GaitError, match=words):
        make_problem(load_configuration(FIRST_WALK).with_changes(given))


def called(capsys, *words):
    code = main(["gait", *map(str, words), "--json"])
    return code, json.loads(capsys.readouterr().out)


WORDS = (
    "optimize", WITH_DEVICE, "--sim-time", 0.3, "--popsize", 6, "--quiet",
)  # fmt: skip


def test_a_resumed_run_equals_an_uninterrupted_one(capsys, tmp_path):
    code, whole = called(capsys, *WORDS, "--maxiter", 4, "--save-path", tmp_path / "whole")
    assert code == 0
    assert called(capsys, *WORDS, "--maxiter", 2, "--save-path", tmp_path / "run")[0] == 0
    words = ("--save-path", tmp_path / "run", "--resume", "--maxiter", 4, "--quiet")
    code, resumed = called(capsys, "optimize", WITH_DEVICE, *words)
    assert code == 0
    assert resumed["parameters"] == whole["parameters"] and resumed["cost"] == whole["cost"]
    terms = [(tmp_path / name / "terms.jsonl").read_text() for name in ("whole", "run")]
    assert terms[0] == terms[1]


def test_a_run_is_walked_without_perturbations_too(capsys, tmp_path):
    assert called(capsys, *WORDS, "--maxiter", 2, "--save-path", tmp_path / "run")[0] == 0
    code, over_repeats = called(capsys, "evaluate", tmp_path / "run")
    assert code == 0
    words = ("perturbed_repeats=0", "unperturbed_repeat=0")
    code, alone = called(capsys, "evaluate", tmp_path / "run", *words)
    assert code == 0 and alone["scalar"] != over_repeats["scalar"]
    (best,) = (tmp_path / "run").glob("*_Best.txt")
    cost = float((best.with_name(f"{best.stem}_Cost.txt")).read_text().split()[2])
    assert over_repeats["scalar"] == cost


def test_the_run_ends_with_a_candidate_of_the_last_generations(capsys, tmp_path):
    run = tmp_path / "run"
    code, answer = called(capsys, *WORDS, "--maxiter", 7, "--save-path", run)
    assert code == 0
    assert "a mean over 20 repeats" in answer["message"]
    with Store.open(run / "study.sqlite") as store:
        history = store.history()
    found = np.array([row["value"] for row in answer["parameters"]])
    rows = np.flatnonzero((found == history.X).all(axis=1))
    late = history.generation >= history.generation.max() - 4
    # one of them, or a mean of theirs, which is none of the candidates but lies among them
    assert late[rows].any() or not len(rows)
    assert (history.X[late].min(axis=0) <= found).all()
    assert (found <= history.X[late].max(axis=0)).all()
    parameters = json.loads((run / "parameters.json").read_text())
    assert list(parameters["parameters"].values()) == found.tolist()
    assert parameters["cost"] == answer["cost"]
    # another search starts from that one
    other = tmp_path / "other"
    code, _ = called(capsys, *WORDS, "--maxiter", 1, "--param-path", run, "--save-path", other)
    assert code == 0
    start = yaml.safe_load((other / "experiment.yaml").read_text())["start"]
    kept = {name: start[name] for name in start if not name.startswith("exo_")}
    assert kept == {name: parameters["parameters"][name] for name in kept}


def test_the_run_tells_one_cost_everywhere(capsys, tmp_path):
    run = tmp_path / "run"
    code, answer = called(capsys, *WORDS, "--maxiter", 3, "--save-path", run)
    assert code == 0
    cost = answer["cost"]
    assert answer["terms"]["cost"] == cost and f"cost {cost:.6g}, a mean" in answer["message"]
    (best,) = run.glob("*_Best_Cost.txt")
    assert float(best.read_text().split()[2]) == cost
    assert called(capsys, "evaluate", run)[1]["scalar"] == cost
    page = (run / "report.html").read_text()
    assert "has changed since" not in page
    # a change is still told
    content = json.loads((run / "solution.json").read_text())
    (run / "solution.json").write_text(json.dumps({**content, "cost": cost + 1.0}))
    assert main(["report", str(run)]) == 0
    assert "has changed since" in (run / "report.html").read_text()


def test_a_run_in_progress_is_no_changed_one(capsys, tmp_path):
    run = tmp_path / "run"
    assert called(capsys, *WORDS, "--maxiter", 3, "--save-path", run)[0] == 0
    (run / "solution.json").unlink()
    assert main(["report", str(run)]) == 0
    assert "has changed since" not in (run / "report.html").read_text()


def test_a_stop_while_the_last_candidates_are_judged_loses_nothing(capsys, tmp_path, monkeypatch):
    assert called(capsys, *WORDS, "--maxiter", 2, "--save-path", tmp_path / "whole")[0] == 0
    run = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr("trueup.gait.result.reevaluated", interrupted)
        code, answer = called(capsys, *WORDS, "--maxiter", 2, "--save-path", run)
    assert code == 130 and "which is saved" in answer["message"]
    assert f"trueup study resume {run}" in answer["message"]
    kept = json.loads((run / "solution.json").read_text())
    assert "was not finished" in kept["failed"]["the assessment"] and "verdict" not in kept
    assert main(["study", "resume", str(run), "--quiet", "--json"]) == 0
    written, expected = (
        json.loads((tmp_path / name / "solution.json").read_text()) for name in ("run", "whole")
    )
    for key in ("cost", "parameters", "terms", "survival"):
        assert written[key] == expected[key]


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_scatter_has_no_fresh_perturbations(capsys, tmp_path):
    words = ("search=scatter", "--save-path", tmp_path / "run", "--maxiter", 1)
    code, answer = called(capsys, *WORDS, *words)
    assert code == 2 and "fresh_perturbations" in answer["message"]
    assert not (tmp_path / "run").exists()
