"""The batch kernel in Triton says what the native one says: in its interpreter, and on a GPU."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from curta.delegate.calculator import Calculator
from curta.delegate.calculator.backends import kernel
from curta.delegate.calculator.backends.float64 import Kernel
from curta.delegate.calculator.backends.packed import pack
from curta.delegate.calculator.operations import TABLE
from curta.delegate.calculator.program import Apply, Program
from curta.errors import CalculatorError
from tests.delegate.calculator.random_programs import programs
from tests.delegate.calculator.test_backends import BY_HAND

needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="triton is not installed"
)
FURTHER = (
    "1 + 2", "7.5 % (-2)", "-7.5 % 2", "2 ^ 0.5", "(-2) ^ 3", "(-2) ^ (-3)",
    "1.0001 ^ 5000", "(-1) ^ 1025", "0 ^ 3", "10 ^ 308", "10 ^ 309", "2 ^ (-1030)", "cbrt(1e-300)",
    "cbrt(0)", "exp(-1)", "atan(1e300)", "atan(-0.001)", "atan(0)", "asin(1)", "asin(-1)",
    "asin(1e-9)", "acos(1)", "acos(-1)", "acos(-0.3)", "tan(1.5)", "round(-2.5)", "round(1e300, 5)",
    "round(0.125, 2)", "trunc(2.5)", "comb(10^9, 3)", "gcd(-12, 0)", "gcd(7)",
    "lcm(4.5)", "min(5)", "mean(4)", "sum(1, 2, -3)", "1e308 * 10", "sign(0)", "log(2, 0)", "ln(2)",
    "pi", "log10(0)", "log2(-1)", "factorial(-1)", "acos(2)", "exp(-1000)", "2 ^ (-1080)",
    "1e-300 * 1e-300", "pi / 1e308 / 1e308", "0 * pi", "radians(exp(-745))", "1e-300 / 1e100 * 0",
)  # fmt: skip
LOOPS = (
    "1e300 % 7", "1e-310 % 3e-320", "comb(1000, 500)", "comb(1100, 550)", "perm(170, 169)",
    "perm(200, 180)", "lcm(10^200+1, 10^199+1, 7)",
)  # fmt: skip
PRECISION = 1e-13


def by_hand() -> list[Program]:
    """Every operation."""
    return programs_of(*BY_HAND, *FURTHER)


def longer() -> list[Program]:
    """What takes many rounds of a loop, and programs at random."""
    return [*programs_of(*LOOPS), *programs(250, 8, each=2)]


def programs_of(*texts: str) -> list[Program]:
    parsed = [Calculator().parsed(text) for text in texts]
    return [each for each in parsed if isinstance(each, Program)]


def differences(device: str, programs_given: list[Program]) -> list[str]:
    """Programs that do not come to the same; powers are a little less precise there."""
    from curta.delegate.calculator.backends import triton_kernel

    packed = pack(programs_given)
    values, statuses = kernel.evaluate(packed)
    found, said = triton_kernel.evaluate(packed, device)
    near = np.isclose(found, values, rtol=PRECISION, atol=1e-300)
    return [
        f"{number} {program.text or program.steps}: {found[number]} ({said[number]}), not "
        f"{values[number]} ({statuses[number]})"
        for number, program in enumerate(programs_given)
        if said[number] != statuses[number] or not near[number]
    ]


def test_every_operation_is_tried() -> None:
    tried = {
        step.operation.name
        for program in by_hand()
        for step in program.steps
        if isinstance(step, Apply)
    }
    assert tried == {operation.name for operation in TABLE}


@needs_triton
def test_the_interpreter_says_the_same() -> None:
    assert interpreted("by_hand") == ""


@needs_triton
@pytest.mark.slow
def test_the_interpreter_says_the_same_of_more() -> None:
    assert interpreted("longer") == ""


def interpreted(which: str) -> str:
    """In a process of its own: the interpreter is chosen when Triton is imported."""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    finished = subprocess.run(
        [sys.executable, __file__, which],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return finished.stdout + finished.stderr


@needs_triton
@pytest.mark.slow
def test_it_compiles_for_gpus_that_are_not_here() -> None:
    """As far as the assembler goes, which comes with Triton."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile

    from curta.delegate.calculator.backends.triton_kernel import run

    kinds = ["*i64", "*i64", "*u8", "*u8", *["*fp64"] * 4, "*u8", "i64", "constexpr"]
    source = ASTSource(
        fn=run, signature=dict(zip(run.arg_names, kinds, strict=True)), constexprs={"BLOCK": 128}
    )
    options = {"enable_fp_fusion": False}
    assert compile(source, target=GPUTarget("cuda", 80, 32), options=options).asm["cubin"]


def test_without_a_gpu_it_says_so() -> None:
    if importlib.util.find_spec("triton") is not None:
        import torch

        if torch.cuda.is_available():
            pytest.skip("there is a GPU")
    with pytest.raises(CalculatorError, match=r"triton|GPU"):
        Kernel("cuda").evaluate(programs_of("1+1"))


@pytest.mark.gpu
def test_a_gpu_says_the_same() -> None:
    assert differences("cuda", [*by_hand(), *longer()]) == []


@pytest.mark.gpu
def test_a_gpu_evaluates_a_large_batch() -> None:
    many = list(programs(100_000, 9, each=100))
    wrong = differences("cuda", many)
    assert len(wrong) < 0.005 * len(many), wrong[:5]  # those that are ill-conditioned


@pytest.mark.gpu
def test_the_backend_is_chosen_by_the_device() -> None:
    assert Kernel("cuda:0").evaluate(programs_of("1+1", "1/0"))[0] == 2.0


if __name__ == "__main__":
    chosen = longer() if sys.argv[1] == "longer" else by_hand()
    print(*differences("cpu", chosen), sep="\n", end="")
