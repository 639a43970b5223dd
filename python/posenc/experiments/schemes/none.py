"""No positions: NoPE under a causal mask, which alone tells a token how many are before it."""

from ..scheme import Scheme

SCHEME = Scheme("none", "none (NoPE)", "2305.19466")
