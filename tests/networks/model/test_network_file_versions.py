"""Network files of older versions keep their meaning."""

import json

import numpy as np
import safetensors
import safetensors.numpy
from random_networks import BASE, random_network

from trueup.networks import load_network, save_network


def test_the_spring_of_a_file_of_version_1_still_pulls_back(tmp_path):
    network = random_network("gru", base=BASE)
    file = save_network(network, tmp_path / "network.safetensors")
    assert load_network(file).base == BASE
    with safetensors.safe_open(file, framework="numpy") as opened:
        content = json.loads(opened.metadata()["trueup"])
    content["version"] = 1
    safetensors.numpy.save_file(
        dict(network.weights), file, metadata={"trueup": json.dumps(content)}
    )
    former = load_network(file).base
    at = np.array([BASE.theta0 + 1.0, 0.0, 0.0])
    assert BASE.torque(at) == BASE.k_spring
    assert former.torque(at) == -BASE.k_spring
