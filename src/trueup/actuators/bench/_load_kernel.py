"""Compiled load of a bench: a pendulum, or any joint by a table."""

import math

from trueup.actuators.equations._parameter_layout import LOG
from trueup.actuators.equations.compiled import compiled

# columns of a table, a row an angle
INERTIA, INERTIA_SLOPE, TORQUE, TORQUE_SLOPE = range(4)


@compiled
def load_of(row, table, angle, v):
    """Inertia and torque of the load, and their slopes.

    Between the angles of a table inertia and torque are cubic (Hermite), beyond its ends they keep
    their last value. An inertia J(q) that changes with the angle gives the velocity torque
    -J'(q) v^2 / 2 of a joint (Lagrange's equation).

    Args:
      row: numbers of the log.
      table: rows of all tabulated loads.
      angle: angle of the load [rad].
      v: its speed [rad/s].

    Returns:
      Inertia [kg m2], its slope [kg m2/rad], torque [N m] and its derivatives with respect to the
      angle and the speed.
    """
    size = int(row[LOG.table_size])
    if size == 0:
        gravity = row[LOG.gravity]
        return row[LOG.inertia], 0.0, -gravity * math.sin(angle), -gravity * math.cos(angle), 0.0
    step = row[LOG.table_step]
    position = (angle - row[LOG.table_lower]) / step
    cell = min(max(math.floor(position), 0), size - 2)
    t = position - cell
    inside = 0.0 <= t <= 1.0
    t = min(max(t, 0.0), 1.0)
    first = int(row[LOG.table_start]) + cell
    a, b = table[first], table[first + 1]
    h00, h10 = (1.0 + 2.0 * t) * (1.0 - t) * (1.0 - t), t * (1.0 - t) * (1.0 - t)
    h01, h11 = t * t * (3.0 - 2.0 * t), t * t * (t - 1.0)
    g00, g10 = 6.0 * t * (t - 1.0), (1.0 - t) * (1.0 - 3.0 * t)
    g11 = t * (3.0 * t - 2.0)
    rise = b[INERTIA] - a[INERTIA]
    inertia = h00 * a[INERTIA] + h01 * b[INERTIA]
    inertia += step * (h10 * a[INERTIA_SLOPE] + h11 * b[INERTIA_SLOPE])
    torque = h00 * a[TORQUE] + h01 * b[TORQUE]
    torque += step * (h10 * a[TORQUE_SLOPE] + h11 * b[TORQUE_SLOPE])
    if not inside:
        return inertia, 0.0, torque, 0.0, 0.0
    slope = -g00 * rise / step + g10 * a[INERTIA_SLOPE] + g11 * b[INERTIA_SLOPE]
    curvature = (6.0 - 12.0 * t) * rise / (step * step)
    curvature += ((6.0 * t - 4.0) * a[INERTIA_SLOPE] + (6.0 * t - 2.0) * b[INERTIA_SLOPE]) / step
    torque_q = -g00 * (b[TORQUE] - a[TORQUE]) / step + g10 * a[TORQUE_SLOPE] + g11 * b[TORQUE_SLOPE]
    torque -= 0.5 * slope * v * v
    torque_q -= 0.5 * curvature * v * v
    return inertia, slope, torque, torque_q, -slope * v
