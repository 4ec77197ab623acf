"""The textbook's game, round by round: `play` a player against any convex functions."""

from lowregret.play.begin import play as play
from lowregret.play.game import Game as Game
