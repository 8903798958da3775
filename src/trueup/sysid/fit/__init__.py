"""Gray-box problem, its windows and fits."""
