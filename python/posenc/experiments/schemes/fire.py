"""FIRE; its threshold begins at the trained length."""

import posenc.nn

from ..scheme import Scheme

SCHEME = Scheme(
    "fire", "FIRE", "2310.04418", terms=lambda sizes: [posenc.nn.Fire(sizes.heads, length=float(sizes.trained))]
)
