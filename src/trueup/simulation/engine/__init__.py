"""The batch engine: segments, initial states, rollouts on all cores."""
