"""Cases of `benchmarks.fuzz_choices`: a random composition, nasty data, and what exact arithmetic says of it."""
