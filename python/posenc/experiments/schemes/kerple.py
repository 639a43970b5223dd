"""KERPLE, the logarithm."""

import posenc.nn

from ..scheme import Scheme

SCHEME = Scheme("kerple", "KERPLE", "2205.09921", terms=lambda sizes: [posenc.nn.Kerple(sizes.heads)])
