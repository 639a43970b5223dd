"""The place in binary, a bit a channel."""

import posenc

from ..fixed_rows import FixedRows
from ..scheme import Scheme

SCHEME = Scheme("binary", "binary", "", rows=lambda sizes: FixedRows(posenc.BinaryInput(), sizes))
