"""Pages of a team's clusters: authorise by decorator, parse by form, act by one call, show by one call."""
