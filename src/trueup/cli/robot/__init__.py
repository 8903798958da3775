"""Commands on models of robots: import, check, identify, explain, design, reconcile, export."""
