"""CoPE, with a row for each place of the trained length."""

import posenc.nn

from ..scheme import Scheme

SCHEME = Scheme(
    "cope", "CoPE", "2405.18719", terms=lambda sizes: [posenc.nn.CoPE(sizes.heads, sizes.head_dim, sizes.trained)]
)
