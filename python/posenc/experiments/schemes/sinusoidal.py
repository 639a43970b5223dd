"""Rows of sines and cosines, added to embeddings."""

import posenc.nn

from ..scheme import Scheme

SCHEME = Scheme("sinusoidal", "sinusoidal", "1706.03762", rows=lambda sizes: posenc.nn.SinusoidalPositions(sizes.width))
