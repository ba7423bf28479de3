"""Libraries of C functions that draw what programs do: idioms, chained.

An idiom is a template of a type, with holes for operands of other types: `(u64)<u32> * <u32> +
<u32>`. A hole takes a variable, a constant, or another idiom of its type; so every idiom stands in
every other one. All operands are numbers of any width that were widened, narrowed, compared or
computed before.

A function takes four words and gives one. The library calls them by itself (`run`), on edges of
all widths, and gives a digest of the results; `call` does one of these calls. What it computes is
defined, for compilers that wrap signed integers (-fwrapv): see `c_idioms.h`.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

PRELUDE = (Path(__file__).parent / "c_idioms.h").read_text()
WIDTHS = {f"{letter}{bits}": bits for bits in (8, 16, 32, 64, 128) for letter in "ui"}
WORDS = ("u32", "i32", "u64", "i64")
FLOATS = ("float", "double")
COMPARISONS = ("<", ">", "<=", ">=", "==", "!=")
OPERANDS = 64
"""How many operands a library draws from."""

_EDGES = (
    *(0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000),
    *(0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 1 << 32, (1 << 32) + 1),
    *(0x1FFFFFFFF, 0x7FFFFFFFFFFFFFFF, 1 << 63, (1 << 64) - 1, (1 << 64) - 2),
    *(0xFFFFFFFF00000000, 0xFFFFFFFF80000000, 0x3FF0000000000000, 0xBFE8000000000000),
    *(0x43E0000000000001, 0x7FEFFFFFFFFFFFFF, 0x0010000000000000, 0x3F8000003F800000),
)
_CONSTANTS = {
    "u32": "1103515245u 12345u 1664525u 0x9e3779b9u 0x85ebca6bu 0xffffffffu 0x80000000u 1u 0u 10u",
    "u64": (
        "6364136223846793005u 1442695040888963407u 0x9e3779b97f4a7c15u 0xff51afd7ed558ccdu "
        "0xffffffffu 0x100000000u 0x8000000000000000u 0xffffffffffffffffu 1u 0u 1000000007u 10u"
    ),
    "i64": "-1ll 1ll 0ll -2147483648ll 4294967296ll 1000000007ll -4294967295ll",
    "i32": "-1 1 0 7 -128 65535 2147483647",
    "float": "0.5f -1.0f 3.0f 16777216.0f 1e-40f 0.1f 4294967296.0f",
    "double": "0.5 -1.0 3.0 9007199254740992.0 1e-310 0.1 4294967296.0 1e300",
    "quad": "0.5L -1.0L 3.0L 1e-4000L 0.1L 18446744073709551616.0L",
}

_IDIOMS = {
    "u64": """
        (u64)<u32> * <u32> + <u32>
        (u64)<u32> * <u32> + <u64>
        (u64)<u32> * <u32> * <u32>
        (u64)<u32> + <u32> + <u32>
        (u64)<u32> - <u32> - <u32>
        (u64)<u32> * <u32> << <n64>
        (u64)<u32> * <u32> >> <n64>
        (u64)<u32> << 32 | <u32>
        (u64)<i32> * (u64)<u32>
        (<u64> << 32) * <u64> + <u64> * <u64>
        rotl64((u64)<u32> * <u32>, <n64>)
        rotl64(<u64>, <n64>)
        rotr64(<u64> + <u64>, <n64>)
        rotr64(<u64> ^ <u64>, <n64>) + <u64>
        rotl64(<u64>, 32)
        high64(<u64>, <u64>)
        high64(<u64>, <u64>) + <u64> * <u64>
        (u64)((u128)<u64> * <u64> >> <n128>)
        (u64)((u128)<u64> * <u64> + <u64> >> 64)
        ((u64)<u32> * <u32> >> 32) + ((u64)<u32> * <u32> >> 32)
        ({ u64 x = <u64>, s = x + <u64>; s + (s < x); })
        ({ u64 x = <u64>, y = <u64>, less = x - y; less - (x < y); })
        ({ u64 x = <u64>, s = x + <u64>, k = s < x, t = s + <u64>; k + (t < s) + (t >> 1); })
        ({ u64 x = <u64> + <u64>; u32 n = (u32)(<u64> + <u64>) & 63; \
            u64 r = x >> n | x << (-n & 63); <u64> + <u64> < <u64> + <u64> ? 0 : r; })
        ({ u64 x = <u64>; x ^= x >> 33; x *= 0xff51afd7ed558ccdu; x ^= x >> 29; x; })
        ({ u64 x = <u64>; x ^= x << 13; x ^= x >> 7; x ^= x << 17; x; })
        ({ u64 x = <u64>; x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1; x; })
        ({ u64 p = (u64)<u32> * <u32>, m = <u32> | 1u; p % m; })
        ({ u64 x = <u64>; x ? x & -x : x - 1; })
        ({ u128 p = (u128)<u64> * <u64>; (u64)(p >> 64) ^ (u64)p; })
        ({ u64 m = <u64> | 1, i = m * 3 ^ 2; i *= 2 - m * i; i *= 2 - m * i; \
            u64 x = <u64>; x - high64(x * i, m); })
        (u64)bytes[<u32> & 15] | (u64)bytes[<u32> & 15] << 8 | (u64)<u8> << 56
        (u64)__builtin_popcountll((u64)<u32> * <u32>) + <u64>
        (u64)__builtin_popcountll(<u64>) << <n64>
        (u64)ctz64(<u64>) - (u64)clz64(<u64>)
        __builtin_bswap64(<u64>)
        (u64)(<i64> < 0 ? -<i64> : <i64>)
        <u64> > <u64> ? <u64> : <u64>
        (u64)(<i64> >> 63) & <u64>
        double_bits(<double>)
        double_to_u64(<double>)
        float_to_u64(<float>)
    """,
    "i64": """
        (i64)<i32> * <i32> + <i32>
        (i64)<i32> * <i32>
        (i64)<i32> * <i32> >> 16
        (i64)<i32> * <i32> + 0x8000 >> 16
        ((i64)<i32> << 16) / (<i32> | 1)
        (i64)((i128)<i64> * <i64> >> 32)
        (i64)((u64)<u32> - <u32>)
        (i64)<i32> - <u32>
        <i64> < <i64> ? <i64> - <i64> : <i64>
        (i64)(<i64> > <i64>) - (<i64> < <i64>)
        (<i64> ^ <i64> >> 63) - (<i64> >> 63)
        double_to_i64(<double>)
        float_to_i64(<float>)
        (i64)(i8)<i64> + (i16)<i32>
        (i64)<u32> << <n64> >> <n64>
    """,
    "u32": """
        (u32)((u64)<u32> * <u32> >> 32)
        (u32)((u64)<u32> * <u32> % 0xfffffffbu)
        (u32)(<u64> >> 32)
        (u32)<u64> ^ (u32)(<u64> >> 32)
        (u32)((<u64> * 6364136223846793005u + 1) >> 33)
        rotr32((u32)((<u64> >> 18 ^ <u64>) >> 27), (u32)(<u64> >> 59))
        rotl32(<u32> * 0xcc9e2d51u, <n32>) * 5 + 0xe6546b64u
        rotl32(<u32>, <n32>)
        rotl32(<u32> + <u32>, 7) ^ <u32>
        (<u32> & 0xffff) * (<u32> >> 16) + <u16>
        (u32)(<u64> < <u64>) + (u32)(<u64> == <u64>)
        (u32)__builtin_popcountll(<u64>)
        (u32)clz64(<u64>) + (u32)clz32(<u32>)
        __builtin_bswap32(<u32>)
        ({ u32 x = <u32>, y = <u32>, s = x + y; s < x ? s + 1 : s; })
        ({ u32 x = <u32>, y = <u32>; u64 q = (u64)x * 0xcccccccdu >> 35; (u32)(x - q * 10) + y; })
        ({ u32 x = <u32>; for (int i = 0; i < 4; i++) x = x >> 1 ^ (-(x & 1) & 0xedb88320u); x; })
        float_bits(<float>)
        double_to_u32(<double>)
        float_to_u32(<float>)
        <u8> * 257u + <u16>
    """,
    "i32": """
        (i32)(((i64)<i32> * <i32>) >> 32)
        (i32)((i64)<i32> * <i32> >> 16)
        <i64> < <i64>
        (<i32> > 0) - (<i32> < 0)
        <double> < <double>
        <float> >= <float>
        <i64> < 0 ? <i32> : (i32)<i64>
        (i32)(i8)<i32> + (i16)<i32>
        <i32> >> <n32>
        <i8> - <i16>
        double_to_i32(<double>)
        float_to_i32(<float>)
        !<u64> + !<i32>
    """,
    "u128": """
        (u128)<u64> * <u64>
        (u128)<u64> * <u64> + <u64>
        (u128)<u64> * <u64> + (u128)<u64> * <u64>
        (u128)<u64> << 64 | <u64>
        (u128)<u64> << <n128>
        <u128> >> <n128>
        (u128)<i64>
        double_to_u128(<double>)
        <u128> < <u128> ? <u128> : <u128> - <u128>
    """,
    "i128": """
        (i128)<i64> * <i64>
        (i128)<i64> * <i64> - <i64>
        <i128> >> <n128>
        (i128)<u64> - <u64>
        (i128)<i32> << <n128>
    """,
    "double": """
        (double)<i64>
        (double)<u64>
        (double)<i32>
        (double)<u32>
        (double)<u128>
        (double)<float>
        to_double(<u64>)
        <double> + <double>
        <double> - <double>
        <double> * <double>
        <double> / <double>
        fma(<double>, <double>, <double>)
        fma(<double>, (double)<i32>, (double)<u32>)
        sqrt(<double>)
        floor(<double>) + trunc(<double>)
        ceil(<double>) - rint(<double>)
        fmod(<double>, <double>)
        ldexp(<double>, <i8>)
        -fabs(<double>)
        <u64> < <u64> ? <double> : <double>
        (double)(<u64> >> 11) * 0x1p-53
        (double)<i64> / 4294967296.0
        <double> < <double> ? <double> : <double>
    """,
    "float": """
        (float)<i64>
        (float)<u64>
        (float)<i32>
        (float)<u32>
        (float)<double>
        to_float(<u32>)
        <float> + <float>
        <float> - <float>
        <float> * <float>
        <float> / <float>
        fmaf(<float>, <float>, <float>)
        sqrtf(<float>)
        floorf(<float>) + fabsf(<float>)
        <i64> < <i64> ? <float> : <float>
        (float)(<u32> >> 8) * 0x1p-24f
    """,
    "quad": """
        (quad)<i64>
        (quad)<u64>
        (quad)<double>
        (quad)<float>
        (quad)<u32>
        (quad)<u64> * 0x1p64L + (quad)<u64>
        <quad> + <quad>
        <quad> - <quad>
        <quad> * <quad>
        <quad> / <quad>
        <quad> < <quad> ? <quad> : <quad>
        sqrtl(<quad>)
        floorl(<quad>)
        fmal(<quad>, <quad>, <quad>)
    """,
}
_WITH_QUADS = {
    "u64": "quad_to_u64(<quad>)",
    "i64": "quad_to_i64(<quad>)\n(i64)(<quad> < <quad>)",
    "double": "(double)<quad>\nexp(<float>)\nsin(<float>)\nlog(fabs(<double>))\npow(<float>, <i8>)",
    "float": "(float)<quad>",
    "u32": "quad_to_u32(<quad>)",
    "i32": "quad_to_i32(<quad>)",
}
"""Native code has another `long double`, and other functions of the C library."""

_CHANGES = """
    state = state * 6364136223846793005u + (<u64> | 1)
    state ^= rotl64(state + <u64>, <n64>)
    state = rotl64(state, 32)
    state += (u64)<u32> * <u32>
    words[<u32> & 7] += <u64>
    words[3] = rotl64(words[3], 32)
    words[<u32> & 7] -= (u64)<u32> * <u32> + <u32>
    bytes[<u32> & 15] = <u8>
"""
"""Of what the library keeps: statements, because the order within an expression is not defined."""

_ROUNDS = (
    # SipHash, ChaCha, xxHash, MurmurHash, a multiword sum, a schoolbook product, a square root.
    """v[0] += v[1]; v[1] = rotl64(v[1], {n}); v[1] ^= v[0]; v[0] = rotl64(v[0], 32);
       v[2] += v[3]; v[3] = rotl64(v[3], {m}); v[3] ^= v[2]; v[2] = rotl64(v[2], 32);""",
    """u32 a = (u32)v[0], b = (u32)v[1], c = (u32)v[2], d = (u32)v[3];
       a += b; d = rotl32(d ^ a, {n}); c += d; b = rotl32(b ^ c, {m});
       v[0] = (u64)a << 32 | b; v[2] ^= (u64)c * d;""",
    """v[{i}] += v[{j}] * 0xc2b2ae3d27d4eb4fu; v[{i}] = rotl64(v[{i}], {n});
       v[{i}] *= 0x9e3779b185ebca87u; v[{j}] ^= v[{i}] >> {m};""",
    """u64 k = v[{i}] * 0x87c37b91114253d5u; k = rotl64(k, {n}) * 0x4cf5ad432745937fu;
       v[{j}] = (rotl64(v[{j}] ^ k, {m}) + v[{i}]) * 5 + 0x52dce729;""",
    """u64 carry = 0;
       for (int k = 0; k < 4; k++) {{
           u64 s = v[k] + v[(k + {i}) & 3], t = s + carry;
           carry = (u64)(s < v[k]) + (t < s);
           v[k] = t;
       }}
       v[0] += carry;""",
    """u32 x[3] = {{(u32)v[0], (u32)(v[0] >> 32), (u32)v[1]}}, y[3] = {{(u32)v[2], (u32)v[3], {m}}};
       u32 z[6] = {{0}};
       for (int k = 0; k < 3; k++) {{
           u64 carry = 0;
           for (int l = 0; l < 3; l++) {{
               carry += (u64)x[k] * y[l] + z[k + l];
               z[k + l] = (u32)carry;
               carry >>= 32;
           }}
           z[k + 3] = (u32)carry;
       }}
       v[{i}] = (u64)z[1] << 32 | z[0]; v[{j}] ^= (u64)z[5] << 32 | z[3];""",
    """u64 x = v[{i}], root = 0;
       for (u64 bit = 1ull << 62; bit; bit >>= 8) {{
           if (x >= root + bit) x -= root + bit, root = (root >> 1) + bit;
           else root >>= 1;
       }}
       v[{j}] += root;""",
    """u128 product = (u128)v[{i}] * v[{j}], total = product + v[0];
       v[{i}] = (u64)(total >> 64) + (total < product); v[{j}] = (u64)total;""",
)
"""On `u64 v[4]`, with rotations and places to be drawn."""


class IdiomLibrary:
    """Draws one library of so many functions: `text` is its source."""

    def __init__(self, random: Random, functions: int, *, quads: bool = False) -> None:
        self.random = random
        self.functions = functions
        self.idioms = {type_: _lines(text) for type_, text in _IDIOMS.items()}
        if quads:
            for type_, text in _WITH_QUADS.items():
                self.idioms[type_] += _lines(text) * 3
        else:
            del self.idioms["quad"]
        for type_ in WIDTHS:
            self.idioms.setdefault(type_, []).extend(self.plain(type_))
        self.variables: dict[str, str] = {}
        self.text = self.library()

    def plain(self, type_: str) -> list[str]:
        """The operators of a type."""
        count = {32: "n32", 64: "n64", 128: "n128"}.get(WIDTHS[type_], "n32 & 7")
        sources = [f"({type_})<{other}>" for other in WIDTHS if other != type_]
        operations = [f"({type_})(<{type_}> {operator} <{type_}>)" for operator in "+-*&|^"]
        shifts = [f"({type_})(<{type_}> {way} <{count}>)" for way in ("<<", ">>")]
        if "&" in count:
            shifts = [text.replace("<n32 & 7>", "(<n32> & 7)") for text in shifts]
        comparing = [
            f"({type_})(<{type_}> {self.random.choice(COMPARISONS)} <{other}>)"
            for other in (type_, type_, "double")
        ]
        divisions = []
        if WIDTHS[type_] >= 32 and (WIDTHS[type_] < 128 or self.random.random() < 0.2):
            divisions = [f"{type_}_{name}(<{type_}>, <{type_}>)" for name in ("div", "rem")]
        return [*self.random.sample(sources, 4), *operations, *shifts, *comparing, *divisions]

    def library(self) -> str:
        random = self.random
        drawn = [random.getrandbits(random.randrange(1, 65)) for _ in range(OPERANDS)]
        operands = [*_EDGES, *drawn][:OPERANDS]
        parts = [
            PRELUDE,
            f"static u64 state = {random.getrandbits(64)}u, words[8];",
            "static u8 bytes[16] = {1, 2, 127, 128, 255};",
            *(self.function(number) for number in range(self.functions)),
            f"static u64 (*const functions[])(u64, u64, u64, u64) = {{{self.names()}}};",
            f"static const u64 operands[] = {{{', '.join(f'{one}u' for one in operands)}}};",
            _DRIVER,
        ]
        return "\n".join(parts)

    def names(self) -> str:
        return ", ".join(f"f{number}" for number in range(self.functions))

    def function(self, number: int) -> str:
        self.variables = dict.fromkeys("abcd", "u64")
        lines = [f"static u64 f{number}(u64 a, u64 b, u64 c, u64 d) {{"]
        for place in range(self.random.randrange(1, 4)):
            type_ = self.random.choice((*self.idioms, *WORDS, *WORDS))
            lines.append(f"    {type_} x{place} = {self.expression(type_, 2)};")
            self.variables[f"x{place}"] = type_
        for kept in ("state", "words[3]") if self.random.random() < 0.3 else ():
            change = self.filled(self.random.choice(_lines(_CHANGES)), 2)
            lines.append(f"    {change};")
            self.variables[kept] = "u64"
        if self.random.random() < 0.25:
            lines += self.rounds()
        lines.append(f"    return {' ^ '.join(self.word(name) for name in self.variables)};")
        return "\n".join([*lines, "}"])

    def rounds(self) -> list[str]:
        i, j = self.random.sample(range(4), 2)
        n, m = self.random.randrange(1, 32), self.random.randrange(1, 32)
        body = self.random.choice(_ROUNDS).format(i=i, j=j, n=n, m=m)
        count = self.random.randrange(1, 4)
        names = ", ".join(
            f"(u64)({self.word(self.random.choice([*self.variables]))})" for _ in "1234"
        )
        self.variables["v[3]"] = self.variables["v[0]"] = "u64"
        return [
            f"    u64 v[4] = {{{names}}};",
            f"    for (int i = 0; i < {count}; i++) {{",
            body,
            "    }",
        ]

    def word(self, name: str) -> str:
        """A variable as a word, that depends on all its bits."""
        type_ = self.variables[name]
        match type_:
            case "double" | "float":
                return f"{type_}_bits({name})"
            case "quad":
                return f"double_bits((double){name}) ^ double_bits((double)({name} * 0x1p40L))"
            case "u128" | "i128":
                return f"(u64){name} ^ (u64)({name} >> 64)"
        return f"(u64){name}"

    def expression(self, type_: str, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf(type_)
        template = self.random.choice(self.idioms[type_])
        return f"({self.filled(template, depth)})"

    def filled(self, template: str, depth: int) -> str:
        return re.sub(r"<(\w+)>", lambda hole: self.hole(hole[1], depth - 1), template)

    def hole(self, type_: str, depth: int) -> str:
        if type_[0] != "n":
            return self.expression(type_, depth)
        bits = int(type_[1:])
        if self.random.random() < 0.4:
            return str(self.random.randrange(bits))
        return f"({self.expression(self.random.choice(WORDS), min(depth, 1))} & {bits - 1})"

    def leaf(self, type_: str) -> str:
        """A variable made to be of a type, or a constant of it: in C, too, it is of that type."""
        if type_ in _CONSTANTS and self.random.random() < 0.2:
            return f"({type_}){self.random.choice(_CONSTANTS[type_].split())}"
        integers = [name for name, other in self.variables.items() if other in WIDTHS]
        name = self.random.choice(integers)
        same = [other for other, one in self.variables.items() if one == type_]
        if same and self.random.random() < 0.5:
            return self.random.choice(same)
        if type_ in FLOATS:
            bits = f"{type_}({'(u64)' if type_ == 'double' else '(u32)'}{name})"
            return self.random.choice((f"to_{bits}", f"({type_})(i32){name}", f"({type_}){name}"))
        if type_ == "quad":
            return f"(quad)to_double((u64){name})"
        other = self.random.choice(integers)
        narrow = self.random.choice(("u8", "i8", "u16", "i16", "u32", "i32"))
        forms = (f"({type_}){name}", f"({type_})({narrow}){name}")
        compared = f"({type_})({name} {self.random.choice(COMPARISONS)} {other})"
        return self.random.choice((*forms, *forms, compared))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


_DRIVER = """
static u64 draw(u32 which, u32 number) {
    u64 x = ((u64)which << 32 | number) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}
u64 operand(u32 which, u32 number, u32 place) {
    return operands[draw(which, number) >> 6 * place & 63];
}
u64 call(u32 which, u32 number) {
    u64 drawn = draw(which, number);
    return functions[which](operands[drawn & 63], operands[drawn >> 6 & 63],
                            operands[drawn >> 12 & 63], operands[drawn >> 18 & 63]);
}
u64 run(u32 which, u32 first, u32 count) {
    u64 digest = 0;
    for (u32 i = 0; i < count; i++) digest = (digest ^ call(which, first + i)) * 0x100000001b3u;
    return digest;
}
"""


def function_text(library: str, number: int) -> str:
    """The source of one function, to be shown."""
    start = library.index(f"static u64 f{number}(")
    return library[start : library.index("\n}\n", start) + 2]
