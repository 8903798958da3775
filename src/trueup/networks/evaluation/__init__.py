"""Scores, closed-loop rollouts and reports of networks."""
