"""JSON texts made up at random, hostile on purpose: numbers by the border of what a double holds,
keys that sort otherwise by UTF-16 than by UTF-8, escapes, and nesting."""

from __future__ import annotations

import json
import math
import struct
from decimal import Decimal, getcontext
from random import Random

getcontext().prec = 1200  # the exact decimals of a double have up to 767 digits

CHARACTERS = (
    'aZ09 "\\/\b\f\n\r\t\x01\x1f\x7f\x80é\u0301ßΣς漢\u2028\u2029\ud7ff\ue000\uf8ff'
    "\uff61\ufffd\ufffe\uffff\U00010000\U0001f600\U0010fffe\U0010ffff"
)
"""What strings and keys are made of; some sort one way by UTF-16 and the other by UTF-8."""


def double(random: Random) -> float:
    """A finite double: any bits, a power, or one next to a border."""
    kind = random.randrange(5)
    if kind == 0:
        number: float = struct.unpack("<d", random.randbytes(8))[0]
        return number if math.isfinite(number) else 0.5
    if kind == 1:
        return float(f"1e{random.randint(-324, 308)}")
    if kind == 2:
        return math.ldexp(1.0, random.randint(-1074, 1023))
    if kind == 3:
        return random.randint(1, 999_999) / 10.0 ** random.randint(0, 9)
    border = random.choice([1e-7, 1e-6, 1e20, 1e21, 1e22, 1e23, 2.0**53, 2.0**63, 1.7e308])
    return math.nextafter(border, random.choice([0.0, math.inf]))


def number_text(random: Random) -> str:
    """A number as JSON text, which a double may hold, be nearest to, or not hold."""
    value = double(random)
    kind = random.randrange(6)
    if kind == 0:
        return f"{Decimal(value):f}"  # all of its digits
    if kind == 1:
        return f"{value:.16e}"
    if kind == 2:  # halfway to the next double
        return f"{(Decimal(value) + Decimal(math.nextafter(value, 0.0))) / 2:f}"
    if kind == 3:
        return str(random.randint(-(2**70), 2**70))
    if kind == 4:
        return str(random.choice([-1, 1]) * (2**53 + random.randint(-4, 4)))
    return repr(-value if random.random() < 0.5 else value)


def string(random: Random) -> str:
    return "".join(random.choices(CHARACTERS, k=random.randrange(6)))


def value_text(random: Random, depth: int = 4) -> str:
    """A JSON value of any kind as text, nested at most so deep."""
    kind = random.randrange(7 if depth else 4)
    if kind == 0:
        return random.choice(
            ["null", "true", "false", "0", "-0", "-0.0", "1.50", "1E2", "[]", "{}"]
        )
    if kind == 1:
        return json.dumps(string(random), ensure_ascii=random.random() < 0.5)
    if kind in (2, 3):
        return repr(double(random))
    members = [value_text(random, depth - 1) for _ in range(random.randrange(5))]
    if kind == 4:
        return f"[{', '.join(members)}]"
    return "{" + ", ".join(f"{json.dumps(string(random))}:{member}" for member in members) + "}"
