#!/usr/bin/env python3
"""The polynomial of src/kernels/exponential.h: 2^f for |f| <= 1/2, nearest in relative error.

Lawson's iteration: least squares whose weights follow the errors, until all peaks are alike. Needs NumPy.
"""

import numpy

DEGREE = 6
POINTS = 4001
STEPS = 200


def fit():
    f = numpy.cos(numpy.pi * (numpy.arange(POINTS) + 0.5) / POINTS) / 2
    truth = 2.0**f
    powers = numpy.vander(f, DEGREE + 1, increasing=True)
    weights = numpy.ones(POINTS)
    for _ in range(STEPS):
        root = numpy.sqrt(weights)
        coefficients = numpy.linalg.lstsq(powers / truth[:, None] * root[:, None], root, rcond=None)[0]
        errors = numpy.abs(powers @ coefficients / truth - 1)
        weights = weights * errors / numpy.sum(weights * errors)
    return coefficients, errors.max()


def main():
    coefficients, error = fit()
    print(f"greatest relative error {error:.3g}")
    for power, coefficient in enumerate(coefficients):
        print(f"f^{power}: {float(numpy.float32(coefficient)).hex()}F")


if __name__ == "__main__":
    main()
