"""Gradients made wrong on purpose: the tests of test_composed.py must see each."""

from __future__ import annotations

import pytest
import torch

import bounds
import posenc
import scheme_cases
from scheme_cases import CASES, Arrangement, Call

NEAR = Arrangement("near", posenc.Mask(kind="bidirectional"), batch=2, queries=3, keys=4)


def spoiled_zero(x):
    return x.detach()


class Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return -grad


class Mixed(torch.autograd.Function):
    """Heads, or rows, exchange their gradients."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.roll(1, 0) if grad.dim() < 4 else grad.roll(1, 1)


SPOILS = {"zero": spoiled_zero, "turned": Turned.apply, "mixed": Mixed.apply}


def slope(function, tensors, seed=11, step=1e-5):
    """A directional derivative, by central differences and by autograd, of all outputs weighted at random."""
    random = scheme_cases.Random(seed)
    directions = [random(*x.shape) for x in tensors]
    weights = [random(*y.shape) for y in function(*tensors)]

    def total(by):
        with torch.no_grad():
            outs = function(*(x + by * u for x, u in zip(tensors, directions)))
        return sum(float((y * w).sum()) for y, w in zip(outs, weights))

    differences = (total(step) - total(-step)) / (2 * step)
    whole = sum((y * w).sum() for y, w in zip(function(*tensors), weights))
    gradients = torch.autograd.grad(whole, tensors, allow_unused=True)
    by_autograd = sum(float((g * u).sum()) for g, u in zip(gradients, directions) if g is not None)
    return differences, by_autograd


NAMES = [
    "t5",
    "kerple",
    "fire",
    "shaw by keys, of heads",
    "transformer-xl",
    "deberta v2",
    "cope",
    "forget gate",
    "learned frequencies",
    "sinks",
    "shaw values",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_gradient_is_caught(name):
    """Each tensor in turn with its gradient left out, of the wrong sign, or another head's or row's."""
    attend, tensors, names = scheme_cases.function_of(Call(CASES[name], NEAR, 3))
    differences, by_autograd = slope(attend, tensors)
    # Outputs of the size of 10, some hundred of them: rounded to double, over the step, and its square.
    tolerance = bounds.central_difference(bounds.in_double(1000.0, 64), 1e-5, 1e4)
    assert abs(differences - by_autograd) <= tolerance
    for place, (x, of) in enumerate(zip(tensors, names)):
        for how, spoil in SPOILS.items():
            if how == "mixed" and (x.dim() == 0 or x.shape[0 if x.dim() < 4 else 1] == 1):
                continue

            def wrong(*given, place=place, spoil=spoil):
                return attend(*(spoil(one) if at == place else one for at, one in enumerate(given)))

            _, spoiled = slope(wrong, tensors)
            assert abs(differences - spoiled) > 10 * tolerance, (of, how)
