"""The place itself, 0, 1, 2, ..., in every channel: what LayerNorm takes away again."""

import posenc

from ..fixed_rows import FixedRows
from ..scheme import Scheme

SCHEME = Scheme("integer", "integers", "", rows=lambda sizes: FixedRows(posenc.IntegerInput(), sizes))
