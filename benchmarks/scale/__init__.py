"""Past one machine: costs measured here, runs on many workers in virtual time, and what they say of a thousand nodes.

python -m benchmarks.scale [--data DIR] [--out out/scale] [calibrate | validate | curves | terascale | pictures] …
"""
