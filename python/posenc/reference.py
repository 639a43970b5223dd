"""The float64 reference: each stage by its formula, one number at a time; and schemes of research papers."""

from ._posenc import _reference_add_input as add_input
from ._posenc import _reference_attend as attend
from ._posenc import _reference_attend_backward as attend_backward
from ._posenc import _reference_attend_linear as attend_linear
from ._posenc import _reference_attend_linear_backward as attend_linear_backward
from ._posenc import _reference_fope as fope
from ._posenc import _reference_fope_score as fope_score
from ._posenc import _reference_grape as grape
from ._posenc import _reference_grape_bias as grape_bias
from ._posenc import _reference_grape_score as grape_score
from ._posenc import _reference_normalise as normalise
from ._posenc import _reference_normalise_backward as normalise_backward
from ._posenc import _reference_path_score as path_score
from ._posenc import _reference_pope_score as pope_score
from ._posenc import _reference_relative_logit as relative_logit
from ._posenc import _reference_rotate as rotate
from ._posenc import _reference_rotate_complex as rotate_complex
from ._posenc import _reference_rotate_half as rotate_half
from ._posenc import _reference_rotate_matrix as rotate_matrix
from ._posenc import _reference_rotate_pairwise as rotate_pairwise
from ._posenc import _reference_rotation_matrix as rotation_matrix

__all__ = [
    "add_input",
    "attend",
    "attend_backward",
    "attend_linear",
    "attend_linear_backward",
    "fope",
    "fope_score",
    "grape",
    "grape_bias",
    "grape_score",
    "normalise",
    "normalise_backward",
    "path_score",
    "pope_score",
    "relative_logit",
    "rotate",
    "rotate_complex",
    "rotate_half",
    "rotate_matrix",
    "rotate_pairwise",
    "rotation_matrix",
]
