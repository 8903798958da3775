"""A stand-in for Warp: kernels run thread by thread, and launches can be captured and replayed.

What a CUDA graph does not record is refused while launches are captured: new arrays, and reading
or writing of arrays on the host. ``benchmarks/simulator_contracts/check_servo_modules.py`` captures
the same module with the real one.
"""

import math
from collections.abc import Callable
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np


class Array:
    """``warp.array``: numbers of one type."""

    def __init__(self, data: Any = (), dtype: Any = float, device: Any = None):
        _refuse_while_captured("a new array")
        kind = {float: np.float32, int: np.int32}.get(dtype, dtype)
        self.values, self.device = np.asarray(data, dtype=kind), device or "cpu"

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: Any) -> Any:
        assert _running, "the host indexes an array"
        found = self.values[place]
        return np.float64(found) if found.dtype == np.float32 else found.item()

    def __setitem__(self, place: Any, value: Any) -> None:
        assert _running, "the host indexes an array"
        self.values[place] = value

    def __bool__(self) -> bool:
        raise AssertionError("the host branches on an array")

    def numpy(self) -> np.ndarray:
        """Its numbers on the host."""
        _refuse_while_captured("a copy to the host")
        return self.values

    def fill_(self, value: Any) -> None:
        """Set all numbers."""
        _replayed(lambda: self.values.fill(value))

    def zero_(self) -> None:
        """Set all numbers to 0."""
        self.fill_(0)


_running: list[int] = []  # thread of the kernel that runs
_captured: list[list[Callable[[], None]]] = []  # launches that are being captured


def _refuse_while_captured(what: str) -> None:
    assert not _captured, f"{what} while launches are captured"


def _replayed(launch: Callable[[], None]) -> None:
    """Run a launch; it belongs to the graph that is being captured."""
    if _captured:
        _captured[-1].append(launch)
    else:
        launch()


def launch(kernel: Any, dim: int, inputs: Any, outputs: Any = (), device: Any = None) -> None:
    """``warp.launch``: run a kernel for each thread."""
    given = (*inputs, *outputs)
    assert all(each is None or isinstance(each, Array | float | int) for each in given)

    def run() -> None:
        with np.errstate(all="ignore"):
            for thread in range(dim):
                _running.append(thread)
                kernel(*given)
                _running.pop()

    _replayed(run)


@contextmanager
def captured() -> Any:
    """Capture launches instead of running them; gives the list of what a replay calls."""
    _captured.append([])
    try:
        yield _captured[-1]
    finally:
        _captured.pop()


def _copy(target: Array, source: Array) -> None:
    _replayed(lambda: target.values.__setitem__(..., source.values))


def module() -> ModuleType:
    """The stand-in as a module, as far as exports use Warp."""
    warp: Any = ModuleType("warp")
    warp.kernel = warp.func = lambda function: function
    warp.array, warp.launch, warp.copy = Array, launch, _copy
    warp.array2d = Array
    warp.uint32, warp.float32, warp.bool = np.uint32, np.float32, np.bool_
    warp.zeros = lambda shape, dtype=float, device=None: Array(np.zeros(shape), dtype, device)
    warp.from_torch = lambda tensor, dtype=float: Array(tensor.numpy(), np.float32)
    warp.init = lambda: None
    warp.tid = lambda: _running[-1]
    warp.where = lambda condition, yes, no: yes if condition else no
    warp.min, warp.max, warp.abs = min, max, abs
    warp.exp, warp.sqrt, warp.sin, warp.tanh = np.exp, np.sqrt, np.sin, np.tanh
    warp.pow = np.power
    warp.sign = lambda x: math.copysign(1.0, x)
    return warp
