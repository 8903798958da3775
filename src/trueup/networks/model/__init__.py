"""Networks as plain data and as torch modules, and the linear baseline."""
