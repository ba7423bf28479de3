"use strict";
/* What the heads of the model fetch for a token: which earlier position, under which key, and by
   how much it wins. The last token before it asks, and every head answers with one position.

   A head that looks something up scores 2^36 less for every step from its key (squared), and 2^10
   less for every position that a value is older. So the second best is what was filed under the
   same key before; or else another key, 2^36 behind and more. tests/explore compares positions and
   margins with those of softmax. */

const STEP = 2 ** 10, KEY_STEP = 2 ** 36;

class Fetches {
    constructor(run) {
        this.run = run;
        this.code = run.code;
        this.known = run.known;
    }

    of(position) {
        const { run } = this;
        const given = this.givenBy(position);
        if (position < run.promptLength || given)
            return { position, asker: position - 1, fetched: [], said: null, given: given || "prompt" };
        const now = run.at(position - 1), fetched = [];
        if (now.counter < this.code.count) this.instruction(now, fetched);
        this.digits(now, position, fetched);
        return {
            position, asker: position - 1, fetched, counter: now.counter, given: "",
            said: this.said(now, position),
        };
    }

    /* Whether the host said it: a digit behind `await.` or `read.`. */
    givenBy(position) {
        const { run, known } = this;
        for (let at = position - 1; at >= run.promptLength; at--) {
            const token = run.tokens[at];
            if (token === known.AWAIT_ID) return "the host, which was asked for a word";
            if (token === known.READ_ID) return "the host, which was asked for a byte";
            if (token < known.FIRST_MORE || token >= known.FIRST_MORE + DIGIT) return "";
        }
        return "";
    }

    /* Its record in the prompt, its sources, and what lies in memory. */
    instruction(now, fetched) {
        const { run, code } = this, n = now.counter;
        const operation = run.program.operations[code.operation[n]];
        const isLast = n === code.count - 1, next = (isLast ? n : n + 2) * RECORD - 1;
        fetched.push({
            head: "operation", what: `instruction ${n}`, key: n, at: n * RECORD + RECORD - 1,
            value: run.program.instructions.text[n],
            second: { at: next, margin: KEY_STEP + (isLast ? RECORD : -RECORD) * STEP },
        });
        const names = { a: code.a[n], b: code.b[n], c: code.c[n], e: code.target[n] };
        for (const source of "abce") {
            const isIndex = source === "b" && operation.size && code.isIndexed[n];
            if (!operation.operands.includes(source) && !isIndex) continue;
            if (source === "b" && !code.isIndexed[n]) continue;
            this.register(now, names[source], `source ${source}`, fetched);
            if (operation.name === "return") fetched[fetched.length - 1].what += ": who called";
        }
        if (operation.kind === "load") this.memory(now, operation, fetched);
        if (operation.size && !operation.private)
            this.register(now, GLOBALS + 1, "memory pages", fetched);
    }

    register(now, register, head, fetched) {
        const place = now.place(register), at = now.words.writer(place);
        fetched.push({
            head, what: registerName(register), key: place, at: at || null, by: at, place,
            value: now.words.read(place), note: at ? "" : "never written: 0",
            second: at ? this.before(at, 0, earlier => earlier.wrote === REGISTER &&
                earlier.wroteAt === place) : null,
        });
    }

    /* What was filed under the same key before; positions are `late` tokens before what said it. */
    before(at, late, test) {
        const before = this.run.backward(at, test);
        return before < 0 ? null : { at: before - late, margin: (at - before) * STEP };
    }

    /* A store is filed where it is said, one token before `stored`. */
    memory(now, operation, fetched) {
        const { run } = this, address = now.address();
        for (let n = 0; n < operation.size; n++) {
            const place = address + n, by = now.bytes.writer(place);
            const late = by && run.tokens[by] === this.known.STORED_ID ? 1 : 0;
            fetched.push({
                head: `lane ${place % 4}`, what: `mem[${hex(place)}]`, key: Math.floor(place / 4),
                at: by ? by - late : null, by, address: place, value: now.bytes.read(place),
                note: by ? "" : "never written: 0",
                second: late ? this.before(by, late, earlier => earlier.wrote === MEMORY &&
                    earlier.wroteAt <= place && place < earlier.wroteAt + earlier.wroteSize) : null,
            });
        }
    }

    /* Digits of the same word, or jump, that were said before; the last one asks. */
    digits(now, position, fetched) {
        const { run } = this;
        for (let at = position - 2; at >= now.start && at >= run.promptLength; at--) {
            if (run.isStop[run.tokens[at]]) break;
            fetched.push({
                head: `${position - 1 - at} back`, what: "a digit said before", key: at, at,
                token: run.tokens[at], value: null, second: { at: at - 1, margin: STEP },
            });
        }
    }

    /* How the arg-max came to the token: the rule of its digits, and who is second. */
    said(now, position) {
        const { run, known } = this, token = run.tokens[position];
        const word = this.wordOf(position);
        if (word === null) return { rule: null };
        const digit = token < known.FIRST_MORE ? token - known.FIRST_LAST : token - known.FIRST_MORE;
        const isLast = token < known.FIRST_MORE;
        // d is said where d (2A - B + 1) - d d B is highest, B = 4096; of three digits the first is
        // the word's highest byte, and A that many times 4096 (machine/parts/speech.py).
        const weight = BigInt(DIGIT), value = BigInt(word.value);
        const left = isLast ? value % weight
            : word.after === 2 ? weight * (value >> 24n) : value % (weight * weight);
        const score = d => {
            const q = BigInt(d);
            return isLast ? 2n * q * left - q * q : q * (2n * left - weight + 1n) - q * q * weight;
        };
        const others = [digit - 1, digit + 1].filter(d => d >= 0 && d < DIGIT);
        const [second] = others.sort((a, b) => (score(b) > score(a) ? 1 : -1));
        return {
            rule: isLast ? "2dx - d²" : "d (2A - B + 1) - d² B",
            digit, isLast, left: left.toString(), weight: weight.toString(),
            score: score(digit).toString(), second, secondScore: score(second).toString(),
            margin: (score(digit) - score(second)).toString(), word: word.value,
        };
    }

    /* The word that a token is a digit of, and how many digits come behind it. */
    wordOf(position) {
        const { run, known } = this, token = run.tokens[position];
        if (token >= known.FIRST_MORE + DIGIT || token < known.FIRST_LAST) return null;
        let first = position, end = position;
        while (isMore(run.tokens[first - 1], known) && first > run.promptLength) first--;
        while (isMore(run.tokens[end], known) && end < run.length - 1) end++;
        let value = 0;
        for (let at = first; at <= end; at++)
            value = value * DIGIT + (run.tokens[at] % DIGIT);
        return { value, after: end - position };
    }
}

function isMore(token, known) {
    return token >= known.FIRST_MORE && token < known.FIRST_MORE + DIGIT;
}

function registerName(register) {
    return register < GLOBALS ? `r${register}` : globalName(register);
}

function hex(number) {
    return number >= 4294967296 ? `private 0x${(number - 4294967296).toString(16)}`
        : `0x${number.toString(16)}`;
}
