"""Registers of the servos, compared with the control tables in the manuals of their makers."""

import math

import pytest

from trueup.actuators import servos
from trueup.actuators.record import table_of

# Address and size in bytes, from the ROBOTIS e-Manual and the memory table of the STS series.
_SIZES = {
    "xl330": {
        11: 1, 31: 1, 32: 2, 34: 2, 48: 4, 52: 4, 64: 1, 70: 1, 80: 2, 82: 2, 84: 2, 88: 2, 90: 2,
        108: 4, 112: 4, 116: 4, 120: 2, 124: 2, 126: 2, 128: 4, 132: 4, 144: 2, 146: 1,
    },
    "xl320": {
        6: 2, 8: 2, 11: 1, 12: 1, 13: 1, 14: 1, 24: 1, 27: 1, 28: 1, 29: 1, 30: 2, 32: 2, 35: 2,
        37: 2, 39: 2, 41: 2, 45: 1, 46: 1, 50: 1,
    },
    "mx64": {
        6: 2, 8: 2, 11: 1, 12: 1, 13: 1, 24: 1, 26: 1, 27: 1, 28: 1, 30: 2, 32: 2, 34: 2, 36: 2,
        38: 2, 40: 2, 42: 1, 43: 1, 73: 1,
    },
    "sts3215": {
        9: 2, 11: 2, 13: 1, 14: 1, 15: 1, 21: 1, 22: 1, 23: 1, 33: 1, 40: 1, 41: 1, 42: 2, 44: 2,
        46: 2, 55: 1, 56: 2, 58: 2, 60: 2, 62: 1, 63: 1, 65: 1, 69: 2,
    },
}  # fmt: skip
_SIZES["xl330i"] = _SIZES["xl330"] | {38: 2, 102: 2}  # current limit and goal current
_SIZES["mx106"] = _SIZES["mx64"]
_RPM = math.tau / 60
# Raw number of a register and its value [rad, rad/s, share of the greatest load, A, V].
_VALUES = {
    "xl330": {
        "position": (3072, math.pi / 2),
        "goal": (1024, -math.pi / 2),
        "speed": (100, 22.9 * _RPM),
        "load": (885, 1.0),
        "current": (250, 0.25),
        "volts": (50, 5.0),
        "highest_volts": (70, 7.0),
        "lowest_volts": (35, 3.5),
        "lowest_angle": (0, -math.pi),
        "highest_angle": (4095, math.pi * 2047 / 2048),
        "tick": (32767, 32.767),
    },
    "xl320": {
        "position": (1023, math.radians(300) * 511 / 1023),
        "goal": (512, 0.0),
        "speed": (1024 + 100, -11.1 * _RPM),
        "load": (500, 0.5),
        "volts": (74, 7.4),
        "lowest_volts": (60, 6.0),
        "highest_volts": (90, 9.0),
        "lowest_angle": (0, -math.radians(300) * 512 / 1023),
        "highest_angle": (512, 0.0),
    },
    "mx64": {
        "position": (3072, math.pi / 2),
        "goal": (2048, 0.0),
        "speed": (1024 + 100, -11.4 * _RPM),
        "load": (1024 + 300, -0.3),
        "volts": (120, 12.0),
        "lowest_volts": (95, 9.5),
        "highest_volts": (160, 16.0),
        "lowest_angle": (0, -math.pi),
        "highest_angle": (4095, math.pi * 2047 / 2048),
    },
    "sts3215": {
        "position": (3072, math.pi / 2),
        "goal": (2048, 0.0),
        "speed": ((1 << 15) + 1024, -math.pi / 2),
        "load": (1024 + 300, -0.3),
        "current": (100, 0.65),
        "volts": (74, 7.4),
        "lowest_volts": (40, 4.0),
        "highest_volts": (80, 8.0),
        "lowest_angle": (0, -math.pi),
        "highest_angle": (4095, math.pi * 2047 / 2048),
    },
}
_VALUES["mx106"] = _VALUES["mx64"]


def _table(motor):
    return table_of(servos()[motor])


@pytest.mark.parametrize("motor", sorted(_SIZES))
def test_addresses_and_sizes_are_those_of_the_manual(motor):
    table = _table(motor)
    settings = [register for row in table.set_up for register in row]
    used = [*vars(table).values(), *settings]
    found = {each.address: each.size for each in used if hasattr(each, "decode")}
    assert found == _SIZES[motor]


@pytest.mark.parametrize("motor", sorted(_VALUES))
def test_every_register_in_counts_has_its_value_here(motor):
    registers = {name: each for name, each in vars(_table(motor)).items() if hasattr(each, "unit")}
    assert {name for name, each in registers.items() if each.unit != 1.0} == set(_VALUES[motor])


@pytest.mark.parametrize(
    ("motor", "name"), [(motor, name) for motor, rows in _VALUES.items() for name in rows]
)
def test_a_count_has_the_value_of_the_manual(motor, name):
    register = getattr(_table(motor), name)
    raw, value = _VALUES[motor][name]
    content = raw.to_bytes(register.size, "little")
    assert register.decode(content) == pytest.approx(value, abs=1e-12)
    assert register.encode(value) == content
