"""ALiBi, fixed slopes; of the distance without its sign where the future is seen too."""

import posenc.nn

from ..scheme import Scheme

SCHEME = Scheme(
    "alibi",
    "ALiBi",
    "2108.12409",
    terms=lambda sizes: [posenc.nn.ALiBi(sizes.heads, symmetric=sizes.bidirectional)],
)
