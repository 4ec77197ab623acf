"""Random games of experts with nasty numbers, each checked in exact arithmetic: `python -m benchmarks.fuzz_experts`."""
