"""A dozen questions, and what the adapter that comes with curta answers."""

from __future__ import annotations

import json
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")
QUESTIONS = (
    "A box holds 48 pens. How many pens are in 87 boxes?",
    "What is 15% of 64?",
    "Tom had 53 stamps and gave 17 of them to Eva. How many stamps does Tom have left?",
    "A rope is 75 feet long and another one is 28 feet long. How much longer is the first?",
    "Three friends share 411 nuts equally. How many does each get?",
    "I bought 12 pens at $3 each and paid with $50. What is my change?",
    "What is 123456 + 987654?",
    "Nina has 14 red and 9 blue beads. How many beads does she have?",
    "What is the capital of Peru?",
    "Mia has 4 cats and Leo has 2 dogs. Who has the dogs?",
    "The meeting is in room 214 at 9 o'clock. Which room is it?",
    "Good morning! My name is Ada.",
)


def answers() -> dict[str, str]:
    """Question by question."""
    from curta.delegate import models
    from curta.delegate.interception.generator import CalcGenerator
    from curta.delegate.options import SMOLLM2

    model, tokenizer = models.load(SMOLLM2, adapter=models.BUNDLED[SMOLLM2], device="cpu")
    generator = CalcGenerator(model, tokenizer)
    prompts = [[{"role": "user", "content": question}] for question in QUESTIONS]
    written = generator.generate(prompts, max_new_tokens=80)
    return dict(zip(QUESTIONS, (one.text for one in written), strict=True))


def recorded() -> dict[str, str]:
    """What they were."""
    held: dict[str, str] = json.loads(FILE.read_text("utf-8"))
    return held


if __name__ == "__main__":
    FILE.write_text(json.dumps(answers(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
