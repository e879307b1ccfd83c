"""Confirm against restore: the token decides. ``make faults`` plays thousands of rounds."""

from __future__ import annotations

from pathlib import Path

from tests.faults.races import race_of_commands, race_of_verbs
from tests.integration.rollout.rig import FULL


def test_the_two_commands_never_both_succeed_nor_both_fail(tmp_path: Path) -> None:
    won = race_of_commands(tmp_path, 3000 if FULL else 300)
    assert set(won) == {"confirmed", "restored"}


def test_confirm_and_the_dead_man_never_disagree(tmp_path: Path) -> None:
    won = race_of_verbs(tmp_path, 400 if FULL else 16)
    assert set(won) <= {"confirmed", "restored"}, won
