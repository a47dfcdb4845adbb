"""Ways to make the cluster that a spec describes: one module or package each, all with the same contract."""
