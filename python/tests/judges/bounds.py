"""How far two right answers in float32 can be apart. Every tolerance of the tests beside is one of these."""

from __future__ import annotations

import math

import torch
from torch import Tensor

HALF_UNIT = 2.0**-24


# A rotation of numbers up to 1, in half units: two products of at most that, their sum (at most sqrt(2)), and cos and
# sin that are off by one unit in the last place, which is 2^-24 of at most 1, or two roundings.
ROTATION = 2 + 1.5 + 2 * 2


def rotated(largest: float) -> float:
    """Two rotations of numbers up to `largest`."""
    return 2 * ROTATION * largest * HALF_UNIT


def float_angle(largest: float) -> float:
    """How far an angle n base^-x in float32, x in [0, 1] and n at most `largest`, is from the exact one. The rounded x
    moves the power by ln(base) x half units of it; it, its reciprocal, a factor and the product with n round once each.
    So n base^-x (ln(base) x + 4), which is largest for x = 0."""
    return 4 * largest * HALF_UNIT


def gradient(largest_entry: float, step: float, largest_y: float) -> float:
    """A difference quotient of what is linear in x against its matrix: there is no error of the quotient but the
    roundings of the results, of size `largest_y`, over the step, and those of the entry itself."""
    return rotated(largest_y) / step + rotated(largest_entry)


def attended(
    q: Tensor, k: Tensor, v: Tensor, scale: float, bias: float = 0.0, factor: float | None = None, angle: float = 0.0
) -> float:
    """Two softmaxes of scale q.k + b, |b| <= bias, and their products with v, in any order of their sums. factor: q and
    k are rotated, by a rotation of this attention factor; angle: how far the angles of one of them are off.

    A sum of n terms in any order is within n 2^-24 of the sum of their magnitudes; that of a score is at most the
    product of the lengths; the bias, its product and its sum round thrice. A weight is a quotient of exponentials, of
    2 roundings and twice the scores' error each; a sum over the keys then adds a rounding a key, twice: of weights, and
    of weights times values. All of it happens twice.

    A rotation moves both channels of a pair by at most ROTATION half units of its length, hence a vector by sqrt(2) as
    many of its own; there are two vectors. One of the two softmaxes has angles that are off, of both.
    """
    lengths = abs(scale) * float(q.norm(dim=-1).max()) * float(k.norm(dim=-1).max()) * (factor or 1.0) ** 2
    rotations = 0.0 if factor is None else 2 * math.sqrt(2) * ROTATION
    score = ((q.shape[-1] + 2 + rotations) * lengths + 3 * (lengths + bias)) * HALF_UNIT + angle * lengths
    keys = k.shape[-2]
    return 2 * float(v.abs().max()) * (2 * score + (2 * 2 + 2 * keys) * HALF_UNIT)


def in_double(largest: float, terms: int) -> float:
    """Two sums in double, in any order, of so many terms whose magnitudes add up to `largest`: a rounding a term, and
    16 for what a term is made of (powers, angles of at most 16, cos and sin, an exponential of a score)."""
    return 2 * (terms + 16) * largest * 2.0**-53


def in_single(largest: float, terms: int) -> float:
    """The same in float32: transformers takes softmaxes, square roots, cos and sin in it, whatever the model's type."""
    return in_double(largest, terms) * 2.0**29


def scheme(
    q: Tensor, k: Tensor, v: Tensor, scale: float, largest: float, terms: int, keys: int, unit: float = 2.0**-53, angle: float = 0.0
) -> float:
    """Two outputs of attention with any scheme, of a rounding `unit`. largest: of the scores, biases included; terms:
    products that one score is a sum of; angle: how far angles are off; scale: with the query's and attention factor's.

    A score rounds once a product and 16 times more for what terms are made of (an exponential, a logarithm, cos and sin,
    their products and sums, a cap), of magnitudes that add up to the lengths' product and the largest score; an output,
    as `attended` has it, once a key, twice, and 4 times. Roundings are taken as independent and even between -1 and 1
    unit: n of them add up to less than 3 of their standard deviations, sqrt(n / 3). A weight has twice the score's error,
    and the two outputs differ by sqrt(2) of what one is off.
    """
    lengths = abs(scale) * float(q.norm(dim=-1).max()) * float(k.norm(dim=-1).max())
    score = 3 * math.sqrt((terms + 16) / 3) * (lengths + largest) * unit + 2 * angle * lengths
    value = float(v.abs().max())
    return math.sqrt(2) * value * (2 * score + 3 * math.sqrt((4 + 2 * keys) / 3) * unit) + angle * value


def product_angle(largest_position: float, largest_inv_freq: float) -> float:
    """An angle that is one product in float64 of a position and a frequency, against the real number."""
    return largest_position * largest_inv_freq * 2.0**-53


def central_difference(rounding: float, step: float, third: float) -> float:
    """A central difference quotient against the derivative: both results are off by `rounding`, over twice the step;
    what is left out of the series is step^2 / 6 of the third derivative, at most `third`."""
    return 2 * rounding / (2 * step) + step**2 / 6 * third


def stored(largest: float, dtype: torch.dtype) -> float:
    """A number up to `largest`, rounded once to the type that it is stored in, and the same rounded by another."""
    return 2 * largest * {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}.get(dtype, 0.0)


def trained(largest: float, largest_of_all: float) -> float:
    """A number of a training step of a small model in float32, by two ways of attention: logits, a loss, a gradient.

    It is a sum over tokens and layers of what passed two attentions and the matrices between; each of about 64 sums and
    products that follow one another rounds by a unit of what is summed, which is at most 4 times the result, or the
    largest of all gradients where parts of it cancel, of which 1 in 32 is left.
    """
    return 64 * (4 * largest + largest_of_all / 32) * HALF_UNIT


def attended_gradient(q: Tensor, k: Tensor, v: Tensor, d_out: Tensor, scale: float, bias: float = 0.0) -> float:
    """Two gradients of attention, of q, k, v or a bias, as `attended` has two outputs: dL/dz = p (d_out.v - d_out.o), of
    which each product is at most |d_out| |v|, rounds as sums of so many channels do, and has the weights' error; summed
    over at most so many queries or keys, times a length of q or k and the scale, or of d_out."""
    lengths = [float(x.detach().norm(dim=-1).max()) for x in (q, k, v, d_out)]
    rotations = 2 * math.sqrt(2) * ROTATION
    score = ((q.shape[-1] + 2 + rotations) * abs(scale) * lengths[0] * lengths[1] + 3 * bias) * HALF_UNIT
    keys, channels = max(k.shape[-2], q.shape[-2]), max(q.shape[-1], v.shape[-1])
    of_z = 2 * lengths[2] * lengths[3] * (2 * score + (4 + 2 * keys + 2 * channels + rotations) * HALF_UNIT)
    return 2 * q.shape[-2] * max(1.0, abs(scale) * lengths[0], abs(scale) * lengths[1]) * of_z
