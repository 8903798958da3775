"""Quality checks of a recording, one module a kind, all with the same call.

A check is a function that takes :class:`~trueup.signals.checks.recorded.Recorded` and yields its
findings with :func:`~trueup.signals.checks.finding.refuse`, ``warn`` or ``note``. The table in
:mod:`trueup.signals.quality` lists the checks and their requirements.
"""
