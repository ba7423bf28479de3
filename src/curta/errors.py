"""One tree of errors. Each message says what was wrong, where, and what to do about it.

CurtaError
├── UserError                     the user's mistake: the command line prints one line, exits 2
│   ├── GraphError                a graph that means nothing: cycle, undefined or foreign node
│   ├── CertificateError          a graph whose exactness cannot be proved
│   ├── FileError                 a malformed, truncated, tampered or too new model file
│   ├── TokenError                a token that is not in the vocabulary, a prompt too long
│   ├── HullError                 keys or queries that a hull cache cannot hold
│   ├── CompilerNotFoundError     no C compiler for the native engine, or none for the user's C
│   ├── SourceError               C or C++ that does not compile
│   ├── ExperimentError           a training experiment that cannot be: options, splits, lengths
│   ├── DataError                 a data set that cannot be made or read
│   ├── CalculatorError           an expression that has no value here
│   │   ├── ExpressionSyntaxError     it is not written as an expression
│   │   ├── UnknownNameError          a function or constant that there is not
│   │   ├── TooLongError              too many characters, steps or levels
│   │   ├── TooLargeError             a number beyond the budget
│   │   ├── UndefinedError            it has no real value, such as 1/0
│   │   └── UndecidedError            nobody can tell, such as sqrt(2)^2 == 2
│   ├── ToolError                 a tool that cannot be called like that, or has no answer
│   └── ModuleError               a WebAssembly module that cannot be run
│       ├── MalformedModuleError  bytes that are not a module
│       ├── TextFormatError       text that is not a module
│       ├── InvalidModuleError    a module that breaks the rules of validation
│       ├── UnsupportedFeatureError  a later addition to WebAssembly that curta leaves out
│       ├── LinkError             imports that are missing or of another type
│       └── ProofError            a program whose lowering cannot be shown to be right
└── ProgramError                  the program's failure: the command line exits 1
    ├── RegionError               a run that would leave the certified region
    ├── DivergedError             a training run whose loss is not a number
    ├── ToolchainError            the C compiler failed
    ├── Trap                      a WebAssembly program did what it must not
    ├── LimitError                a program reached --max-tokens or --max-memory
    ├── VerifyError               two ways of running a program that do not agree
    └── ExitError                 a program ended itself while one of its functions was invoked
"""

from __future__ import annotations


class CurtaError(Exception):
    """Anything that curta raises on purpose."""


class UserError(CurtaError):
    """Something in the input has to change."""


class GraphError(UserError):
    """The graph is not a well-formed program."""


class CertificateError(UserError):
    """The compiler cannot prove that the graph computes exactly."""


class FileError(UserError):
    """A file is not a curta model, is not one that this version can trust, or cannot be written."""


class TokenError(UserError):
    """A prompt that the model cannot take."""


class HullError(UserError):
    """A key, a value or a query that a hull cache cannot hold."""


class CompilerNotFoundError(UserError):
    """There is no C compiler to build native code with."""


class SourceError(UserError):
    """The user's C or C++ does not compile; the compiler's words follow the first line."""


class ExperimentError(UserError):
    """Parts or options of a training experiment that do not go together."""


class DataError(UserError):
    """A data set of examples that cannot be made as asked, or cannot be read."""


class CalculatorError(UserError):
    """An expression that has no value here.

    brief: what a language model is told
    """

    brief = "error"


class ExpressionSyntaxError(CalculatorError):
    """The text is not an expression."""

    brief = "syntax error"


class UnknownNameError(CalculatorError):
    """There is no such function or constant."""

    brief = "unknown name"


class TooLongError(CalculatorError):
    """The expression has too many characters, steps or levels."""

    brief = "too long"


class TooLargeError(CalculatorError):
    """A number is beyond the budget."""

    brief = "too large"


class UndefinedError(CalculatorError):
    """The expression has no real value."""

    brief = "undefined"


class UndecidedError(CalculatorError):
    """Two numbers that are not rational, too near to be told apart."""

    brief = "too close to tell"


class ToolError(UserError):
    """A tool has no answer: why, for people, and in few words for the model that called it."""

    def __init__(self, message: str, brief: str) -> None:
        super().__init__(message)
        self.brief = brief


class ModuleError(UserError):
    """A WebAssembly module cannot be run."""


class MalformedModuleError(ModuleError):
    """The bytes are not in WebAssembly's binary format."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(f"{message} (at byte {offset})")
        self.offset = offset


class TextFormatError(ModuleError):
    """The source is not in WebAssembly's text format. Lines and columns count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"{message} (line {line}, column {column})")
        self.line = line
        self.column = column


class InvalidModuleError(ModuleError):
    """The module is well-formed and breaks a rule of validation."""


class UnsupportedFeatureError(ModuleError):
    """The module uses a feature of WebAssembly that curta leaves out."""


class LinkError(ModuleError):
    """What a module imports is missing, or of another type."""


class ProofError(ModuleError):
    """The proof that a program does what its module says does not go through."""


class ProgramError(CurtaError):
    """The program was understood, and failed while it ran."""


class RegionError(ProgramError):
    """The next token would not be covered by the certificate."""


class DivergedError(ProgramError):
    """The loss of a training run is no longer a number."""


class ToolchainError(ProgramError):
    """The C compiler did not accept the generated code."""


class Trap(ProgramError):  # noqa: N818 (what WebAssembly calls it)
    """A WebAssembly program did what it must not do: the reason, and where it did.

    calls: core instructions of the machine, if it was one: where it was, and the calls that led
           there, outwards
    """

    def __init__(self, reason: str, where: str = "", calls: tuple[int, ...] = ()) -> None:
        super().__init__(f"{reason} ({where})" if where else reason)
        self.reason = reason
        self.where = where
        self.calls = calls


class LimitError(ProgramError):
    """A program reached a limit that it was run with."""


class VerifyError(ProgramError):
    """Two ways of running a program that do not agree."""


class ExitError(ProgramError):
    """A program ended itself, with an exit code, while one of its functions was invoked."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the program ended itself, with exit code {code}")
        self.code = code
