"""Without mjlab or torch the names of the package say what is missing, when they are used."""

import sys

import pytest

import trueup.actuators.mjlab as package
from trueup.errors import TrueupError


@pytest.mark.parametrize("missing", ["torch", "mjlab"])
def test_what_is_missing_is_named(monkeypatch, missing):
    from types import ModuleType

    for name in ("torch", "mjlab", "mjlab.actuator"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, f"{missing}.actuator", raising=False)
    with pytest.raises(TrueupError, match=f"{missing!r} is not installed") as raised:
        _ = package.ServoActuatorCfg
    assert isinstance(raised.value, ImportError)


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="ServoActuatorConfig"):
        _ = package.ServoActuatorConfig
    assert "ServoActuatorCfg" in dir(package)
