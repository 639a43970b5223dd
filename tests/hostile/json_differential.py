"""The JSON reader against Python's: the same texts accepted, the same values understood.

usage: json_differential.py JSON_ECHO [COUNT [SEED]]

Texts are small valid ones and mutations of them. Where the two are known to differ, judge() says why:
Python takes lone surrogates; this reader's depth ends at 128. What no double can hold is null on both sides.
"""
import json
import random
import subprocess
import sys

PIECES = [
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"/", b" ", b"\n", b"\t", b"\r", b"\0", b"\x0b", b"\x7f",
    b"null", b"true", b"false", b"nul", b"NaN", b"Infinity", b"-Infinity", b"Inf", b"None",
    b"-", b"+", b".", b"e", b"E", b"0", b"1", b"9", b"00", b"1.5", b"-0", b"1e3", b"1E-2", b"1e400", b"1e-400",
    b"9223372036854775807", b"9223372036854775808", b"123456789012345678901234567890", b"4096.0",
    b'"a"', b'""', b'"a":', b'"\\u00e9"', b'"\\ud83e\\udded"', b'"\\ud800"', b'"\\udc00"', b"\\u0000", b"\\n", b"\\x",
    b"\xc3\xa9", b"\xf0\x9f\xa7\xad", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe4\xbd",
    b"\xef\xbb\xbf", b"[" * 130, b"]" * 130,
]
SCALARS = [
    b"null", b"true", b"false", b"NaN", b"Infinity", b"-Infinity", b"0", b"-0", b"17", b"-3", b"0.1", b"2.5e-7",
    b"1e400", b"1e22", b"9007199254740993", b'""', b'"x"', b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', b'"\\u4f4d\\ud83e\\udded"',
    b'"\xe4\xbd\x8d"',
]


def make(rng, depth):
    kind = rng.randrange(4 if depth < 4 else 2)
    space = rng.choice([b"", b"", b" ", b"\n  "])
    if kind < 2:
        return rng.choice(SCALARS)
    items = [make(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 2:
        return b"[" + space + (b"," + space).join(items) + space + b"]"
    members = [rng.choice([b'"a"', b'"b"', b'""', b'"\\u0061"']) + b":" + space + item for item in items]
    return b"{" + space + (b"," + space).join(members) + space + b"}"


def mutate(rng, text):
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(text) + 1)
        length = rng.choice([0, 0, 1, 1, 3])
        text = text[:at] + rng.choice([b"", rng.choice(PIECES)]) + text[at + length:]
    return text


def has_surrogate(value):
    if isinstance(value, str):
        return any(0xD800 <= ord(c) < 0xE000 for c in value)
    return isinstance(value, (list, tuple)) and any(map(has_surrogate, value))


def depth_of(value):
    if not isinstance(value, (list, Pairs)):
        return 0
    return 1 + max((depth_of(v[1] if isinstance(value, Pairs) else v) for v in value), default=0)


class Pairs(tuple):
    """An object as its members in order: duplicates count."""


def number(text):
    value = float(text)
    return value if abs(value) < float("inf") else None


def integer(text):
    value = int(text)
    return value if -2**63 <= value < 2**63 else number(text)


def load(text):
    return json.loads(text, object_pairs_hook=Pairs, parse_float=number, parse_int=integer,
                      parse_constant=lambda _: None)


def understand(data):
    """What Python makes of the bytes; raises ValueError when it is not JSON."""
    text = data.decode("utf-8")
    return load(text[1:] if text.startswith("\ufeff") else text)


def judge(data, answer):
    try:
        value = understand(data)
    except ValueError:
        return answer.startswith("error ")
    if answer == "error json_utf8":
        return has_surrogate(value)
    if answer == "error json_depth":
        return depth_of(value) > 128
    return not answer.startswith("error ") and load(answer) == value and not has_surrogate(value)


def main():
    echo = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 30000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 20240229
    rng = random.Random(seed)
    texts = [mutate(rng, make(rng, 0)) for _ in range(count)]
    run = subprocess.run([echo], input="".join(t.hex() + "\n" for t in texts), capture_output=True, text=True,
                         encoding="utf-8", check=True)
    answers = run.stdout.split("\n")[:-1]
    assert len(answers) == count, f"{len(answers)} answers to {count} texts"
    wrong = [(t, a) for t, a in zip(texts, answers) if not judge(t, a)]
    refused = sum(a.startswith("error ") for a in answers)
    print(f"seed {seed}: {count} texts, {count - refused} accepted, {refused} refused, "
          f"{len(wrong)} judged otherwise by Python")
    for text, answer in wrong[:20]:
        print(f"  {text!r}: {answer}")
    assert 0 < refused < count
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
