"""The textbook's game, round by round: `play` a player against any convex functions."""

from lowregret.play.game import Game as Game
from lowregret.play.game import play as play
