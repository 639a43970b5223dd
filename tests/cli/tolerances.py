"""Tolerances of the tests in Python, each a formula with its derivation; tests/support/tolerances.h has those in C++."""
import math

ROUNDING = 2.0**-24  # the largest relative error of one operation in float


def half_ulp(dtype, x):
    """The error of storing a number of that size: half the spacing there, or half of the smallest subnormal."""
    digits, lowest = {"f32": (24, -149), "f16": (11, -24), "bf16": (8, -133)}[dtype]
    return 0.5 * 2.0 ** max(math.frexp(x)[1] - digits, lowest)


def stored(dtype, x):
    """What a float near x loses in a tensor of that dtype."""
    return 0.0 if dtype == "f32" else half_ulp(dtype, x)


def rotated(dtype, own, other, expected):
    """One channel of a pair that is rotated, own c - other s: docs/rotation.md; 1e-3 more for what is left out there,
    products of two errors."""
    error = ROUNDING * (0.501 * (abs(own) + abs(other)) + abs(other))
    return (error + half_ulp("f32", expected) + stored(dtype, expected)) * 1.001


# ---- attention: docs/attention.md ----

Rotated = 4 * math.sqrt(2)  # roundings of a score for each side that is rotated in floats


def summed(terms):
    """Roundings of a sum in floats, one after another: summed_in_floats of tests/support/tolerances.h."""
    return min(terms, 6 * math.sqrt(terms))


def score_roundings(channels, terms=0):
    """Of a score of two heads that rotate, and so many terms."""
    return summed(channels) + 2 + 2 * Rotated + terms


def attended(roundings, sizes, weights, values, out):
    """One channel of an output. Of each key that is seen: the sum of the magnitudes that its score is made of, its
    weight, its value. What is left of the weights is a sink's, whose value is 0."""
    most = max(weights)

    def exponent(weight):
        return 3 * math.log(most / weight) + 3

    moved = sum(w * (roundings * size + exponent(w)) * abs(v - out) for size, w, v in zip(sizes, weights, values))
    sink = 1 - sum(weights)
    if sink > len(weights) * 2.0**-52:
        moved += sink * abs(exponent(sink)) * abs(out)
    sums = summed(len(weights) * (1 + 1 / 16))
    met = sum(w * abs(v) for w, v in zip(weights, values))
    return ROUNDING * (1.05 * moved + sums * met + (sums + 3) * abs(out))


def attended_anywhere(roundings, size, keys, largest):
    """The same where only the largest score and value are known: every key is as far from the output as two can be."""
    exponent = 3 * 2 * size + 3
    return ROUNDING * largest * (1.05 * 2 * (roundings * size + exponent) + 2 * summed(keys * (1 + 1 / 16)) + 3)


def feature_roundings(name, x):
    """Of a feature, in roundings, absolute: of exp(x) 2 |x| of its exponent and 3 of its own; of x + 1 one."""
    if name != "elu_plus_one":
        return 0.0
    return (2 * abs(x) + 3) * math.exp(x) if x < 0 else x + 1


def linearly_attended(channels, sizes, off, values, total, out):
    """One channel of linear attention over few keys. Of each key: the product of the lengths of its features and the
    query's; what roundings of features move that by; its value. total: the denominator, whose own error is at most that
    of values of 1, without rotations. Both sums add up keys, twice 48 at most, and channels."""
    sums = summed(2 * len(sizes) + 2 + channels)
    numerator = sum((o + (2 * Rotated + sums) * s) * abs(v) for s, o, v in zip(sizes, off, values))
    denominator = sum(o + sums * s for s, o in zip(sizes, off))
    assert denominator * ROUNDING < 0.02 * abs(total), "the denominator has cancelled"
    return ROUNDING * (1.05 * (numerator + abs(out) * denominator) / abs(total) + abs(out))


# ---- a language model in floats ----

def logits(layers, width, keys):
    """Logits of a decoder, of the largest one, six standard deviations: exceeded by chance once in 10^9.

    A sum of n terms of either sign has partial sums that grow as a root, so that n independent roundings of at most u
    of them have, over the result, a variance below (1 + 2 + ... + n) / n = n / 2 and some, in u^2. On the way to a
    logit each layer has seven products with matrices of rows up to `width`, attention's two sums (a head's width, the
    keys) and two norms (a sum, a root, two products); a norm and a product follow. Each block takes its input
    normalised, so a relative error of the stream goes through without being magnified, and variances add up. What it
    is compared with was computed in float as well: twice."""
    in_layer = 7 * width / 2 + width / 2 + keys / 2 + 2 * (width / 2 + 3)
    last = width / 2 + 3 + width / 2
    return 2 * 6 * math.sqrt(layers * in_layer + last) * ROUNDING


# A mistake must stand out from roundings: as kSpoiledOverBound of tests/support/model_tolerances.h.
SPOILT_OVER_BOUND = 100


def printed_digits(value, digits):
    """A number of so many significant digits is off by half a unit of the last."""
    return 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits)
