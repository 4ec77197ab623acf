"""Requests to terminate: where a run lets them in, they interrupt amid a batch; elsewhere after it."""

from __future__ import annotations

import os
import signal

import pytest

from lowregret.cli.interruption import Interruption
from lowregret.compile.signals import Unbroken, let_in


def test_a_run_that_lets_signals_in_is_interrupted_there() -> None:
    with Interruption() as interruption:
        with Unbroken():
            os.kill(os.getpid(), signal.SIGTERM)
            assert not interruption.wanted
            with pytest.raises(KeyboardInterrupt):
                let_in()
        assert interruption.wanted


def test_elsewhere_the_batch_at_hand_is_finished() -> None:
    with Interruption() as interruption:
        with Unbroken():
            os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.wanted
        assert list(interruption.watch(iter([]))) == []
