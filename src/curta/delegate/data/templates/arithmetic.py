"""Bare arithmetic: a calculation and nothing around it, or hardly anything."""

from __future__ import annotations

from curta.delegate.data.draw import Draw, Written

CATEGORY = "arithmetic"


def sum_of_two(draw: Draw) -> Written:
    a, b = draw.number(), draw.number()
    result = draw.calc(f"{a} + {b}")
    question = draw.choose(
        f"What is {a} + {b}?",
        f"{a}+{b}",
        f"Add {a} and {b}.",
        f"Calculate the sum of {a} and {b}.",
        f"How much is {a} plus {b}?",
        f"{a} plus {b} equals what?",
    )
    answer = draw.choose(f"{result}", f"The sum is {result}.", f"{a} plus {b} is {result}.")
    return draw.written(question, answer, result)


def difference(draw: Draw) -> Written:
    a, b = draw.number(), draw.number()
    result = draw.calc(f"{a} - {b}")
    question = draw.choose(
        f"What is {a} - {b}?",
        f"{a}-{b}=",
        f"Subtract {b} from {a}.",
        f"Compute {a} minus {b}.",
        f"What do you get if you take {b} away from {a}?",
    )
    answer = draw.choose(f"{result}", f"The difference is {result}.")
    return draw.written(question, answer, result)


def product(draw: Draw) -> Written:
    a, b = draw.number(), draw.number()
    result = draw.calc(f"{a} * {b}")
    question = draw.choose(
        f"What is {a} times {b}?",
        f"{a} * {b}",
        f"{a} x {b} = ?",
        f"Multiply {a} by {b}.",
        f"Find the product of {a} and {b}.",
        f"Can you work out {a} multiplied by {b}?",
    )
    answer = draw.choose(f"{result}", f"The product is {result}.", f"That is {result}.")
    return draw.written(question, answer, result)


def quotient(draw: Draw) -> Written:
    b = draw.between(2, 99)
    a = b * draw.number() if draw.random.random() < 0.6 else draw.number()
    result = draw.calc(f"{a} / {b}")
    question = draw.choose(
        f"What is {a} divided by {b}?",
        f"{a}/{b}",
        f"{a} ÷ {b}",
        f"Divide {a} by {b}.",
        f"Work out the quotient of {a} and {b}.",
    )
    answer = draw.choose(f"{result}", f"The quotient is {result}.")
    return draw.written(question, answer, result)


def remainder(draw: Draw) -> Written:
    a, b = draw.number(), draw.between(2, 60)
    result = draw.calc(f"{a} % {b}")
    question = draw.choose(
        f"What is the remainder when {a} is divided by {b}?",
        f"{a} mod {b}",
        f"What is left over if you divide {a} by {b}?",
        f"Compute {a} modulo {b}.",
    )
    return draw.written(question, f"The remainder is {result}.", result)


def power(draw: Draw) -> Written:
    base, exponent = draw.between(2, 30), draw.between(2, 6)
    result = draw.calc(f"{base} ^ {exponent}")
    question = draw.choose(
        f"What is {base} to the power of {exponent}?",
        f"{base}^{exponent}",
        f"{base}**{exponent} = ?",
        f"Raise {base} to the power {exponent}.",
    )
    return draw.written(question, f"{result}", result)


def mixed_terms(draw: Draw) -> Written:
    a, b, c = draw.number(), draw.between(2, 99), draw.number()
    expression = draw.choose(
        f"{a} + {b} * {c}", f"({a} + {b}) * {c}", f"{a} * {b} - {c}", f"{a} - {b} + {c}",
        f"({a} - {b}) / {c}", f"{a} / {b} + {c}",
    )  # fmt: skip
    result = draw.calc(expression)
    question = draw.choose(
        f"What is {expression}?",
        f"{expression}",
        f"Evaluate {expression}.",
        f"Please compute {expression} for me.",
    )
    return draw.written(question, f"{result}", result)


def decimals(draw: Draw) -> Written:
    a, b = draw.decimal(0.1, 500), draw.decimal(0.1, 90, 1)
    sign, word = draw.choose(("+", "plus"), ("-", "minus"), ("*", "times"))
    result = draw.calc(f"{a} {sign} {b}")
    question = draw.choose(f"What is {a} {word} {b}?", f"{a} {sign} {b}", f"{a} {sign} {b} = ?")
    return draw.written(question, f"{result}", result)


def square_root(draw: Draw) -> Written:
    root = draw.between(2, 300)
    of = root * root if draw.random.random() < 0.7 else draw.number()
    result = draw.calc(f"sqrt({of})")
    question = draw.choose(
        f"What is the square root of {of}?",
        f"sqrt({of})",
        f"Find the positive number whose square is {of}.",
    )
    return draw.written(question, f"The square root is {result}.", result)


def percentage(draw: Draw) -> Written:
    share, of = draw.between(1, 99), draw.number()
    result = draw.calc(f"{share} / 100 * {of}")
    question = draw.choose(
        f"What is {share}% of {of}?",
        f"How much is {share} percent of {of}?",
        f"Work out {share}% of {of}.",
    )
    return draw.written(question, f"{share}% of {of} is {result}.", result)


def sum_of_three(draw: Draw) -> Written:
    a, b, c = draw.number(), draw.number(), draw.number()
    result = draw.calc(f"{a} + {b} + {c}")
    question = draw.choose(
        f"What do {a}, {b} and {c} add up to?",
        f"Total of {a}, {b} and {c}?",
        f"{a} + {b} + {c}",
        f"Sum these numbers: {a}, {b}, {c}.",
    )
    return draw.written(question, f"Together they are {result}.", result)


def squares_of_two(draw: Draw) -> Written:
    a, b = draw.between(2, 200), draw.between(2, 200)
    result = draw.calc(f"{a}^2 + {b}^2")
    question = draw.choose(
        f"Add the squares of {a} and {b}.",
        f"What is {a} squared plus {b} squared?",
        f"{a}² + {b}² = ?",
    )
    return draw.written(question, f"{result}", result)


def difference_of_products(draw: Draw) -> Written:
    a, b, c, d = (draw.between(2, 99) for _ in range(4))
    result = draw.calc(f"{a}*{b} - {c}*{d}")
    question = draw.choose(
        f"By how much is {a} times {b} more than {c} times {d}?",
        f"Take the product of {c} and {d} from the product of {a} and {b}.",
        f"What is {a} x {b} minus {c} x {d}?",
    )
    return draw.written(question, f"{result}", result)


TRAIN = (
    sum_of_two,
    difference,
    product,
    quotient,
    remainder,
    power,
    mixed_terms,
    decimals,
    square_root,
    percentage,
)
TEST = (sum_of_three, squares_of_two, difference_of_products)
