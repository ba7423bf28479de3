"""A model with a unit: bit for bit what it was where nothing fires, exact where something does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import torch

from curta.delegate.evaluation import systems
from curta.delegate.interception.caches import FEWEST
from curta.errors import DataError, UserError
from curta.hybrid.unit.arithmetic import Operation
from curta.hybrid.unit.model import MARGIN, Routes, UnitModel, read_unit
from tests.hybrid.tiny_units import base, batch, router, unit
from tests.support import tiny_language_models as tiny

TEXTS = ["What is 12.5 times -4,000?", "no numbers here", "7 8", "only 12", "3 of 1 and 2"]
RESULTS = {
    Operation.ADDITION: {"7 8": "15", TEXTS[0]: "-3987.5"},
    Operation.MULTIPLICATION: {"7 8": "56", TEXTS[0]: "-50000"},
}


def generated(model: Any, texts: list[str], **options: Any) -> list[str]:
    """What is said behind each text, to its end."""
    given = batch(texts)
    rows = model.generate(**given, **({"max_new_tokens": 12, "do_sample": False} | options))
    tokens = tiny.tokenizer()
    said = [tokens.decode(row[given["input_ids"].shape[1] :]) for row in rows]
    return [text.partition("<end>")[0] for text in said]


@pytest.mark.parametrize("side", ["left", "right"])
def test_where_nothing_fires_logits_are_those_of_the_model_bit_for_bit(side: str) -> None:
    given = batch(TEXTS, side)
    ours, theirs = unit(None)(**given), base()(**given)
    assert torch.equal(ours.logits, theirs.logits)
    assert ours.pending.shape == (len(TEXTS), 0)
    assert ours.cache.get_seq_length() == theirs.cache.get_seq_length()


def test_rows_without_a_route_keep_their_logits_beside_rows_that_have_one() -> None:
    given = batch(TEXTS)
    ours, theirs = unit(Operation.ADDITION)(**given), base()(**given)
    assert torch.equal(ours.logits[[1, 3]], theirs.logits[[1, 3]])
    assert torch.equal(ours.logits[:, :-1], theirs.logits[:, :-1])
    for row in (0, 2, 4):
        changed = ours.logits[row, -1] != theirs.logits[row, -1]
        assert changed.sum() == 1
        top = ours.logits[row, -1].topk(2).values
        assert torch.isclose(top[0] - theirs.logits[row, -1].max(), torch.tensor(MARGIN).double())


def test_without_routes_it_generates_what_the_model_generates() -> None:
    assert generated(unit(None), TEXTS) == generated(base(), TEXTS)


@pytest.mark.parametrize("operation", RESULTS)
@pytest.mark.parametrize("use_cache", [True, False])
def test_digits_are_said_and_then_the_answer_ends(operation: Operation, use_cache: bool) -> None:
    said = generated(unit(operation), TEXTS, use_cache=use_cache)
    assert [said[0], said[2]] == [RESULTS[operation][TEXTS[0]], RESULTS[operation]["7 8"]]
    assert [said[1], said[3]] == [generated(base(), [TEXTS[at]])[0] for at in (1, 3)]


@pytest.mark.parametrize("operation", [Operation.SUBTRACTION, Operation.DIVISION])
def test_batches_say_what_single_rows_say(operation: Operation) -> None:
    model = unit(operation)
    assert generated(model, TEXTS) == [generated(model, [text])[0] for text in TEXTS]


def test_a_number_in_what_all_texts_begin_with_can_be_an_operand() -> None:
    """Texts that begin alike are not read in two passes: a route is found in one."""
    model = unit(Operation.ADDITION)
    asking = systems.generator(model, tiny.tokenizer(), None)
    routes: Routes = []
    texts = [f"12 and {'on ' * FEWEST}{last}" for last in (7, 8)]
    systems.writer(asking, 12, on_routes=routes.extend)(texts)
    assert [route and route.answer for route in routes] == ["19", "20"]


def test_sampling_says_the_same_digits() -> None:
    torch.manual_seed(1)
    assert generated(unit(Operation.ADDITION), ["7 8"], do_sample=True, temperature=1.0) == ["15"]


def test_padding_on_the_right_changes_the_last_token_that_counts() -> None:
    model = unit(Operation.ADDITION)
    given = batch(["7 8", TEXTS[0]], "right")
    last = given["attention_mask"].sum(1) - 1
    ours, theirs = model(**given).logits, base()(**given).logits
    for row in range(2):
        changed = (ours[row] != theirs[row]).any(-1).nonzero().flatten().tolist()
        assert changed == [last[row]]


def test_a_loop_of_ones_own_hands_on_what_is_pending() -> None:
    model, given = unit(Operation.MULTIPLICATION), batch(["7 8"])
    output, said = model(**given), []
    for _ in range(3):
        said.append(int(output.logits[0, -1].argmax()))
        output = model(
            torch.tensor([said[-1:]]),
            cache=output.cache,
            pending=output.pending,
        )
    assert tiny.tokenizer().decode(said) == "56<end>"
    assert output.pending.shape[1] == 0


def test_routes_are_told() -> None:
    told: list[Any] = []
    model = unit(Operation.DIVISION)
    model(**batch(["7 8", "x", "1 0", "0 0"]), on_routes=told.extend)
    assert told[1] is None
    assert told[3] is None  # nothing is divided by zero
    assert told[0].expression in ("7 / 8", "8 / 7")
    assert told[0].answer in ("0.875", "1.142857")


def test_every_pair_of_numbers_can_be_the_operands() -> None:
    expressions = set()
    for seed in range(12):
        model, told = unit(Operation.SUBTRACTION), []
        model.router = router(Operation.SUBTRACTION, seed)
        model(**batch(["1 and 20 and 300"]), on_routes=told.extend)
        expressions.add(told[0].expression)
    assert len(expressions) > 1


def test_saved_and_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from curta.delegate import models

    monkeypatch.setattr(models, "load", lambda name, **options: (base(), tiny.tokenizer()))
    model = unit(Operation.ADDITION)
    model.save_pretrained(tmp_path / "unit")
    files = {file.name for file in (tmp_path / "unit").iterdir()}
    assert files == {"router.safetensors", "unit.json"}
    size = sum(file.stat().st_size for file in (tmp_path / "unit").iterdir())
    assert size < 4 * model.router.weights + 2_000
    again = UnitModel.from_pretrained(tmp_path / "unit")
    assert again.settings == model.settings
    assert torch.equal(again(**batch(TEXTS)).logits, model(**batch(TEXTS)).logits)
    fresh = UnitModel.from_pretrained("grouped queries")
    assert fresh.router is None
    assert torch.equal(fresh(**batch(TEXTS)).logits, base()(**batch(TEXTS)).logits)
    with pytest.raises(UserError, match="train one"):
        fresh.save_pretrained(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ("package some (Q4_1), float32", False),
        ("folder, float32", False),
        ("Hub, revision 12fd25f, bfloat16", True),
    ],
)
def test_it_is_said_that_weights_are_others(
    origin: str,
    said: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from curta.delegate import models

    def load(name: str, **options: object) -> object:
        loaded = base()
        loaded.weights_origin = origin
        return loaded, tiny.tokenizer()

    monkeypatch.setattr(models, "load", load)
    model = unit(Operation.ADDITION)
    model.settings = replace(model.settings, origin="package some (Q4_1), float32")
    model.save_pretrained(tmp_path)
    UnitModel.from_pretrained(tmp_path)
    assert ("trained for other weights" in capsys.readouterr().err) == said


def test_what_is_no_unit(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no unit"):
        read_unit(tmp_path)


def test_only_the_router_is_trained() -> None:
    model = unit(Operation.ADDITION)
    trained = {name for name, each in model.named_parameters() if each.requires_grad}
    assert trained
    assert all(name.startswith("router.") for name in trained)


def test_beams_are_refused() -> None:
    with pytest.raises(UserError, match="num_beams"):
        generated(unit(Operation.ADDITION), ["7 8"], num_beams=2)


def test_residual_streams_are_read_where_it_is_said() -> None:
    from curta.hybrid.unit.model import listening

    given = batch(["7 8 9"])
    with torch.no_grad(), listening(base(), (1, 2)) as streams:
        output = base()(**given, output_hidden_states=True)
    assert torch.equal(streams[1], output.hidden_states[1])
    normed = base().get_decoder().norm(streams[2])
    assert torch.equal(normed, output.hidden_states[2])
    assert all(a != b for a, b in pairwise(sorted(streams)))
