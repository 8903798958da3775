"""A search of a test's own: from the start, halfway to the best of points around it."""

import numpy as np

from trueup.fitting import SearchMethod, Status


class HalvingSearch:
    """Points around the best so far, in a box that halves with each batch."""

    settings_class = None

    def __init__(self, space, size=16, batches=30, seed=0):
        self.space, self.size, self.left, self.seed = space, size, batches, seed
        self.x, self.cost, self.width = space.start.copy(), np.inf, 0.5
        self.message, self.history, self.evaluations = "", [], 0
        self.random = np.random.default_rng(seed)

    def ask(self):
        space = self.space
        low = np.where(np.isfinite(space.lower), space.lower, space.start - 1.0)
        high = np.where(np.isfinite(space.upper), space.upper, space.start + 1.0)
        steps = self.random.uniform(-1.0, 1.0, (self.size - 1, space.size)) * (high - low)
        around = np.clip(self.x + self.width * steps, low, high)
        return np.vstack([self.x, around])

    def evaluate(self, problem, X, failures):
        return problem.costs(X, failures)[:, 0]

    def tell(self, X, costs, failures):
        best = int(np.argmin(costs))
        if costs[best] <= self.cost:
            self.x, self.cost = X[best].copy(), float(costs[best])
        self.width *= 0.6
        self.left -= 1
        self.evaluations += len(X)
        self.history.append({"cost": self.cost, "evaluations": self.evaluations})

    def done(self):
        self.message = f"halved: cost {self.cost:g}"
        return Status.CONVERGED if self.left == 0 else None

    def state(self):
        return {
            "left": self.left,
            "size": self.size,
            "x": self.x,
            "cost": self.cost,
            "width": self.width,
            "evaluations": self.evaluations,
            "history": self.history,
            "random": self.random.bit_generator.state,
        }

    @classmethod
    def from_state(cls, state, space):
        search = cls(space, state["size"], state["left"])
        for name in ("cost", "width", "evaluations", "history"):
            setattr(search, name, state[name])
        search.x = np.array(state["x"], float)
        search.random.bit_generator.state = state["random"]
        return search


ENTRY = SearchMethod("halves a box around the best", HalvingSearch, population="size")
