"""T5's buckets, 32 up to a distance of 128."""

import posenc.nn

from ..scheme import Scheme

SCHEME = Scheme(
    "t5",
    "T5",
    "1910.10683",
    terms=lambda sizes: [posenc.nn.T5RelativeBias(sizes.heads, bidirectional=sizes.bidirectional)],
)
