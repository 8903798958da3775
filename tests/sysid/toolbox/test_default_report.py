"""``default_report``: the toolbox's call, offline, without a screen, and without side effects."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.optimize import least_squares

from trueup.errors import ReportError
from trueup.parameters import Parameter, ParameterDict
from trueup.signals import TimeSeries
from trueup.simulation import create_initial_state
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid import build_residual_fn, default_report
from trueup.sysid.results import overlay_video

SLIDER = """
<mujoco><option timestep="0.01"/><worldbody><body name="box">
  <joint name="rail" type="slide" axis="1 0 0" damping="{damping}"/><geom size="0.1" mass="{mass}"/>
</body></worldbody>
<actuator><motor name="push" joint="rail"/></actuator>
<sensor><jointpos name="x" joint="rail"/><jointvel name="v" joint="rail"/></sensor></mujoco>
"""


def set_mass(spec: Any, param: Parameter) -> None:
    spec.body("box").geoms[0].mass = float(param.value[0])


@pytest.fixture(scope="module")
def fit() -> SimpleNamespace:
    """A slider with known mass 2 and damping 0.5, fitted by scipy."""
    true = mujoco.MjModel.from_xml_string(SLIDER.format(mass=2.0, damping=0.5))
    data, rng = mujoco.MjData(true), np.random.default_rng(1)
    times = np.arange(300) * true.opt.timestep
    force = np.sin(3 * times) + 0.5 * np.sin(9 * times)
    rows = []
    for u in force:
        data.ctrl[0] = u
        mujoco.mj_forward(true, data)
        rows.append(data.sensordata + rng.normal(size=2) * [1e-3, 5e-3])
        mujoco.mj_step(true, data)
    spec = mujoco.MjSpec.from_string(SLIDER.format(mass=1.0, damping=0.1))
    model = spec.compile()
    measured = TimeSeries.from_names(times, np.array(rows), model)
    control = TimeSeries.from_control_names(times, force[:, None], model)
    start = create_initial_state(model, np.zeros(1))
    models = [ModelSequences("slider", spec, "run", start, control, measured)]
    initial = ParameterDict()
    initial.add(Parameter("mass", 1.0, 0.1, 10.0, modifier=set_mass))
    initial.add(Parameter("damping", 0.1, 0.0, 5.0, target="joint/rail/damping"))
    function = build_residual_fn(models_sequences=models)
    result = least_squares(
        lambda x: np.concatenate(function(x, initial)[0]),
        initial.as_vector(),
        bounds=initial.get_bounds(),
    )
    final = initial.copy()
    final.update_from_vector(result.x)
    return SimpleNamespace(
        models=models, initial=initial, final=final, function=function, result=result, spec=spec
    )


def made(fit: SimpleNamespace, function: Any = None, **options: Any) -> Any:
    options = {"generate_videos": False, **options}
    return default_report(
        fit.models, fit.initial, fit.final, function or fit.function, fit.result, **options
    )


@pytest.mark.parametrize("kind", [str, Path])
def test_a_folder_as_text_or_path(fit: SimpleNamespace, kind: Any, tmp_path: Path):
    made(fit, save_path=kind(tmp_path / "out"), title="Slider")
    text = (tmp_path / "out/report.html").read_text()
    assert "<title>Slider</title>" in text
    assert not re.search(r"""(src|href)=["']https?:""", text)


def test_it_assesses_the_fit(fit: SimpleNamespace):
    text = made(fit).build()
    for words in ("95 % interval", "Identifiability", "Errors", "Residuals", "worst channel"):
        assert words in text
    assert re.search(r"worst channel</dt>\s*<dd><span class=\"number\">9\d\.", text)


def test_nothing_is_changed(fit: SimpleNamespace):
    before = fit.spec.to_xml()
    values = fit.initial.as_vector().copy(), fit.final.as_vector().copy()
    made(fit)
    made(fit, lambda x, params, **_: fit.function(x, params))
    assert fit.spec.to_xml() == before
    np.testing.assert_array_equal(fit.initial.as_vector(), values[0])
    np.testing.assert_array_equal(fit.final.as_vector(), values[1])


def test_a_function_of_ones_own_gives_the_same_intervals(fit: SimpleNamespace):
    def intervals(page: Any) -> list[str]:
        found = re.findall(r"[\d.]+ ± [\d.]+", page.build())[:2]
        assert len(found) == 2
        return found

    own = made(fit, lambda x, params, **_: fit.function(x, params))
    assert intervals(own) == intervals(made(fit))


def test_residuals_alone_are_enough(fit: SimpleNamespace):
    page = made(fit, lambda x, params, **_: np.concatenate(fit.function(x, params)[0]))
    assert "95 % interval" in page.build()


def test_without_opengl_a_note_says_so(fit: SimpleNamespace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(overlay_video, "_libraries", lambda: ["no-such-library"])
    text = made(fit, generate_videos=True).build()
    assert "The overlay video was skipped: MuJoCo cannot render here" in text
    assert "<video" not in text


def test_videos_of_a_foreign_function_need_a_model(fit: SimpleNamespace):
    page = made(
        fit,
        lambda x, params, **_: fit.function(x, params),
        generate_videos=True,
        build_model=None,
    )
    assert "build_model is None" in page.build()


def test_a_video_is_part_of_the_file(fit: SimpleNamespace):
    pytest.importorskip("imageio_ffmpeg")
    text = made(fit, generate_videos=True).build()
    if "The overlay video was skipped: MuJoCo cannot render here" in text:
        pytest.skip("no OpenGL here")
    assert "data:video/mp4;base64," in text


def test_the_trace_of_the_toolbox_is_shown(fit: SimpleNamespace):
    result = SimpleNamespace(
        x=fit.result.x,
        extras={"objective": [3.0, 1.0], "candidate": [np.array([1, 0.1]), fit.result.x]},
    )
    page = default_report(
        fit.models, fit.initial, fit.final, fit.function, result, generate_videos=False
    )
    assert "History of the fit" in page.build()


def test_a_fit_that_failed_is_said_to_have(fit: SimpleNamespace):
    result = SimpleNamespace(x=fit.result.x, success=False, status=0, message="out of steps")
    page = default_report(
        fit.models, fit.initial, fit.final, fit.function, result, generate_videos=False
    )
    assert "did not converge: out of steps" in page.build()


def test_other_parameters_are_refused(fit: SimpleNamespace):
    other = ParameterDict()
    other.add(Parameter("mass", 1.0, 0.1, 10.0))
    with pytest.raises(ReportError, match="must be the same"):
        default_report(fit.models, fit.initial, other, fit.function, fit.result)
