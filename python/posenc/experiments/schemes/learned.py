"""Learned rows, added to embeddings: one for each place up to the longest test, of which training reaches the first."""

import posenc.nn

from ..scheme import Scheme

SCHEME = Scheme(
    "learned", "learned rows", "1810.04805", rows=lambda sizes: posenc.nn.LearnedPositions(sizes.longest, sizes.width)
)
