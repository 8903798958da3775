"""Damaged ``.npz`` files: every reader of one names the file, wherever the damage is."""

import numpy as np
import pytest

from trueup.design.motion.files import read_arrays
from trueup.errors import TrueupError
from trueup.knowledge.draws import Draws
from trueup.networks.runtime.numpy_file import load_numpy_network
from trueup.runs import RunDirectory
from trueup.signals.npz_archive import read_npz
from trueup.sysid.results.outputs import read_signals
from trueup.sysid.results.replay import read_replay

READERS = {
    "series.npz": read_npz,
    "posterior.npz": Draws.read,
    "network.npz": load_numpy_network,
    "motion.npz": lambda file: read_arrays(RunDirectory(file.parent), ("state",)),
    "signals.npz": lambda file: read_signals(RunDirectory(file.parent)),
    "replay.npz": lambda file: read_replay(RunDirectory(file.parent)),
}


def damaged(save):
    """An archive cut and with bits turned, at places all over it."""
    file = save("whole.npz")
    whole = file.read_bytes()
    for place in range(0, len(whole), 11):
        yield whole[:place]
        for turned in (0x01, 0x08, 0xFF):
            yield whole[:place] + bytes([whole[place] ^ turned]) + whole[place + 1 :]


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed], ids=["plain", "packed"])
def test_a_damaged_archive_is_named_whatever_the_damage(name, save, tmp_path):
    def saved(own):
        state = np.frombuffer(b'{"done": 3, "seconds": 1.5}', np.uint8)
        save(tmp_path / own, state=state, names=np.array(["a", "b"]))
        return tmp_path / own

    refused = 0
    for content in damaged(saved):
        (tmp_path / name).write_bytes(content)
        try:
            READERS[name](tmp_path / name)
        except TrueupError as error:
            refused += name in str(error)
    assert refused > 50
