"""Attribution of the gap between simulated and recorded motion to causes."""
