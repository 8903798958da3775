"""Report page of a search: history, distributions, Pareto fronts."""
