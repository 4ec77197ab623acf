"""How plain Python becomes compiled loops: parts, kernels, their cache, vector registers, memory, numbers and coins."""
