"""FoX: a forget gate for each head, made of each token."""

import posenc.nn

from ..scheme import Scheme

SCHEME = Scheme("fox", "FoX", "2503.02130", terms=lambda sizes: [posenc.nn.ForgetGate(sizes.heads, sizes.width)])
