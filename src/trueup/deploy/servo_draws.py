"""Draws of a servo: the table of its numbers in a module, with a row for each environment.

The modules of the simulators hold the servo's equations and classes, whose numbers stand in this
table, and an event that fills it.
"""

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.deploy.draws import ROWS
from trueup.knowledge.draws import Draws

_TABLE = '''
COLUMNS = @COLUMNS@
"""Parameter -> column of ``values`` in ``posterior.npz``."""

NUMBERS = {name: torch.tensor(value) for name, value in @IDENTIFIED@.items()}
"""Numbers of the servo, (environments, 1) each; the identified ones before the event."""


def take_rows(num_envs, env_ids, device):
    """Give environments their rows, environment i row i % COUNT; returns the environments."""
    if env_ids is None:
        env_ids = torch.arange(num_envs)
    env_ids = env_ids.to(device, dtype=torch.long)
    rows = _ROWS["values"][(env_ids % COUNT).cpu().numpy()]
    for name, column in COLUMNS.items():
        numbers = NUMBERS[name].to(device).expand(num_envs, 1).clone()
        values = torch.as_tensor(rows[:, column], dtype=numbers.dtype, device=device)
        numbers[env_ids] = values[:, None]
        NUMBERS[name] = numbers
    return env_ids


def shares_of_steps(timestep):
    """Past steps that a delayed command is made of, and the share of each."""
    steps = NUMBERS["command_delay"] / timestep
    count = int(steps.max()) + 2
    return [(n, torch.clamp(1.0 - torch.abs(steps - n), min=0.0)) for n in range(count)]
'''


def number_table(model: ServoModel, rows: Draws) -> str:
    """Imports, rows and table of the numbers that draws replace."""
    columns = {name: column for column, name in enumerate(rows.names)}
    identified = {name: float(model.values[name]) for name in rows.names}
    imports = "from pathlib import Path\n\nimport numpy as np\nimport torch\n"
    table = _TABLE.replace("@COLUMNS@", repr(columns)).replace("@IDENTIFIED@", repr(identified))
    return f"{imports}{ROWS}{table}"
