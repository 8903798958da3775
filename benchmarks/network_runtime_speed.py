"""CPU time of one stateful step of a learned actuator, for each runtime.

The network is the default, a GRU of 2 x 128. The limit at batch 1 is 60 microseconds for the numpy
or the compiled runtime; the best of five counts. ONNX Runtime runs on one thread with bound inputs
and outputs. Run::

    python benchmarks/network_runtime_speed.py
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from trueup.deploy import export_network
from trueup.networks import CompiledRuntime, NetworkRuntime, predict

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "networks"))
from random_networks import random_network, smooth_inputs

BAR = 60.0
"""Greatest CPU time of a step at batch 1 [microseconds]."""


def best_of_five(function: Callable[[], object], count: int) -> float:
    """CPU time of a call, the best of five runs of ``count`` calls [microseconds]."""
    function()
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(count):
            function()
        best = min(best, (time.process_time() - start) / count)
    return 1e6 * best


def onnx_step(network, batch: int) -> Callable[[], object]:
    """A step by ONNX Runtime with bound memory."""
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        export_network(network, "onnx", path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    x = np.zeros((batch, 1, len(network.inputs)), np.float32)
    states = [np.zeros((network.layers, batch, network.hidden), np.float32) for _ in range(2)]
    torque = np.zeros((batch, 1), np.float32)
    bindings = []
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(a) for a in (x, *states, torque)]
    for old, new in ((1, 2), (2, 1)):  # the state goes to and fro between two buffers
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", values[0])
        binding.bind_ortvalue_input("h", values[old])
        binding.bind_ortvalue_output("torque", values[3])
        binding.bind_ortvalue_output("h_next", values[new])
        bindings.append(binding)
    turn = [0]

    def step() -> None:
        session.run_with_iobinding(bindings[turn[0]])
        turn[0] = 1 - turn[0]

    return step


def main() -> None:
    """Print the table; exit code 1 where the bar is missed."""
    network = random_network(hidden=128, layers=2)
    inputs = smooth_inputs(network, 20_000)
    fastest = float("inf")
    for batch, count in ((1, 2000), (4096, 3)):
        rows = np.resize(inputs, (batch, inputs.shape[1]))
        print(f"batch {batch}: CPU microseconds a step")
        for runtime in (NetworkRuntime, CompiledRuntime):
            for dtype in (np.float64, np.float32):
                made = runtime(network, batch, dtype)
                cost = best_of_five(lambda made=made, rows=rows: made.step(rows), count)
                print(f"  {runtime.__name__:16} {dtype.__name__:8} {cost:10.1f}")
                fastest = min(fastest, cost) if batch == 1 else fastest
        cost = best_of_five(onnx_step(network, batch), count)
        print(f"  {'ONNX Runtime':16} {'float32':8} {cost:10.1f}")
    cost = best_of_five(lambda: predict(network, inputs), 1) / len(inputs)
    print(f"whole recording, predict: {cost:.1f} CPU microseconds a step")
    print(f"bar {BAR:g}, best at batch 1 {fastest:.1f}")
    if fastest > BAR:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
