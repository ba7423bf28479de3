"""C that reports the residual stream, beside what a step does."""

from __future__ import annotations

from collections.abc import Sequence

from curta.dyadic import power_of_two
from curta.engine.native.case import Case
from curta.engine.native.code_to_c import CodeWriter
from curta.engine.native.expressions import Scope
from curta.engine.native.values import FetchedKey, FetchedValue, Product, Sum


class StreamsWriter(CodeWriter):
    def before_choice(self, case: Case, scope: Scope) -> list[str]:
        return ["double *const stream = s->stream;", *self.reported(case, scope)]

    def reported(self, case: Case, scope: Scope) -> list[str]:
        """Every slot in every period, as the float64 that the transformer would hold: what no head
        and no unit wrote to is what it was.
        """
        lines, width = list[str](), len(self.routine.streams[0])
        before: Sequence[Sum | None] = [None] * width
        for period, slots in enumerate(self.routine.streams):
            first = period * width
            if period:
                earlier = f"stream + {first - width}, sizeof(double) * {width}"
                lines.append(f"memcpy(stream + {first}, {earlier});")
            for slot, total in enumerate(slots):
                if total != before[slot]:
                    computed = self.pool.total_behind(total) or total
                    lines += self.needed(case, [computed], scope)
                    lines.append(f"stream[{first + slot}] = {self.as_double(total, scope)};")
            before = slots
        return lines

    def as_double(self, total: Sum, scope: Scope) -> str:
        summed = self.pool.total_behind(total) or total
        step = self.pool.step(summed)
        unit = float(power_of_two(step)).hex()
        text = f"(double)({self.expressions.text(summed, step, scope)}) * {unit}"
        if summed != total:
            return f"{text} / (double)(position + 1)"
        found = " && ".join(self.shown(number) for number in sorted(self.look_ups_behind(total)))
        return f"({found}) ? {text} : (double)NAN" if found else text

    def shown(self, number: int) -> str:
        """Whether a look-up finds a row that was filed."""
        filed = "" if self.pool.rows_behind(number).by_position else f" && row{number}->filed"
        return f"row{number}{filed}"

    def look_ups_behind(self, total: Sum) -> set[int]:
        """Look-ups whose rows a sum shows: after a miss it is not what attention would show.

        Those are fetched values and their distance from the query, before either is masked.
        """
        found: set[int] = set()
        for value, _ in total.without_constant.terms:
            match self.pool.definition(value):
                case FetchedValue(number) | FetchedKey(number):
                    if not self.pool.look_ups[number].nearest:
                        found.add(number)
                case Product(gate, factor) if factor.constant is not None:
                    keys = [
                        term
                        for term in gate.without_constant.terms
                        if isinstance(self.pool.definition(term[0]), FetchedKey)
                    ]
                    found |= self.look_ups_behind(Sum(tuple(keys)))
        return found
