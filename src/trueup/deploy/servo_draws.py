"""Draws of a servo: table of its parameters in a module, with a row per environment.

The modules of the simulators contain the servo's equations and classes, which read their parameters
from this table, and an event that fills it.
"""

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.deploy.draws import ROWS
from trueup.knowledge.draws import Draws

_TABLE = '''
COLUMNS = @COLUMNS@
"""Parameter -> column of ``values`` in ``posterior.npz``."""

NUMBERS = {name: torch.tensor(value) for name, value in @IDENTIFIED@.items()}
"""Parameters of the servo, (environments, 1) each; before the event the identified ones."""


def take_rows(num_envs, env_ids, device):
    """Write the rows of environments, row i % COUNT for environment i; return the environments."""
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
    """Past steps that a delayed command interpolates, and the weight of each."""
    steps = NUMBERS["command_delay"] / timestep
    count = int(steps.max()) + 2
    return [(n, torch.clamp(1.0 - torch.abs(steps - n), min=0.0)) for n in range(count)]
'''


def number_table(model: ServoModel, rows: Draws) -> str:
    """Imports, rows and table of the drawn parameters."""
    columns = {name: column for column, name in enumerate(rows.names)}
    identified = {name: float(model.values[name]) for name in rows.names}
    imports = "from pathlib import Path\n\nimport numpy as np\nimport torch\n"
    table = _TABLE.replace("@COLUMNS@", repr(columns)).replace("@IDENTIFIED@", repr(identified))
    return f"{imports}{ROWS}{table}"
