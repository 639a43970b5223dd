#!/usr/bin/env python3
"""Errors of quantised KV caches by format, for docs/quantised-cache.md: keys and values with the statistics that are
published of models, stored by rotate_into_cache, read back by dequantise.

Keys: normal numbers, of which some channels are larger and have a mean of their own, as keys before RoPE have
(arXiv 2401.18079, section 3.2; arXiv 2402.02750, figure 2). Values: normal numbers, some tokens larger.

usage: cache_errors.py [--check | --write] [PAGE]      without either: prints the table
"""

import pathlib
import sys

import numpy

import posenc

TOKENS, HEADS, CHANNELS, GROUP = 1024, 4, 128, 32
BASE = 500000.0
ROPE = posenc.Rope(pairing="half", head_dim=CHANNELS, dim=CHANNELS, base=BASE)
BEGIN, END = "<!-- scripts/cache_errors.py -->\n", "<!-- end -->"
FORMATS = (
    "int8 int8_asymmetric int4 int4_asymmetric fp8_e4m3 fp8_e5m2 q8_0 q4_0 q5_1 int4_by_channel".split()
)


def keys(random, outliers):
    """[tokens, heads, channels], before RoPE; of `outliers` channels a head the deviation is 4 and the mean up to 15."""
    out = random.standard_normal((TOKENS, HEADS, CHANNELS))
    for head in range(HEADS):
        channels = random.choice(CHANNELS, outliers, replace=False)
        out[:, head, channels] = 4 * out[:, head, channels] + random.uniform(-15, 15, outliers)
    return out.astype(numpy.float32)


def values(random):
    """Tokens in eight of which one is four times as large."""
    out = random.standard_normal((TOKENS, HEADS, CHANNELS))
    out[::8] *= 4
    return out.astype(numpy.float32)


def cache_of(format):
    rows = (TOKENS, HEADS)
    codes = numpy.zeros((*rows, posenc.cache_row_bytes(format, CHANNELS)), numpy.uint8)
    if format == "int4_by_channel":
        shape = (TOKENS // GROUP, HEADS, CHANNELS)
        return posenc.Quantised(
            format,
            codes,
            scales=numpy.zeros(shape, numpy.float16),
            zeros=numpy.zeros(shape, numpy.float16),
            group=GROUP,
        )
    if format.startswith("q"):
        return posenc.Quantised(format, codes)
    zeros = numpy.zeros(rows, numpy.float32) if "asymmetric" in format else None
    return posenc.Quantised(format, codes, scales=numpy.zeros(rows, numpy.float32), zeros=zeros)


def bits(cache):
    size = sum(x.nbytes for x in (cache.codes, cache.scales, cache.zeros) if x is not None)
    return 8 * size / (TOKENS * HEADS * CHANNELS)


def stored(x, format, table=None):
    cache = cache_of(format)
    posenc.rotate_into_cache(x, k_cache=cache, slots=range(TOKENS), table=table)
    return posenc.dequantise(cache).astype(numpy.float64), cache


def relative(is_, wanted):
    return numpy.sqrt(((is_ - wanted) ** 2).mean() / (wanted.astype(numpy.float64) ** 2).mean())


def score_error(is_, wanted, queries):
    """Root mean square error of scores, as softmax takes them; queries are normal numbers of deviation 1."""
    apart = numpy.einsum("qhc,thc->hqt", queries, is_ - wanted) / numpy.sqrt(CHANNELS)
    return numpy.sqrt((apart**2).mean())


def rows():
    random = numpy.random.default_rng(25)
    plain, outlying, value = keys(random, 0), keys(random, 4), values(random)
    queries = random.standard_normal((64, HEADS, CHANNELS))
    table = posenc.make_table(ROPE, count=TOKENS)
    for format in FORMATS:
        kept, cache = stored(plain, format)
        before, _ = stored(outlying, format)
        after, _ = stored(outlying, format, table)
        rotated = posenc.rotate(outlying, table=table)
        of_values = "" if format == "int4_by_channel" else f"{relative(stored(value, format)[0], value):.4f}"
        yield (
            format,
            f"{bits(cache):.2f}",
            f"{relative(kept, plain):.4f}",
            f"{score_error(kept, plain, queries):.4f}",
            f"{score_error(before, outlying, queries):.4f}",
            f"{score_error(after, rotated, queries):.4f}",
            of_values,
        )


def text():
    head = (
        "format",
        "bits a number",
        "keys, no outliers: relative",
        "score",
        "outlier channels: score, stored unrotated",
        "stored rotated",
        "values: relative",
    )
    lines = [head, ("---",) * len(head), *rows()]
    return "".join("| " + " | ".join(line).replace("|  |", "| |") + " |\n" for line in lines)


def main(arguments):
    table = text()
    if not arguments:
        return print(table, end="")
    page = pathlib.Path(arguments[1])
    old = page.read_text()
    before, rest = old.split(BEGIN)
    new = before + BEGIN + table + END + rest.split(END, 1)[1]
    if arguments[0] == "--write":
        page.write_text(new)
    elif new != old:
        sys.exit(f"{page} does not have the table that {sys.argv[0]} prints")


if __name__ == "__main__":
    main(sys.argv[1:])
