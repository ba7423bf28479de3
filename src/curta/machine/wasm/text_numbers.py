"""Numbers of the text format, as unsigned bit patterns. None means: not a number at all."""

from __future__ import annotations

import re

from curta.machine.wasm.floats import Format, from_ratio, is_finite

_DIGITS = "[0-9](?:_?[0-9])*"
_HEX = "[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_INTEGER = re.compile(rf"([+-]?)(?:0x({_HEX})|({_DIGITS}))")
_DECIMAL = re.compile(rf"({_DIGITS})(?:\.({_DIGITS})?)?(?:[eE]([+-]?{_DIGITS}))?")
_HEX_FLOAT = re.compile(rf"0x({_HEX})(?:\.({_HEX})?)?(?:[pP]([+-]?{_DIGITS}))?")
_NAN = re.compile(rf"nan(?::0x({_HEX}))?")

# No tie between neighbours needs more digits; further ones only say that there is something more.
_MOST_DIGITS = 1200


class OutOfRangeError(ValueError):
    """A number that the type cannot hold."""


def _whole(digits: str, base: int, most: int) -> int:
    """An integer of at most so many digits, leading zeros apart."""
    digits = digits.replace("_", "").lstrip("0")
    if len(digits) > most:
        raise OutOfRangeError
    return int(digits or "0", base)


def parse_integer(text: str, bits: int, *, signed: bool = True) -> int | None:
    """An integer: signed or unsigned numbers of so many bits, or unsigned ones only."""
    match = _INTEGER.fullmatch(text)
    if match is None or (match[1] and not signed):
        return None
    value = _whole(match[2], 16, 16) if match[2] else _whole(match[3], 10, 20)
    least = 1 << bits - 1 if match[1] == "-" else 0
    if value > (least or (1 << bits) - 1):
        raise OutOfRangeError
    return -value % (1 << bits) if match[1] == "-" else value


def parse_float(text: str, form: Format) -> int | None:
    sign = form.sign if text.startswith("-") else 0
    if text.startswith(("+", "-")):
        text = text[1:]
    if text == "inf":
        return sign | form.infinity
    if match := _NAN.fullmatch(text):
        if match[1] is None:
            return sign | form.quiet_nan
        payload = _whole(match[1], 16, 16)
        if not 0 < payload < 1 << form.precision - 1:
            raise OutOfRangeError
        return sign | form.infinity | payload
    if match := _HEX_FLOAT.fullmatch(text):
        pattern = _magnitude(match, 16, form)
    elif match := _DECIMAL.fullmatch(text):
        pattern = _magnitude(match, 10, form)
    else:
        return None
    if not is_finite(pattern, form):
        raise OutOfRangeError
    return sign | pattern


def _magnitude(match: re.Match[str], base: int, form: Format) -> int:
    """digits * base**-(places) * (10 or 2)**exponent, rounded once."""
    whole, fraction = match[1].replace("_", ""), (match[2] or "").replace("_", "")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return 0
    places = len(fraction)
    if len(digits) > _MOST_DIGITS:
        places -= len(digits) - _MOST_DIGITS - 1
        more = digits[_MOST_DIGITS:].strip("0")
        digits = digits[:_MOST_DIGITS] + ("1" if more else "0")
    exponent = _exponent(match[3] or "0")
    value = int(digits, base)
    if base == 16:
        power, exponent = 2, exponent - 4 * places
        size = value.bit_length() + exponent
    else:
        power, exponent = 10, exponent - places
        size = len(digits) + exponent
    if size > form.bits * 20:
        return form.infinity
    if size < -form.bits * 20:
        return 0
    if exponent >= 0:
        return from_ratio(value * power**exponent, 1, form)
    return from_ratio(value, power**-exponent, form)


def _exponent(text: str) -> int:
    """The exponent, or one as good if it is out of all bounds."""
    digits = text.lstrip("+-").replace("_", "").lstrip("0") or "0"
    size = int(digits) if len(digits) < 19 else 10**18
    return -size if text.startswith("-") else size
