"""RoPE, base 10000."""

import posenc

from ..scheme import Scheme

SCHEME = Scheme("rope", "RoPE", "2104.09864", rotate=lambda sizes: [posenc.Rotate(scheme=sizes.rope())])
