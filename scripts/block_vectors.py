#!/usr/bin/env python3
"""Writes tests/kernels/block_vectors.inc: numbers, and the bytes that ggml's reference quantisers make of them.

Written from the formulas of quantize_row_q8_0_ref, quantize_row_q4_0_ref and quantize_row_q5_1_ref (ggml-quants.c), in
float32 as they are, and from nothing of posenc. Where the gguf package is installed, its own quantisers must give the
same bytes.

usage: block_vectors.py [--check] ROOT      --check: compares with the file instead of writing it
"""

import pathlib
import sys

import numpy

F = numpy.float32
CHANNELS = 32


def f16_bytes(x):
    return numpy.float16(x).tobytes()


def round_away(x):
    """C's roundf."""
    whole = numpy.trunc(x)
    return whole + numpy.where(numpy.abs(x - whole) >= F(0.5), numpy.sign(x), F(0))


def q8_0(x):
    d = F(numpy.abs(x).max() / F(127))
    inverse = F(1) / d if d else F(0)
    return f16_bytes(d) + round_away(x * inverse).astype(numpy.int8).tobytes()


def halves(codes):
    low, high = codes[:16] & 15, codes[16:] & 15
    return (low | high << 4).astype(numpy.uint8).tobytes()


def q4_0(x):
    most = x[numpy.abs(x).argmax()]
    d = F(most / F(-8))
    inverse = F(1) / d if d else F(0)
    codes = numpy.minimum(15, numpy.trunc(x * inverse + F(8.5)).astype(numpy.int8))
    return f16_bytes(d) + halves(codes.astype(numpy.uint8))


def q5_1(x):
    least = x.min()
    d = F((x.max() - least) / F(31))
    inverse = F(1) / d if d else F(0)
    codes = numpy.trunc((x - least) * inverse + F(0.5)).astype(numpy.uint32)
    fifths = sum(int(code >> 4 & 1) << j for j, code in enumerate(codes))
    return f16_bytes(d) + f16_bytes(least) + fifths.to_bytes(4, "little") + halves(codes)


FORMATS = {"q8_0": q8_0, "q4_0": q4_0, "q5_1": q5_1}


def blocks():
    random = numpy.random.default_rng(20251128)
    yield numpy.zeros(CHANNELS, F)
    yield numpy.full(CHANNELS, 3.25, F)
    yield numpy.full(CHANNELS, -0.75, F)
    yield numpy.linspace(-127, 127, CHANNELS, dtype=F) / F(2)  # halves of steps: ties
    yield numpy.arange(CHANNELS, dtype=F) - F(16)
    yield (numpy.arange(CHANNELS, dtype=F) % 3 - F(1)) * F(4)  # the largest magnitude twice, of either sign
    yield random.standard_normal(CHANNELS).astype(F) * F(1e-6)  # scales that binary16 rounds to a few bits
    yield random.standard_normal(CHANNELS).astype(F) * F(1e4)
    outlier = random.standard_normal(CHANNELS).astype(F)
    outlier[7] = F(-60)
    yield outlier
    for _ in range(24):
        yield random.standard_normal(CHANNELS).astype(F)


def held_to_gguf(numbers):
    try:
        import gguf
    except ImportError:
        return
    for name, quantise in FORMATS.items():
        kind = getattr(gguf.GGMLQuantizationType, name.upper())
        theirs = gguf.quants.quantize(numbers.reshape(1, -1), kind).tobytes()
        assert theirs == b"".join(quantise(x) for x in numbers), f"gguf has other bytes for {name}"
    print(f"the same bytes as gguf's: {', '.join(FORMATS)}")


def lines(values, width):
    return [", ".join(values[n : n + width]) + "," for n in range(0, len(values), width)]


def text(numbers):
    out = ["// Written by scripts/block_vectors.py: floats by their bits, and the bytes of their blocks.", ""]
    out.append(f"constexpr std::array<std::uint32_t, {numbers.size}> kNumbers{{{{")
    out += ["    " + line for line in lines([f"0x{bits:08X}" for bits in numbers.reshape(-1).view(numpy.uint32)], 10)]
    out.append("}};")
    for name, quantise in FORMATS.items():
        stored = b"".join(quantise(x) for x in numbers)
        out.append(f"constexpr std::array<std::uint8_t, {len(stored)}> k_{name}{{{{")
        out += ["    " + line for line in lines([f"0x{byte:02X}" for byte in stored], 18)]
        out.append("}};")
    return "\n".join(out) + "\n"


def main(arguments):
    is_check = "--check" in arguments
    path = pathlib.Path(arguments[-1]) / "tests" / "kernels" / "block_vectors.inc"
    numbers = numpy.stack(list(blocks()))
    held_to_gguf(numbers)
    if not is_check:
        path.write_text(text(numbers))
    elif path.read_text() != text(numbers):
        sys.exit(f"{path} is not what this script writes")


if __name__ == "__main__":
    main(sys.argv[1:])
