"""Forms that a training allows, known before it, and those of a trained network."""

import pytest
from random_networks import BASE, random_network

from trueup.deploy import export_network
from trueup.deploy.forms import FORMS, NETWORK
from trueup.deploy.network_forms import allowed_forms, forms_of_network, overrides_for
from trueup.errors import ExperimentError, FitError
from trueup.networks.training import load_configuration

ANYWHERE = {"torchscript", "onnx", "torch-export", "numpy", "c"}
ERROR = "data.features=[angle_error_rad,current_ang_vel_rad_s]"


def allowed(*overrides: str) -> dict[str, tuple[str, ...]]:
    found = allowed_forms(load_configuration(list(overrides)))
    return {each.form: each.families for each in found if each.families}


def test_the_features_decide_the_forms():
    assert set(allowed(ERROR)) == set(FORMS[NETWORK])
    assert allowed(ERROR)["mjlab"] == ("mlp",)
    assert allowed(ERROR)["isaac-lab"] == ("gru", "mlp", "lstm")
    default = allowed()
    assert default["isaac-lab"] == default["newton"] == ("gru",)
    assert set(allowed("data.features=[current_angle_rad,current_a]")) == ANYWHERE


@pytest.mark.parametrize("form", ["isaac-lab", "mjlab", "newton", "c", "isaac-lab-combined"])
def test_a_training_for_a_form_allows_it(form):
    overrides = overrides_for(form, load_configuration())
    configuration = load_configuration(list(overrides))
    found = {each.form: each for each in allowed_forms(configuration)}[form]
    assert found.families and not found.reason
    assert (form == "c") == (overrides == ())


def test_what_is_given_stays_and_is_checked():
    given = load_configuration(["data.features=[current_angle_rad,angle_error_rad]"])
    assert overrides_for("newton", given) == ("model.model_type.families=[gru]",)
    with pytest.raises(ExperimentError, match=r"--for mjlab: .* supplies only 'angle_error_rad'"):
        overrides_for("mjlab", given)
    with pytest.raises(ExperimentError, match="mjlab supports networks of the family 'mlp', "):
        overrides_for("mjlab", load_configuration(["model.model_type.name=gru"]))
    with pytest.raises(ExperimentError, match="fixed set of nodes, but the analytic base"):
        overrides_for("newton", load_configuration(["model.use_residual=true", "model.kp_phys=3"]))
    with pytest.raises(FitError, match="unknown export form 'mjlap'"):
        overrides_for("mjlap", given)


ERROR_AND_SPEED = ("angle_error_rad", "current_ang_vel_rad_s")


@pytest.mark.parametrize(
    "network",
    [
        random_network("gru", hidden=4, base=BASE),
        random_network("mlp", features=ERROR_AND_SPEED, hidden=4),
        random_network("lstm", features=ERROR_AND_SPEED, hidden=4),
        random_network("linear", features=("angle_error_rad", "voltage_v")),
    ],
)
def test_the_forms_of_a_network_are_those_that_are_written(tmp_path, network):
    simulators = [name for name, form in FORMS[NETWORK].items() if form.for_simulator]
    for name in simulators:
        path = tmp_path / f"{name}{FORMS[NETWORK][name].suffix}"
        try:
            export_network(network, name, path)
        except FitError:
            assert name not in forms_of_network(network)
        else:
            assert name in forms_of_network(network)
    assert set(FORMS[NETWORK]) - set(simulators) <= set(forms_of_network(network))
