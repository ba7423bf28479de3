"""The example programs: how each is run, and the file with what it then prints.

One table for every way of running them: wasmtime here, the machine's levels elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
EXPECTED = Path(__file__).parent / "expected"

INKALA = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."
EASY = """
53.|.7.|...
6..|195|...
.98|...|.6.
---+---+---
8..|.6.|..3
4..|8.3|..1
7..|.2.|..6
---+---+---
.6.|...|28.
...|419|..5
...|.8.|.79
""".replace("-", " ").replace("+", " ")

LISP = """\
(define (fact n) (if (= n 0) 1 (* n (fact (- n 1)))))
(fact 20)
(define (adder n) (lambda (k) (+ n k)))
((adder 10) 5)
(map (lambda (x) (* x x)) '(1 2 3 4))
(define (loop i sum) (if (= i 0) sum (loop (- i 1) (+ sum i))))
(loop 500 0)
(let ((a 1) (b 2)) (list a b 'c '(d e)))
(cond ((< 2 1) 'no) ((= 1 1) 'yes) (else 'never))
(car '())
(quotient -7 2) (remainder -7 2) (quotient 7 0)
(and 1 2 3) (or #f 7) (and) (or) (not 3)
(append '(1 2) '(3) '(4 5))
(apply + '(1 2 3))
(1 2)
((lambda all (length all)) 1 2 3)
(define (filter f l)
  (cond ((null? l) '()) ((f (car l)) (cons (car l) (filter f (cdr l)))) (else (filter f (cdr l)))))
(define (range a b) (if (= a b) '() (cons a (range (+ a 1) b))))
(define (sieve l) ; of Eratosthenes
  (if (null? l) '()
    (cons (car l) (sieve (filter (lambda (x) (not (= 0 (remainder x (car l))))) (cdr l))))))
(sieve (range 2 40))
(display '(hello . world)) (newline)
sieve
car
(unknown 1)
(+ 1
"""

SUMS = [
    "2^256 - (10^30 + 1) * 7",
    "12345678901234567890123456789^3 // 98765432109876543210987",
    "-7 // 2",
    "-7 % 3",
    "7 % -3",
    "-(2^64) * -(3^41)",
    "10^40 // 9999",
    "(10^60 - 1) // (10^30 - 1) % 100010001",
    "2^3^2",
    "-2^2",
    "0 * -5",
    "99999999 * 99999999 + 1",
    "340282366920938463463374607431768211456 % 18446744073709551557",
]
"""In Python's notation, but for ^; the calculator writes / for //."""

BAD_SUMS = ["1/0", "2+", "(3", "3)", "2^-1", "x", "1 2"]


@dataclass(frozen=True)
class Case:
    """A program, what it is given, and how it ends."""

    program: str
    args: tuple[str, ...] = ()
    stdin: str = ""
    name: str = ""
    exit_code: int = 0

    @property
    def path(self) -> Path:
        return EXAMPLES / f"{self.program}.c"

    @property
    def id(self) -> str:
        return f"{self.program}-{self.name}" if self.name else self.program

    @property
    def expected(self) -> bytes:
        return (EXPECTED / f"{self.id}.txt").read_bytes()


NUMBERS = (*"314159265358979", "-4", "10")
HELLO = "++++++++[>+++++++++<-]>.<+++++[>++++++<-]>-.+++++++..+++.>++++++++++."

CASES = [
    Case("sudoku", stdin=INKALA + "\n", name="inkala"),
    Case("sudoku", stdin=EASY, name="easy"),
    Case("sudoku", stdin="11" + "." * 79, name="impossible", exit_code=1),
    Case("sudoku", stdin="1234", name="short", exit_code=2),
    Case("hungarian"),
    Case("hungarian", ("-",), "3  4 1 3  2 0 5  3 2 2\n", name="input"),
    Case("bigcalc", stdin="\n".join(s.replace("//", "/") for s in SUMS)),
    Case("bigcalc", stdin="\n".join(BAD_SUMS) + "\n", name="mistakes"),
    Case("quicksort"),
    Case("quicksort", NUMBERS, name="arguments"),
    Case("sha256", ("abc", "", "hello world"), name="words"),
    Case("sha256", stdin="x" * 1000, name="input"),
    Case("sha256", ("--own", "4096"), name="own"),
    Case("brainfuck", (HELLO,)),
    Case("brainfuck", stdin=",[.,]!an echo", name="echo"),
    Case("brainfuck", ("[[]",), name="mistake", exit_code=2),
    Case("life"),
    Case("life", ("60",), name="sixty"),
    Case("lisp", stdin=LISP),
    Case("floats"),
    Case("floats", ("0.1", "1e100", "-inf", "123456789"), name="arguments"),
    Case("lines", stdin="hello world\n  two\twords \n\nnot read\n"),
    Case("queens"),
    Case("queens", ("6",), name="six"),
    Case("nbody"),
    Case("mandelbrot"),
    Case("spectral_norm"),
    Case("occlusion", ("3",)),
    Case("collatz64"),
    Case("collatz64", ("27", "18446744073709551615"), name="arguments"),
]
