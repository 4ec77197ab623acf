"""Learners of rows: linear ones, those of many classes, the kernel Perceptron; what they ask of rows, and growing."""
