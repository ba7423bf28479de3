"use strict";
/* What the heads of the model fetch for a token: which earlier position, under which key, and by
   how much it wins. The last token before it asks; every head answers with one position.

   Keys are whole numbers, so a head that looks something up scores the square of the distance to
   its key, times a power of two that is larger than all that recency adds; of equal keys the latest
   wins, each position by 2^10 more than the one before. So the second best is the one that was
   filed under the same key before, or else no key that is equal. */

const STEP = 1024;

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
        fetched.push({
            head: "operation, immediate, d", what: `instruction ${n}`, key: n, layer: 6,
            at: n * RECORD + RECORD - 1, from: n * RECORD, value: run.program.instructions.text[n],
            second: null,
        });
        const names = { a: code.a[n], b: code.b[n], c: code.c[n], e: code.target[n] };
        for (const source of "abce") {
            const isIndex = source === "b" && operation.size && code.isIndexed[n];
            if (!operation.operands.includes(source) && !isIndex) continue;
            if (source === "b" && !code.isIndexed[n]) continue;
            this.register(now, names[source], `source ${source}`, fetched);
        }
        if (operation.kind === "load") this.memory(now, operation, fetched);
        if (operation.size && !operation.private)
            this.register(now, GLOBALS + 1, "memory pages", fetched);
        if (operation.name === "return") {
            fetched.push({
                head: "who called", what: `call at ${now.stack.at.toLocaleString("en")}`,
                key: null, layer: null, at: now.stack.at, value: `instruction ${now.stack.counter}`,
                second: null, note: "the token of the call, which filed where to return to",
            });
        }
    }

    register(now, register, head, fetched) {
        const place = now.place(register), at = now.words.writer(place);
        fetched.push({
            head, what: registerName(register), key: place, layer: 19, at: at || null, place,
            value: now.words.read(place), second: at ? this.previous(at, place) : null,
            note: at ? "" : "never written: 0",
        });
    }

    previous(at, place) {
        const { run } = this, before = run.backward(at, now =>
            now.wrote === REGISTER && now.wroteAt === place);
        return before < 0 ? null : { at: before, margin: (at - before) * STEP };
    }

    memory(now, operation, fetched) {
        const address = now.address();
        for (let n = 0; n < operation.size; n++) {
            const at = now.bytes.writer(address + n), lane = (address + n) % 4;
            fetched.push({
                head: `lane ${lane}`, what: `mem[${hex(address + n)}]`,
                key: Math.floor((address + n) / 4), layer: lane === 3 ? 41 : 42, at: at || null,
                address: address + n, value: now.bytes.read(address + n), second: null,
                note: at ? "" : "never written: 0",
            });
        }
    }

    /* Digits of the same word, or jump, that were said before it. */
    digits(now, position, fetched) {
        const { run } = this;
        for (let at = position - 1; at >= now.start && at >= run.promptLength; at--)
            fetched.push({
                head: `${position - at} back`, what: "what was said of this word", key: at,
                layer: 0, at, token: run.tokens[at], value: null, second: null,
            });
    }

    /* How the arg-max came to the token: the rule of its digits, and who is second. */
    said(now, position) {
        const { run, known } = this, token = run.tokens[position];
        const word = this.wordOf(position);
        if (word === null) return { rule: null };
        const digit = token < known.FIRST_MORE ? token - known.FIRST_LAST : token - known.FIRST_MORE;
        const isLast = token < known.FIRST_MORE;
        // d is said where d (2A - B + 1) - d d B is highest; B is the weight of the digit.
        const weight = BigInt(DIGIT) ** BigInt(word.after);
        const left = BigInt(word.value) % (weight * BigInt(DIGIT));
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
