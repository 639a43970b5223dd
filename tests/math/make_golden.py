"""Writes golden_frequencies.inc: frequencies of small schemes in 60-digit arithmetic and in simulated float.

    python3 make_golden.py > golden_frequencies.inc        needs mpmath

The formulas are written here a second time, from the papers named in src/math, and share nothing with the library.
The same lines run twice: with 200 bits (the truth) and with 24 (each step rounded to float, in the order of Hugging
Face's code). Scalars, which Python computes in double there, have 200 bits in both.
"""
import mpmath as mp

WIDE = 200
FLOAT = 24


def scalar(thunk):
    """A scalar: computed wide, rounded where it meets the arithmetic in use."""
    with mp.workprec(WIDE):
        value = thunk()
    return +mp.mpf(value)


def powers(base, dim, rungs=None):
    """base^(2p/dim); rungs is a list of (step, span) where the ladder is not the shared one."""
    rungs = rungs or [(p, dim) for p in range(dim // 2)]
    return [mp.power(scalar(lambda: base), mp.mpf(2 * step) / span) for step, span in rungs]


def ladder(base, dim, rungs=None):
    return [1 / x for x in powers(base, dim, rungs)]


def default(base, dim, rungs=None):
    return ladder(base, dim, rungs), 1


def linear(base, dim, factor):
    return [x / scalar(lambda: factor) for x in ladder(base, dim)], 1


def ntk(base, dim, alpha):
    with mp.workprec(WIDE):
        stretched = mp.mpf(base) * mp.mpf(alpha) ** (mp.mpf(dim) / (dim - 2))
    return ladder(stretched, dim), 1


def dynamic(base, dim, factor, trained, length=None):
    with mp.workprec(WIDE):
        n = max(length or trained, trained)
        stretch = mp.mpf(factor) * n / trained - (mp.mpf(factor) - 1)
    return ntk(base, dim, stretch)


def qwen(base, dim, trained, length):
    with mp.workprec(WIDE):
        alpha = max(2 ** int(mp.ceil(mp.log(mp.mpf(length) / trained, 2) + 1)) - 1, 1)
    return ntk(base, dim, alpha)


def g(s, m=1.0):
    return mp.mpf(1) if s <= 1 else mp.mpf(m) * mp.log(s) / 10 + 1


def yarn(base, dim, factor, trained, fast=32.0, slow=1.0, truncate=True, attention=None, mscale=None, all_dim=None):
    with mp.workprec(WIDE):
        turns = lambda r: dim * mp.log(trained / (r * 2 * mp.pi)) / (2 * mp.log(base))
        low, high = turns(mp.mpf(fast)), turns(mp.mpf(slow))
        if truncate:
            low, high = mp.floor(low), mp.ceil(high)
        low, high = max(low, mp.mpf(0)), min(high, mp.mpf(dim - 1))
        if low == high:
            high += mp.mpf(0.001)
        if attention is None:
            attention = g(factor, mscale) / g(factor, all_dim) if mscale and all_dim else g(factor)
        width = high - low
    inv = []
    for p, power in enumerate(powers(base, dim)):
        ramp = (p - scalar(lambda: low)) / scalar(lambda: width)
        kept = 1 - min(max(ramp, mp.mpf(0)), mp.mpf(1))
        inv.append(1 / (scalar(lambda: factor) * power) * (1 - kept) + 1 / power * kept)
    return inv, attention


def longrope(base, dim, divisors, trained, factor, attention=None):
    with mp.workprec(WIDE):
        if attention is None:
            attention = 1 if factor <= 1 else mp.sqrt(1 + mp.log(factor) / mp.log(trained))
    return [1 / (scalar(lambda: d) * x) for d, x in zip(divisors, powers(base, dim), strict=True)], attention


def llama3(base, dim, factor, low, high, trained):
    inv = []
    for x in ladder(base, dim):
        wavelength = scalar(lambda: 2 * mp.pi) / x
        if wavelength < scalar(lambda: mp.mpf(trained) / high):
            inv.append(x)
        elif wavelength > scalar(lambda: mp.mpf(trained) / low):
            inv.append(x / factor)
        else:
            t = (trained / wavelength - low) / scalar(lambda: mp.mpf(high) - low)
            inv.append((1 - t) * x / factor + t * x)
    return inv, 1


def proportional(base, dim, part, factor=1.0):
    turning = int(part * dim // 2)
    inv = [x / scalar(lambda: factor) for x in ladder(base, dim)]
    return inv[:turning] + [mp.mpf(0)] * (dim // 2 - turning), 1


def factors(base, dim, divisors):
    return [x / scalar(lambda: d) for x, d in zip(ladder(base, dim), divisors, strict=True)], 1


SHORT, LONG = [1.0, 1.1, 1.2, 0.9], [1.0, 2.5, 8.0, 32.0]
MANY = [1.07, 1.3, 1.9, 2.7, 3.3, 5.1, 7.7, 9.9, 13.3, 17.1, 21.7, 29.9]
CASES = {
    "default": lambda: default(10000.0, 12),
    "default_base_1": lambda: default(1.0, 4),
    "per_axis_2": lambda: default(10000.0, 8, [(0, 4), (1, 4)] * 2),
    "per_axis_3": lambda: default(100.0, 12, [(0, 4), (1, 4)] * 3),
    "per_axis_alternating": lambda: default(10000.0, 8, [(0, 4), (0, 4), (1, 4), (1, 4)]),
    "strided_2": lambda: default(10000.0, 8, [(0, 8), (2, 8), (1, 8), (3, 8)]),
    "linear": lambda: linear(10000.0, 8, 3.0),
    "linear_below_1": lambda: linear(10000.0, 8, 0.7),
    "ntk": lambda: ntk(10000.0, 8, 1000.0),
    "ntk_below_1": lambda: ntk(10000.0, 8, 0.5),
    "dynamic_no_length": lambda: dynamic(10000.0, 8, 2.0, 64),
    "dynamic_at_trained": lambda: dynamic(10000.0, 8, 2.0, 64, 64),
    "dynamic_one_beyond": lambda: dynamic(10000.0, 8, 2.0, 64, 65),
    "dynamic_far": lambda: dynamic(10000.0, 8, 2.0, 64, 512),
    "qwen_at_trained": lambda: qwen(10000.0, 8, 8192, 8192),
    "qwen_one_beyond": lambda: qwen(10000.0, 8, 8192, 8193),
    "qwen_at_twice": lambda: qwen(10000.0, 8, 8192, 16384),
    "qwen_beyond_twice": lambda: qwen(10000.0, 8, 8192, 16385),
    "yarn": lambda: yarn(10000.0, 16, 4.0, 2048),
    "yarn_not_truncated": lambda: yarn(150000.0, 16, 32.0, 4096, truncate=False),
    "yarn_zero_betas": lambda: yarn(10000.0, 16, 4.0, 2048),
    "yarn_custom_betas": lambda: yarn(10000.0, 16, 4.0, 2048, fast=16.0, slow=2.0),
    "yarn_equal_range": lambda: yarn(10000.0, 16, 4.0, 2048, fast=7.0, slow=7.0, truncate=False),
    "yarn_pair_within_equal_range": lambda: yarn(10000.0, 16, 4.0, 2048, fast=10.3134, slow=10.3134, truncate=False),
    "yarn_low_clamped": lambda: yarn(10000.0, 16, 4.0, 64),
    "yarn_high_clamped": lambda: yarn(10.0, 8, 4.0, 4096),
    "yarn_range_turned_by_clamp": lambda: yarn(2.0, 8, 4.0, 4096),
    "yarn_mscale_pair": lambda: yarn(10000.0, 16, 40.0, 4096, mscale=0.707, all_dim=1.0),
    "yarn_lone_mscale": lambda: yarn(10000.0, 16, 40.0, 4096, mscale=0.707),
    "yarn_mscale_all_dim_zero": lambda: yarn(10000.0, 16, 64.0, 4096, mscale=1.0, all_dim=0.0),
    "yarn_attention_factor": lambda: yarn(10000.0, 16, 4.0, 2048, attention=0.5, mscale=0.707, all_dim=1.0),
    "yarn_factor_below_1": lambda: yarn(10000.0, 16, 0.5, 2048),
    "longrope_no_length": lambda: longrope(10000.0, 8, SHORT, 4096, 32.0),
    "longrope_at_original": lambda: longrope(10000.0, 8, SHORT, 4096, 32.0),
    "longrope_one_beyond": lambda: longrope(10000.0, 8, LONG, 4096, 32.0),
    "longrope_factor_1": lambda: longrope(10000.0, 8, SHORT, 4096, 1.0),
    "longrope_attention_factor": lambda: longrope(10000.0, 8, LONG, 4096, 32.0, attention=0.5),
    "longrope_short_mscale": lambda: longrope(10000.0, 8, SHORT, 4096, 32.0, attention=1.1),
    "longrope_long_mscale": lambda: longrope(10000.0, 8, LONG, 4096, 32.0, attention=1.3),
    "longrope_many": lambda: longrope(10000.0, 24, MANY, 4096, 32.0),
    "llama3_many": lambda: llama3(500000.0, 64, 7.0, 1.0, 4.0, 8192),
    "llama3": lambda: llama3(500000.0, 16, 8.0, 1.0, 4.0, 8192),
    "llama3_low_equals_high": lambda: llama3(500000.0, 16, 16.0, 1.0, 1.0, 8192),
    "proportional": lambda: proportional(1000000.0, 16, 0.25),
    "proportional_rounded_down": lambda: proportional(1000000.0, 10, 0.3),
    "proportional_factor": lambda: proportional(1000000.0, 16, 0.5, 8.0),
    "proportional_none": lambda: proportional(1000000.0, 8, 0.0),
    "proportional_all": lambda: proportional(1000000.0, 8, 1.0),
    "factors": lambda: factors(500000.0, 8, [1.0, 1.0, 2.7, 1e30]),
}


def row(values, digits, suffix):
    return "{" + ", ".join(mp.nstr(x, digits, min_fixed=0, max_fixed=1) + suffix for x in values) + "}"


def main():
    print("// Written by make_golden.py: do not edit. {name, attention factor, inv_freq, inv_freq in float}")
    for name, case in CASES.items():
        with mp.workprec(WIDE):
            exact, attention = case()
            assert len(exact) > 0 and all(x >= 0 for x in exact), name
        with mp.workprec(FLOAT):
            rounded, _ = case()
        with mp.workprec(WIDE):
            print(f'{{"{name}", {mp.nstr(mp.mpf(attention), 20)},')
            print(f" {row(exact, 20, '')},")
            print(f" {row(rounded, 10, 'F')}}},")


if __name__ == "__main__":
    main()
