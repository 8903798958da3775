"""The same names and calls as the toolbox."""

import inspect
import subprocess
import sys

import pytest

from trueup import sysid

NAMES = [
    "BuildModelFn",
    "CustomRolloutFn",
    "InertiaType",
    "ModelSequences",
    "ModifyResidualFn",
    "Parameter",
    "ParameterDict",
    "SignalTransform",
    "SignalType",
    "SystemTrajectory",
    "TimeSeries",
    "apply_bias",
    "apply_body_inertia",
    "apply_delay",
    "apply_delayed_ts_window",
    "apply_dgain",
    "apply_gain",
    "apply_param_modifiers",
    "apply_param_modifiers_spec",
    "apply_pdgain",
    "apply_pgain",
    "apply_resample_and_delay",
    "body_inertia_param",
    "build_residual_fn",
    "calculate_intervals",
    "construct_ts_from_defaults",
    "create_initial_state",
    "default_report",
    "get_sensor_indices",
    "model_residual",
    "normalize_residual",
    "optimize",
    "remove_visuals",
    "render_rollout",
    "residual",
    "save_results",
    "sysid_rollout",
    "weighted_diff",
    "model_modifier",
    "parameter",
    "signal_modifier",
    "report",
]

OWN = [
    "Experiment",
    "GrayBoxProblem",
    "Identification",
    "Import",
    "ObservationSettings",
    "ResidualFunction",
    "SavedResults",
    "check_experiment",
    "film",
    "identify",
    "import_logs",
    "load_experiment",
    "load_results",
    "modifiers",
    "propose_import",
]

MODEL_MODIFIERS = [
    "apply_pgain",
    "apply_dgain",
    "apply_pdgain",
    "is_position_actuator",
    "get_actuator_pd_gains",
    "apply_body_mass_ipos",
    "scale_body_inertia",
    "apply_body_theta_inertia",
    "pi_from_theta",
    "pseudoinertia_from_pi",
    "cholesky_decompose_upper",
    "theta_from_pseudoinertia",
    "pi_from_body",
    "theta_inertia_from_body",
    "inertia_to_fullinertia",
    "skew",
    "apply_body_inertia",
    "body_inertia_param",
    "remove_visuals",
    "apply_param_modifiers_spec",
    "apply_param_modifiers",
]


def reference():
    module = pytest.importorskip("mujoco.sysid")
    if not hasattr(module, "optimize"):
        pytest.skip("the toolbox lacks its dependencies")
    return module


def parameters(function) -> list[tuple[str, str]]:
    """Name and default of each parameter; functions and tuples of no content by their form."""
    out = []
    for name, parameter in inspect.signature(function).parameters.items():
        default = parameter.default
        out.append((name, getattr(default, "__name__", repr(default))))
    return out


def test_every_name_is_there():
    assert set(sysid.__all__) == set(NAMES) | set(OWN)
    for name in sysid.__all__:
        assert getattr(sysid, name) is not None
    assert sorted(sysid.__all__) == dir(sysid)


@pytest.mark.parametrize("name", ["residual", "optimize", "default_report", "save_results"])
def test_functions_are_not_hidden_by_modules(name):
    assert inspect.isfunction(getattr(sysid, name))


def test_package_is_loaded_lazily():
    heavy = "mujoco", "numba", "scipy", "plotly", "pandas"
    code = f"import sys; from trueup import sysid; print([m for m in {heavy} if m in sys.modules])"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("name", NAMES)
def test_signatures_match_the_toolbox(name):
    theirs, ours = getattr(reference(), name), getattr(sysid, name)
    if not inspect.isfunction(theirs):
        return
    if name == "build_residual_fn":
        assert [p.kind for p in inspect.signature(ours).parameters.values()] == [
            inspect.Parameter.VAR_KEYWORD
        ]
        return
    expected = parameters(theirs)
    # more arguments may follow, all with a default
    assert parameters(ours)[: len(expected)] == expected


@pytest.mark.parametrize("name", MODEL_MODIFIERS)
def test_model_modifiers_match_the_toolbox(name):
    theirs = getattr(reference().model_modifier, name)
    ours = getattr(sysid.model_modifier, name)
    assert parameters(ours) == parameters(theirs)


@pytest.mark.parametrize(
    "name", ["Parameter", "TimeSeries", "ModelSequences", "SystemTrajectory", "SignalTransform"]
)
def test_constructors_match_the_toolbox(name):
    expected = parameters(getattr(reference(), name).__init__)
    found = parameters(getattr(sysid, name).__init__)[: len(expected)]
    assert [p for p, _ in found] == [p for p, _ in expected]
    # what they leave out may be left out of ours
    for (_, ours), (_, theirs) in zip(found, expected, strict=True):
        assert theirs in (ours, "_empty")
