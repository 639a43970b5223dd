"""RoPE, with YaRN where a test is longer than training: its factor is the ratio of both. Nothing is trained again."""

import posenc

from ..scheme import Scheme, Sizes


def longer(sizes: Sizes, length: int) -> list[posenc.Rotate]:
    yarn = posenc.YarnScaling(factor=length / sizes.trained, original_max_position_embeddings=sizes.trained)
    return [posenc.Rotate(scheme=sizes.rope(scaling=yarn))]


SCHEME = Scheme(
    "yarn", "RoPE + YaRN", "2309.00071", rotate=lambda sizes: [posenc.Rotate(scheme=sizes.rope())], longer=longer
)
