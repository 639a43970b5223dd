"""Gradients of keys, from the ranks that make them to the rank that has the keys.

A rank holds at most a block of those that it has made and that have not left, and a block of those that come for its own
keys: a piece is made, or asked for, when those before it have left room. A block is all that a rank has; where it comes in
parts, some leave while the next is made. All is added in the order of the turns.
"""

from __future__ import annotations

from collections import deque

import torch

from ._exchange import GRADIENTS, Exchange, Pending
from ._parts import KeyGradients
from ._schedule import Piece


class Returning:
    """own: the sums of this rank's own keys; axis: of their rows; most: rows of a block."""

    def __init__(self, exchange: Exchange, own: KeyGradients, axis: int, most: int) -> None:
        self.exchange, self.own, self.axis, self.most = exchange, own, axis, most
        self.leaving: deque[tuple[Piece, list[Pending]]] = deque()
        self.coming: deque[tuple[Piece, list[Pending]]] = deque()

    def _of_own(self, piece: Piece) -> KeyGradients:
        return KeyGradients(*(x.narrow(self.axis, piece.first, piece.count) for x in self.own.tensors()))

    def _shapes(self, piece: Piece) -> list[list[int]]:
        return [[piece.count if n == self.axis else size for n, size in enumerate(x.shape)] for x in self.own.tensors()]

    def _has_room(self, held: deque[tuple[Piece, list[Pending]]], piece: Piece) -> bool:
        return not held or sum(one.count for one, _ in held) + piece.count <= self.most

    def room(self, piece: Piece, is_own: bool) -> KeyGradients:
        """Zeros, where the gradients of a piece are to be made: its own, to which nothing has been added yet, or others'."""
        if is_own:
            return self._of_own(piece)
        while not self._has_room(self.leaving, piece):
            self._see_off_first()
        zeros = (torch.zeros(shape, dtype=torch.float32, device=self.own.k.device) for shape in self._shapes(piece))
        return KeyGradients(*zeros)

    def give(self, piece: Piece, made: KeyGradients, rank: int) -> None:
        """What was made of a piece of another's, to that rank."""
        self.leaving.append((piece, [self.exchange.send(x, rank, GRADIENTS) for x in made.tensors()]))

    def _see_off_first(self) -> None:
        """In a function of its own, so that no name holds it afterwards."""
        for one in self.leaving.popleft()[1]:
            one.wait()

    def ask(self, piece: Piece, rank: int) -> None:
        """For what that rank makes of a piece of its own."""
        while not self._has_room(self.coming, piece):
            self._add_first()
        pending = [self.exchange.receive(shape, torch.float32, rank, GRADIENTS) for shape in self._shapes(piece)]
        self.coming.append((piece, pending))

    def _add_first(self) -> None:
        piece, pending = self.coming.popleft()
        for to, one in zip(self._of_own(piece).tensors(), pending):
            to.add_(one.wait())

    def finish(self) -> None:
        """Adds all that is still to come."""
        while self.coming:
            self._add_first()
