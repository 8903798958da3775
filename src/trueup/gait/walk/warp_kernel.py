# pyright: reportMissingImports=false, reportInvalidTypeForm=false, reportIndexIssue=false
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false
"""Warp kernels of walks: the compiled control step of :mod:`trueup.gait.walk._kernel`, for each
world, and what a device needs around a step of MuJoCo Warp."""

from typing import Any

import warp as wp

from trueup.gait.controller import program as controller
from trueup.gait.models import body_map
from trueup.gait.models.metabolic import FIBER
from trueup.gait.walk import _kernel as k
from trueup.gait.walk.disturbance_kernel import DISTURBANCE
from trueup.simulation.warp.numba_text import struct_of, warp_function

wp.set_module_options({"enable_backward": False})

Fiber, Rules = struct_of("Fiber", FIBER), struct_of("Rules", k.RULES)
Disturbance = struct_of("Disturbance", DISTURBANCE)
Head, Line = struct_of("Head", controller.HEAD), struct_of("Line", controller.LINE)
Group, Reflex = struct_of("Group", controller.MUSCLE), struct_of("Reflex", controller.REFLEX)
Term = struct_of("Term", controller.TERM)
Parts, Muscle = struct_of("Parts", body_map.PARTS), struct_of("Muscle", body_map.MUSCLE)


@wp.struct
class Program:
    """:class:`trueup.gait.controller.program.Program`."""

    head: wp.array(dtype=Head)
    lines: wp.array(dtype=Line)
    muscles: wp.array(dtype=Group)
    reflexes: wp.array(dtype=Reflex)
    terms: wp.array(dtype=Term)


@wp.struct
class BodyMap:
    """:class:`trueup.gait.models.body_map.BodyMap`."""

    parts: wp.array(dtype=Parts)
    muscles: wp.array(dtype=Muscle)
    soles: wp.array2d(dtype=int)


@wp.struct
class Fields:
    """:class:`trueup.gait.walk._kernel.Fields` of the worlds."""

    qpos: wp.array2d(dtype=float)
    qvel: wp.array2d(dtype=float)
    act: wp.array2d(dtype=float)
    ctrl: wp.array2d(dtype=float)
    xfrc_applied: wp.array3d(dtype=float)
    sensordata: wp.array2d(dtype=float)
    actuator_force: wp.array2d(dtype=float)
    actuator_length: wp.array2d(dtype=float)
    actuator_velocity: wp.array2d(dtype=float)
    xpos: wp.array3d(dtype=float)
    xquat: wp.array3d(dtype=float)
    xipos: wp.array3d(dtype=float)
    ximat: wp.array3d(dtype=float)
    cvel: wp.array3d(dtype=float)
    subtree_com: wp.array3d(dtype=float)
    xanchor: wp.array3d(dtype=float)
    site_xpos: wp.array3d(dtype=float)
    warning: wp.array3d(dtype=int)


@wp.struct
class Walks:
    """:class:`trueup.gait.walk._kernel.Walks` of the worlds."""

    registers: wp.array3d(dtype=float)
    rings: wp.array3d(dtype=float)
    measured: wp.array3d(dtype=float)
    stimulation: wp.array3d(dtype=float)
    crossed: wp.array2d(dtype=float)
    clocks: wp.array3d(dtype=float)
    curve: wp.array3d(dtype=float)
    exo: wp.array2d(dtype=float)
    disturbances: wp.array(dtype=Disturbance)
    energy: wp.array(dtype=float)
    frames: wp.array3d(dtype=float)
    status: wp.array2d(dtype=int)


AT_REST = 4
"""Mark of a world whose walk has ended, after the fields of ``check_states`` that diverge."""

_FIRST_WARNING = wp.constant(k.BAD_NUMBERS)
_control_walk: Any = warp_function(k.control_walk)


@wp.kernel
def control(
    program: Program,
    body: BodyMap,
    fibers: wp.array(dtype=Fiber),
    rules: wp.array(dtype=Rules),
    fields: Fields,
    walks: Walks,
    tick: wp.array(dtype=int),
    last: int,
    failed: wp.array2d(dtype=int),
):
    """Sense, record a frame, and act, for walks that have not ended; mark those that end."""
    i = wp.tid()
    if walks.status[i, wp.static(int(k.Status.ended))] == 0:
        if failed[i, 0] > 0:
            fields.warning[i, _FIRST_WARNING, 1] = 1
        _control_walk(program, body, fibers, rules, fields, walks, i, tick[0], tick[0] < last)
    if walks.status[i, wp.static(int(k.Status.ended))] != 0 and failed[i, 0] == 0:
        failed[i, 0] = wp.static(AT_REST)


@wp.kernel
def copy_columns(
    columns: wp.array(dtype=int), source: wp.array2d(dtype=float), to: wp.array2d(dtype=float)
):
    """Copy columns of the rows of worlds."""
    world, place = wp.tid()
    to[world, columns[place]] = source[world, columns[place]]
