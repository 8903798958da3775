"""Compiled load of a bench: a pendulum, or a table by joint angle."""

import math

from trueup.actuators.equations._parameter_layout import LOG
from trueup.actuators.equations.compiled import compiled

# columns of a table; a row per angle
INERTIA, INERTIA_SLOPE, TORQUE, TORQUE_SLOPE = range(4)


@compiled
def load_of(row, table, angle, v):
    """Inertia and torque of the load, and their derivatives.

    Between the angles of a table inertia and torque are cubic Hermite splines; beyond its ends they
    keep their last value. An inertia J(q) that changes with the angle gives the velocity torque
    -J'(q) v^2 / 2 (Lagrange's equation of one degree of freedom).

    Args:
      row: constants of the log.
      table: rows of all tabulated loads.
      angle: angle of the load [rad].
      v: its speed [rad/s].

    Returns:
      Inertia [kg m2], its derivative [kg m2/rad], torque [N m] and its derivatives with respect to
      the angle and the speed.
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
    # cubic Hermite basis at the position t in its cell (0 to 1), and its derivatives by t, where
    # g01 = -g00; slopes are per radian and therefore enter times the step
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
    # d/dt (J v) = J dv/dt + J' v^2 and dL/dq = J' v^2 / 2 leave -J' v^2 / 2 on the right-hand side
    torque -= 0.5 * slope * v * v
    torque_q -= 0.5 * curvature * v * v
    return inertia, slope, torque, torque_q, -slope * v
