"""The project itself: names are documented, commands exist, examples run, packages stay light."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import trueup
from trueup.simulation.targets.actuator_targets import ACTUATOR_TARGETS
from trueup.sysid.experiment.settings import Experiment

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "trueup"
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))

import executed_examples  # noqa: E402
import generated_reference  # noqa: E402

from project_imports import circles, import_graph, private_imports  # noqa: E402

# Data flows down this list: a package imports only from those above it.
LAYERS = (
    "errors",
    "signals",
    "parameters",
    "simulation",
    "fitting",
    "reports",
    "runs",
    "sysid",
    "actuators",
    "networks",
    "gait",
    "explain",
    "knowledge",
    "deploy",
    "reconcile",
    "randomise",
    "design",
    "cli",
)
FREE = (
    "_version",
    "_lazy",
    "_mujoco_files",
    "_secrets",
    "_secret_forms",
    "_input_files",
    "_memory_budget",
    "_seeds",
    "_finite_numbers",
    "_registered_names",
    "_options",
    "_marks",
    "_rich_display",
    "_writing",
    "_stop_signals",
    "compilation",
    "time_limit",
)
"""Modules below everything, which anyone may import."""

HEAVY = ("mujoco", "numba", "scipy", "torch", "plotly", "pyarrow", "optuna", "cma", "pandas")

PACKAGES = generated_reference.public_packages()
NAMES = [(p, name) for p in PACKAGES for name in generated_reference.public_names(p)]


def docstring_of(package: str, name: str) -> str:
    """Docstring of a public name: its own, or the text beside the assignment of a constant."""
    value = getattr(importlib.import_module(package), name)
    if inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value):
        return inspect.getdoc(value) or ""
    return generated_reference.data_docstring(package, name)


@pytest.mark.parametrize(("package", "name"), NAMES, ids=[".".join(pair) for pair in NAMES])
def test_public_names_have_a_docstring(package, name):
    doc = docstring_of(package, name)
    # dataclasses and enumerations without a docstring get a generated one
    assert doc and not doc.startswith(f"{name}("), f"{package}.{name} has no docstring"


@pytest.mark.parametrize("package", PACKAGES)
def test_public_methods_have_a_docstring(package):
    missing = []
    for name in generated_reference.public_names(package):
        value = getattr(importlib.import_module(package), name)
        if not inspect.isclass(value):
            continue
        for member, function in vars(value).items():
            inner = getattr(function, "fget", None) or getattr(function, "__func__", function)
            own = inspect.isfunction(inner) and inner.__module__.startswith("trueup")
            if own and not member.startswith("_") and not inspect.getdoc(getattr(value, member)):
                missing.append(f"{package}.{name}.{member}")
    assert not missing


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_on_its_api_page(package):
    page = generated_reference.api_page(package)
    for name in generated_reference.public_names(package):
        value = getattr(importlib.import_module(package), name)
        full = value.__name__ if inspect.ismodule(value) else rf"trueup[\w.]*\.{name}"
        assert re.search(rf"\b{full}(`|$)", page, re.MULTILINE), name


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_in_one_group(package):
    groups = generated_reference.public_groups(package)
    names = [name for group in groups.values() for name in group]
    assert sorted(names) == generated_reference.public_names(package)
    page = generated_reference.api_page(package)
    assert len(groups) < 2 or all(page.count(f"\n## {title}\n") == 1 for title in groups)


def test_every_package_is_in_the_index_of_the_api():
    assert set(PACKAGES) <= set(generated_reference.index_page().split())
    folders = {p.parent.name for p in SOURCE.glob("*/__init__.py")}
    documented = {name.split(".")[1] for name in PACKAGES}
    # the command line has a page of its own
    assert folders - {"cli"} == documented - {"errors"}


@pytest.mark.parametrize("package", ["trueup", *(p for p in PACKAGES if p != "trueup.errors")])
def test_public_names_are_flat_and_complete(package):
    module = importlib.import_module(package)
    assert list(module.__all__) == list(dict.fromkeys(module.__all__)), "a name stands twice"
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = module.no_such_name


def test_every_package_is_an_attribute_of_the_one_above_it():
    # dir() too: a package that another module has loaded is an attribute by chance alone
    found = [info for info in pkgutil.iter_modules(trueup.__path__) if info.ispkg]
    packages = {f"trueup.{info.name}" for info in found} | {*PACKAGES}
    code = "import importlib, trueup\n"
    for package in sorted(packages):
        parent, _, name = package.rpartition(".")
        code += f"assert {name!r} in dir({parent}), {package!r}\n"
        code += f"assert {package}.__name__ == {package!r}\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("package", ["trueup", *(p for p in PACKAGES if p != "trueup.errors")])
def test_editors_see_the_names_that_are_loaded_lazily(package):
    module = importlib.import_module(package)
    tree = ast.parse(inspect.getsource(module))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(module.__all__) <= imported


def test_the_reference_of_the_experiment_file_explains_every_key():
    page = generated_reference.experiment_page()
    for part in generated_reference.experiment_parts():
        meanings = generated_reference.field_docstrings(part)
        for key in part.model_fields:
            assert meanings.get(key), f"{part.__name__}.{key} has no meaning"
            assert f"| `{key}` |" in page
    assert Experiment in generated_reference.experiment_parts()


def test_the_reference_of_the_command_line_shows_every_command():
    page = generated_reference.command_page()
    for command in ("identify", "check", "report", "compare", "init", "demo"):
        assert f"usage: trueup {command}" in page
    assert "\x1b" not in page


def test_the_reference_of_targets_and_units_lists_them():
    page = generated_reference.target_page()
    assert "`joint/<name>/armature`" in page
    for kind, attributes in ACTUATOR_TARGETS.items():
        for name in attributes:
            assert f"| `{kind}` | `actuator/<name>/{name}` |" in page
    assert "`rpm`" in generated_reference.unit_page()


def make_targets() -> set[str]:
    """Targets of the Makefile."""
    lines = (ROOT / "Makefile").read_text().splitlines()
    return {m[1] for line in lines if (m := re.match(r"^([a-z]+):", line))}


def test_the_commands_of_the_readme_are_those_that_ci_runs():
    readme = (ROOT / "README.md").read_text()
    commands = set(re.findall(r"^\$ make (\w+)", readme, re.MULTILINE))
    assert commands == {"demo", "test"}
    assert commands <= make_targets()
    ci = ROOT / ".ci" / "run"
    assert ci.read_text().rstrip().endswith("make --jobs=2 --keep-going lint test")
    assert ci.stat().st_mode & 0o100, "not executable"


def test_make_says_which_python_is_needed():
    done = subprocess.run(
        ["make", "-C", ROOT, "VENV=/nonexistent/venv", "PYTHON=false", "demo"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "needs Python 3.11" in done.stdout


def requirements() -> list[str]:
    """What pyproject.toml requires, extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [
        one
        for group in (project["dependencies"], *project["optional-dependencies"].values())
        for one in group
    ]


def test_versions_are_pinned_in_the_constraints_and_open_in_what_is_published():
    wanted = requirements()
    # its kernels are those of one version of MuJoCo
    assert [one for one in wanted if re.search(r"==|~=|<", one)] == ["mujoco-warp~=3.17.0"]
    # torch in any other version brings gigabytes of a build for graphics cards
    for name in ("constraints.txt", "constraints-lowest.txt"):
        lines = (ROOT / name).read_text().splitlines()
        assert [line for line in lines if re.match(r"torch\b", line)] == ["torch==2.13.0"], name
    for name in ("Makefile", ".ci/run"):
        assert not re.search(r"\btorch\b", (ROOT / name).read_text()), name
    installs = re.findall(r"pip install(?:.*\\\n)*.*", (ROOT / "Makefile").read_text())
    assert installs and all(re.search(r"\s-c\s", one) for one in installs)


def test_the_lowest_versions_are_those_of_the_published_ranges():
    wanted = requirements()
    pins = {}
    for line in (ROOT / "constraints-lowest.txt").read_text().splitlines():
        if found := re.match(r"([a-z0-9_.-]+)==([0-9.]+)", line):
            pins[found[1]] = found[2]
    for one in wanted:
        found = re.match(r"([a-zA-Z0-9_-]+)(?:\[.*\])?(?:[>~]=([0-9.]+))?", one)
        if found is None or found[1] == "trueup":
            continue
        name, lowest = found[1].lower(), found[2] or ""
        # a release that was withdrawn, or does not run on 3.11, moves the pin to the next one
        assert numbers(pins[name]) >= numbers(lowest), one


def numbers(version: str) -> list[int]:
    """The numbers of a version, without trailing zeros."""
    parts = [int(part) for part in version.split(".") if part]
    while parts and parts[-1] == 0:
        parts.pop()
    return parts


def test_the_types_of_mujoco_are_those_of_the_pinned_version():
    (pinned,) = re.findall(r"^mujoco==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    stubs = sorted((ROOT / "typings" / "mujoco").glob("*.pyi"))
    assert {"_batch.pyi", "_specs.pyi", "_structs.pyi", "rollout.pyi"} <= {p.name for p in stubs}
    for path in stubs:
        text = path.read_text()
        assert f" from MuJoCo {pinned} " in text.splitlines()[0], path.name
        assert "def __getattr__" not in text, path.name  # it would give every name the type Any
    arrays = (ROOT / "typings/mujoco/_structs.pyi").read_text()
    assert "    qpos: Float64s\n" in arrays and "    timestep: Float\n" in arrays


def test_extras_of_the_set_up_exist():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = re.findall(r"--editable \"\.\[(.+)\]\"", (ROOT / "Makefile").read_text())
    extras = {extra for one in wanted for extra in one.split(",")}
    assert len(wanted) == 2  # of all tests, and of those of MuJoCo Warp
    assert extras <= set(project["optional-dependencies"])
    everything = " ".join(project["optional-dependencies"]["all"])
    named = extras | set(re.split(r"[\[\],]", everything))
    assert set(project["optional-dependencies"]) <= named, "an extra that is never tested"


def test_the_changelog_and_the_citation_name_the_version():
    assert f"## [{trueup.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {trueup.__version__}" in (ROOT / "CITATION.cff").read_text()


PAGES = executed_examples.pages_with_examples(ROOT / "docs")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_the_examples_of_a_page_run(page):
    executed_examples.run_in_new_process(page)


def test_an_example_that_fails_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    for broken in (
        "```python\n1 / 0\n```",
        "```pycon\n>>> 1 + 1\n3\n```",
        "```console\n$ trueup no-such-command\n```",
        "```python\nx = 1\n```\n\n```pycon\n>>> x\n2\n```",
    ):
        page.write_text(f"# Title\n\n{broken}\n")
        with pytest.raises(executed_examples.ExampleError, match=r"page\.md line \d"):
            executed_examples.run_page(page)


def test_examples_share_files_and_names(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```{code-block} text\n:caption: a.txt\nhello\n```\n"
        "```python\nfrom pathlib import Path\ntext = Path('a.txt').read_text()\n```\n"
        "```pycon\n>>> text\n'hello\\n'\n```\n"
        "<!-- not executed -->\n```python\n1 / 0\n```\n"
    )
    assert executed_examples.run_page(page) == 3


def test_links_between_pages_lead_somewhere():
    generated = set(generated_reference.page_makers())
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            if not target.startswith("http"):
                name = target.removeprefix("../").removeprefix("generated/")
                exists = (page.parent / target).exists()
                assert exists or name in generated, f"{page.name}: {target}"


def test_the_gallery_shows_reports_of_its_pages():
    script = (ROOT / "docs" / "images" / "take_gallery_pictures.py").read_text()
    entries = re.findall(r'Entry\("([^"]+)", "([^"]+)", "([^"]+)"', script)
    assert len(entries) == 10
    gallery = (ROOT / "docs" / "gallery.md").read_text()
    for name, page, _ in entries:
        assert f"(images/gallery/{name}.webp)]({page})" in gallery
        assert (ROOT / "docs" / "images" / "gallery" / f"{name}.webp").is_file()
        assert (ROOT / "docs" / page).is_file()


def source_files() -> list[Path]:
    """Python files of the project."""
    folders = ("src", "tests", "benchmarks", "examples", "docs/_extensions")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_no_file_is_longer_than_600_lines():
    lengths = {p: len(p.read_text().splitlines()) for p in source_files()}
    long = {str(p.relative_to(ROOT)): n for p, n in lengths.items() if n > 600}
    assert not long


def test_no_room_has_more_than_25_files():
    rooms = {p.parent for p in SOURCE.rglob("*.py")}
    counts = {str(room.relative_to(ROOT)): len(list(room.glob("*.py"))) for room in rooms}
    assert not {room: count for room, count in counts.items() if count > 25}


def test_modules_of_the_command_line_only_parse_and_print():
    lengths = {p.name: len(p.read_text().splitlines()) for p in (SOURCE / "cli").glob("*.py")}
    assert not {name: n for name, n in lengths.items() if n > 250}


def imported_packages(path: Path) -> Iterator[tuple[str, int]]:
    """Packages of trueup that a module imports, within functions too, with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "trueup":
                for alias in node.names:
                    yield alias.name, node.lineno
            elif node.module and node.module.startswith("trueup."):
                yield node.module.split(".")[1], node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("trueup."):
                    yield alias.name.split(".")[1], node.lineno


def test_packages_import_only_from_those_above_them():
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        own = path.relative_to(SOURCE).parts[0].removesuffix(".py").replace("__main__", "cli")
        if own in ("__init__", *FREE):
            continue
        assert own in LAYERS, f"{own} has no place in the order of packages"
        for imported, line in imported_packages(path):
            allowed = (*LAYERS[: LAYERS.index(own) + 1], *FREE, "__version__")
            if imported not in allowed:
                wrong.append(f"{path.relative_to(SOURCE)}:{line} imports {imported}")
    assert not wrong


PRIVATE = 15
"""Test files at most that import a private module or name of trueup."""


def test_modules_import_without_circles():
    # within functions and for types too: whoever reads one file of a circle reads them all
    assert not circles(import_graph(ROOT / "src"))


def test_a_circle_of_imports_is_found(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from package.two import name\n")
    (package / "two.py").write_text("def f():\n    from package import three\n")
    (package / "three.py").write_text("import package.one\n")
    (package / "four.py").write_text("import package.one\n")
    assert circles(import_graph(tmp_path)) == [["package.one", "package.three", "package.two"]]


def test_tests_go_through_public_names():
    found = {p.name: private_imports(p) for p in sorted((ROOT / "tests").rglob("*.py"))}
    private = {name for name, names in found.items() if names}
    assert len(private) <= PRIVATE, sorted(private)


def test_the_architecture_page_describes_every_package():
    page = (ROOT / "docs" / "architecture.md").read_text()
    folders = {p.parent.name for p in SOURCE.glob("*/__init__.py")}
    described = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert folders <= described, folders - described


def modules_after(statement: str) -> set[str]:
    """Top-level modules that a fresh process has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "statement",
    [
        "import trueup",
        "import trueup.simulation, trueup.fitting, trueup.signals, trueup.parameters",
        "import trueup.reports, trueup.runs, trueup.sysid",
        "from trueup.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass",
        "from trueup.cli import main\ntry:\n    main(['identify', '--help'])\n"
        "except SystemExit:\n    pass",
        "from trueup.cli import main\nmain(['study', 'run', '--help'])",
    ],
)
def test_importing_and_asking_for_help_loads_nothing_heavy(statement):
    loaded = modules_after(statement)
    assert "trueup" in loaded
    assert not loaded & set(HEAVY)


def test_a_heavy_module_would_be_noticed():
    assert "scipy" in modules_after("import scipy")


@pytest.mark.slow
def test_the_wheel_holds_types_and_assets(tmp_path):
    pytest.importorskip("hatchling")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert "trueup/py.typed" in names
    other = [p for p in SOURCE.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    missing = {str(p.relative_to(SOURCE.parent)) for p in other} - names
    assert not missing
    assert not [name for name in names if name.startswith(("tests", "docs"))]
