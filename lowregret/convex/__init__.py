"""Convex functions, minimising their sums, and the players that do so each round: follow the (regularised) leader."""
