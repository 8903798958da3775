"""Difference between exported networks and the numpy runtime over 10 000 stateful steps.

Every format and family; the limit is 1e-5 of the range of the torque. Run::

    python benchmarks/network_export_parity.py [hidden width, 128 by default]
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from trueup.deploy import export_network
from trueup.networks import FAMILIES, CompiledRuntime, predict

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "networks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "deploy"))
from exported_steps import consistent_inputs, rollout
from random_networks import BASE, random_network, smooth_inputs

STEPS, BAR = 10_000, 1e-5


def main() -> None:
    """Print the largest difference of each; exit code 1 where the bar is missed."""
    hidden = int(sys.argv[1]) if len(sys.argv) > 1 else 128
    worst = 0.0
    for family in FAMILIES:
        network = random_network(family, hidden=hidden, base=BASE, torque_limit=6.0)
        inputs = consistent_inputs(network, smooth_inputs(network, STEPS))
        expected = predict(network, inputs)
        compiled = CompiledRuntime(network, dtype=np.float32)
        found = {"compiled, single": [float(compiled.step(row[None])[0]) for row in inputs]}
        with tempfile.TemporaryDirectory() as folder:
            for form, suffix in (("torchscript", "pt"), ("onnx", "onnx"), ("torch-export", "pt2")):
                path = Path(folder) / f"network.{suffix}"
                export_network(network, form, path)
                found[form] = rollout(form, path, network, inputs)
        for form, torque in found.items():
            share = np.abs(np.asarray(torque) - expected).max() / np.ptp(expected)
            worst = max(worst, share)
            print(f"{family:8} {form:18} {share:.1e} of the range {np.ptp(expected):.2f} N m")
    print(f"bar {BAR:g}, worst {worst:.1e}")
    if not worst <= BAR:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
