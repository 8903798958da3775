"""Situations of the bank of verdicts: machines with known truths, planted faults, what is right."""
