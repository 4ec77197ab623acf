"""The learner that needs no tuning: see docs/auto.md."""
