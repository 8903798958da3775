"""What can be wrong with a study: one clear error, exit code 2, nothing lost."""

import json
import os
import resource
import signal
import subprocess
import sys

import pytest
import study_problem_file
from tests.waiting import until

from trueup.runs import Store


@pytest.fixture
def own(tmp_path, monkeypatch):
    path = tmp_path / "own_problems.py"
    path.write_text(study_problem_file.TEXT)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield path
    sys.modules.pop("own_problems", None)


def study(*words, **options):
    """A command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "trueup", "study", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def rows(run):
    with Store.open(run / "study.sqlite") as store:
        history = store.history()
    return history.X.tobytes(), history.costs.tobytes(), len(history.X)


BAD = {
    "a near name": (["sphre"], "Did you mean 'sphere'"),
    "a file without a function": (["mine.py"], "has no function"),
    "a file that is not there": (["none.py:problem"], "no such file: none.py"),
    "dimension zero": (["sphere", "--dimension", "0"], "--dimension must be at least 1"),
    "a dimension that is fixed": (["bard", "--dimension", "9"], "remove --dimension"),
    "a near option of cma": (
        ["sphere", "cma_options=tolfunn:1e-9"],
        "tolfun",
    ),
    "no value for an option of cma": (["sphere", "cma_options=tolfun"], "key:value"),
    "a scatter without end": (["zdt1", "--method", "scatter"], "requires a limit"),
    "a scatter of no width": (
        ["zdt1", "--method", "scatter", "sigma=0", "--evaluations", "9"],
        "sigma is 0",
    ),
    "options of another method": (["zdt1", "sigma=0.1"], "sigma is not supported by the method"),
    "several costs for one": (["zdt1", "--method", "cmaes"], "minimises one cost"),
    "costs for residuals": (["sphere", "--method", "least-squares"], "requires residuals"),
    "no end": (["sphere", "--method", "sobol"], "requires a limit"),
    "a budget of nothing": (["sphere", "--evaluations", "0"], "max_evaluations must be positive"),
    "a target that no cost reaches": (["sphere", "target_cost=.nan"], "target_cost must be finite"),
    "a negative seed": (["sphere", "--seed", "-1"], "between 0 and"),
    "a population for nobody": (
        ["exponential_decay", "--method", "least-squares", "population=4"],
        "no population",
    ),
    "resume and overwrite": (["sphere", "--resume", "--overwrite"], "give one of them"),
    "a start from nowhere": (["sphere", "--param-path", "none.json"], "no such file: none.json"),
    "negative workers": (["sphere", "workers=-2"], "workers"),
    "a scheduler that is away": (["sphere", "scheduler=tcp://127.0.0.1:1"], "reached"),
    "a resume of nothing": (["sphere", "--resume"], "does not exist"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_input_is_refused_before_anything_is_written(command, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trueup.runs.evaluators.dask_cluster._CONNECT", 1.0)
    words, said = BAD[name]
    code, answer = command("study", "run", *words)
    assert code == 2
    assert said in answer["message"]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("problm", "Did you mean 'problem'"),
        ("nothing", "returned a dict; expected a trueup.fitting.Problem"),
        ("with_argument", "requires the arguments 'size'"),
        (
            "BEST",
            "has no function 'BEST'; available: 'problem', 'slow', 'slower', 'nothing', "
            "'with_argument'",
        ),
    ],
)
def test_a_function_that_gives_no_problem(command, own, tmp_path, function, said):
    code, answer = command("study", "run", f"{own}:{function}", "-o", tmp_path / "run")
    assert code == 2
    assert said in answer["message"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("def problem(:\n", "line 1"), ("import no_such_module\n", "no_such_module")],
)
def test_a_file_that_cannot_be_imported(command, own, text, said):
    own.write_text(text)
    code, answer = command("study", "run", f"{own}:problem")
    assert (code, said in answer["message"]) == (2, True)


def test_a_file_must_not_hide_a_module(command, tmp_path):
    path = tmp_path / "json.py"
    path.write_text(study_problem_file.TEXT)
    code, answer = command("study", "run", f"{path}:problem")
    assert (code, "rename" in answer["message"]) == (2, True)


def test_a_file_in_the_working_folder_is_no_other_module(command, own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sys.path.insert(0, "")  # as python -m does
    for _ in range(2):
        code, _ = command("study", "run", "own_problems.py:problem", "--dry-run")
        assert code == 0


def test_a_run_is_resumed_only_as_what_it_is(command, own, tmp_path):
    run = tmp_path / "run"
    search = ("study", "run", f"{own}:problem", "--method", "cmaes", "-o", run)
    command(*search, "--generations", 3)
    kept = rows(run)
    for words, said in (
        (["--seed", 7, "--resume"], "a different 'seed'"),
        (["population=9", "--resume"], "a different 'population'"),
        ([], "already contains a run"),
    ):
        code, answer = command(*search, *words)
        assert (code, said in answer["message"]) == (2, True), answer
    code, answer = command("study", "run", "sphere", "-o", run, "--resume")
    assert (code, "'problem'" in answer["message"]) == (2, True), answer
    own.write_text(own.read_text().replace("BEST = np.array([2.0", "BEST = np.array([3.0"))
    code, answer = command("study", "resume", run)
    assert (code, "has changed since" in answer["message"]) == (2, True)
    own.unlink()
    code, answer = command("study", "resume", run)
    assert (code, "--folder" in answer["message"]) == (2, True)
    assert rows(run) == kept


def test_a_run_may_move_with_its_file(command, own, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    file = own.rename(home / own.name)
    search = (f"{file}:problem", "--method", "cmaes", "--generations", 3)
    command("study", "run", *search, "-o", home / "run")
    moved = home.rename(tmp_path / "moved")
    sys.modules.pop("own_problems")
    code, said = command("study", "resume", moved / "run", "--generations", 5)
    assert (code, said["stats"]["generations"]) == (3, 5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: (d / "study.sqlite").write_bytes(b"x" * 5000), "damaged or is not a study file"),
        (
            lambda d: (d / "experiment.yaml").write_text("kind: study\nformat_version: 2\n"),
            "missing 'name'",
        ),
        (
            lambda d: (d / "experiment.yaml").write_text("kind: study\nformat_version: 1\n"),
            "its format is 1",
        ),
        (lambda d: (d / "experiment.yaml").write_text("kind: study\nformat_version: 9\n"), "newer"),
        (lambda d: (d / "experiment.yaml").write_text("kind: painting\n"), "'painting'"),
        (lambda d: (d / "experiment.yaml").write_text("[1, 2]"), "expected a mapping"),
        (lambda d: (d / "experiment.yaml").unlink(), "no experiment.yaml"),
        (lambda d: (d / "run.json").write_text('{"format": "other"}'), "of another program"),
    ],
)
def test_a_damaged_or_newer_run_is_refused(command, tmp_path, change, said):
    run = tmp_path / "run"
    command("study", "run", "sphere", "--dimension", 2, "--generations", 2, "-o", run)
    change(run)
    code, answer = command("study", "resume", run)
    assert code == 2
    assert said in answer["message"]


def test_export_refuses_what_it_cannot_write(command, tmp_path):
    run = tmp_path / "run"
    command("study", "run", "sphere", "--dimension", 2, "--generations", 2, "-o", run)
    code, said = command("study", "export", run, "-o", tmp_path / "a.xlsx")
    assert (code, "'.parquet', '.csv', '.json'" in said["message"]) == (2, True)
    (tmp_path / "a.csv").write_text("mine")
    code, said = command("study", "export", run, "-o", tmp_path / "a.csv")
    assert (code, "--overwrite" in said["message"]) == (2, True)
    assert (tmp_path / "a.csv").read_text() == "mine"
    code, said = command("study", "export", run, "-o", tmp_path / "none" / "a.csv")
    assert (code, "cannot write" in said["message"]) == (2, True)


@pytest.mark.slow
def test_a_disk_that_fills_up_costs_one_error_and_no_checkpoint(command, own, tmp_path):
    """The limit on the size of a file stands for the full disk: writing fails in the same way.

    Half a second passes before the first checkpoint, and the whole search takes three.
    """
    whole, run = tmp_path / "whole", tmp_path / "run"
    search = ["run", f"{own}:slower", "--method", "cmaes", "--generations", "30"]
    search += ["population=60"]
    command("study", *search, "--output", whole)
    size = (whole / "study.sqlite").stat().st_size

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(0.8 * size), int(0.8 * size)))

    done = study(*search, "--output", run, "--quiet", preexec_fn=limit)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "free space" in done.stderr and "--resume" in done.stderr
    _, _, kept = rows(run)
    assert 0 < kept < rows(whole)[2]
    best = json.loads((run / "parameters.json").read_text())
    assert best["cost"] > 0
    assert command("study", "show", run)[1]["state"] == "stopped"
    assert command("study", "resume", run)[0] in (0, 3)
    assert rows(run) == rows(whole)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_study_that_is_stopped_goes_on(command, own, tmp_path, number):
    whole, run = tmp_path / "whole", tmp_path / "run"
    search = ["run", f"{own}:slow", "--method", "cmaes", "--generations", "60"]
    command("study", *search, "--output", whole)
    process = subprocess.Popen(
        [sys.executable, "-m", "trueup", "study", *search, "--output", str(run)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until((run / "parameters.json").is_file, process)
    os.kill(process.pid, number)
    _, said = process.communicate()
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert f"trueup study resume {run}" in said
        assert "Traceback" not in said
    assert not (run / "solution.json").exists()
    _, done = command("study", "resume", run)
    assert done["stats"]["generations"] == 60
    assert rows(run) == rows(whole)


WRONG_COSTS = {
    "turned": ("np.stack([X[:, 0], X[:, 1]])", "costs of shape (2, "),
    "text": ("[['a', 'b']] * len(X)", "not a real numeric type"),
    "failing": ("1 / 0", "division"),
}


@pytest.mark.parametrize(("values", "told"), WRONG_COSTS.values(), ids=WRONG_COSTS)
def test_costs_that_cannot_be_used_leave_no_folder(tmp_path, values, told):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "from trueup.fitting import VectorisedCosts\n"
        "from trueup.parameters import Parameter, ParameterDict\n"
        "def problem():\n"
        "    names = {name: Parameter(name, 0.5, 0.0, 1.0) for name in 'ab'}\n"
        "    space = ParameterDict(names).space()\n"
        f"    return VectorisedCosts(lambda X: {values}, space, objectives=('a', 'b'))\n"
    )
    answer = study("run", "mine.py:problem", "--evaluations", 200, cwd=tmp_path)
    assert answer.returncode != 0 and told in answer.stderr
    assert not (tmp_path / "runs" / "mine").exists()


def test_fewer_evaluations_than_a_first_batch_leave_no_folder(command, tmp_path):
    run = tmp_path / "run"
    code, answer = command("study", "run", "zdt1", "--evaluations", 20, "-o", run)
    assert code == 2 and "increase the limit" in answer["message"]
    assert not run.exists()


def test_a_problem_without_a_valid_candidate_says_so(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "from trueup.fitting import VectorisedCosts\n"
        "from trueup.parameters import Parameter, ParameterDict\n"
        "def problem():\n"
        "    space = ParameterDict({'a': Parameter('a', 0.5, 0.0, 1.0)}).space()\n"
        "    return VectorisedCosts(lambda X: np.nan * X[:, 0], space)\n"
    )
    answer = study("run", "mine.py:problem", "--evaluations", 20, cwd=tmp_path)
    assert answer.returncode == 3
    assert "No candidate was valid" in answer.stdout and "Increase the budget" not in answer.stdout
