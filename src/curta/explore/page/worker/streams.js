"use strict";
/* The residual stream of a token. It is nowhere but in a forward pass, so an engine says the run again
   up to the token, and looks at one step. It stays where it is, for tokens behind that; who goes back
   goes on going back, so then it looks at some tokens before that, too. */

const BACK = 32;

class Streams {
    constructor(run) {
        this.run = run;
        this.fetches = new Fetches(run);
        const [section] = WebAssembly.Module.customSections(run.module, "slots");
        this.known = section ? JSON.parse(new TextDecoder().decode(section)) : null;
    }

    begin() {
        const { width, periods } = this.known;
        this.engine = new WebAssembly.Instance(this.run.module, WASI).exports;
        this.state = this.engine.curta_create();
        this.buffer = this.engine.malloc(4 * CHUNK);
        this.answer = this.engine.malloc(64);
        this.size = width * periods.length;
        this.stream = this.engine.malloc(8 * this.size);
        this.position = 0; // how many tokens were taken
        this.seen = new Map();
        this.given = this.run.given;
    }

    /* What every slot holds in every period at a token, one period behind the other. */
    at(position) {
        const isOther = this.given !== this.run.given;
        if (isOther || !this.seen.has(position)) {
            const isBack = !isOther && position < this.position;
            if (isOther || isBack) this.begin();
            this.go(isBack ? Math.max(0, position - BACK) : position);
            while (this.position <= position) this.look();
        }
        return this.seen.get(position);
    }

    look() {
        const position = this.position++;
        this.engine.curta_look(this.state, this.token(position), this.stream);
        const stream = new Float64Array(this.engine.memory.buffer, this.stream, this.size).slice();
        this.seen.set(position, stream);
        if (this.seen.size > 2 * BACK) this.seen.delete(this.seen.keys().next().value);
    }

    go(position) {
        this.take(Math.min(position, this.run.promptLength));
        while (this.position < position) this.generate(position);
    }

    token(position) {
        return this.run.tokens[position];
    }

    /* Take tokens up to a position. */
    take(end) {
        while (this.position < end) {
            const tokens = this.run.tokens.subarray(this.position, Math.min(end, this.position + CHUNK));
            new Int32Array(this.engine.memory.buffer, this.buffer, tokens.length).set(tokens);
            const count = BigInt(tokens.length);
            if (this.engine.curta_take(this.state, this.buffer, count, this.answer, 0) !== count)
                throw new Error("the engine does not take what it said");
            this.position += tokens.length;
        }
    }

    /* Say tokens, up to a position or to where the host spoke; what it said is taken. */
    generate(end) {
        const { run } = this, token = this.token(this.position);
        const isStop = run.isStop[token];
        if (isStop || this.fetches.givenBy(this.position)) {
            let last = this.position + isStop;
            while (last < end && isMore(run.tokens[last], run.known)) last++;
            this.take(Math.min(end, last + 1));
            return;
        }
        const count = Math.min(CHUNK, end - this.position + 1);
        const said = Number(this.engine.curta_generate(this.state, token, this.buffer, BigInt(count), BigInt(count), 0));
        this.position += said - 1;
        const [last] = new Int32Array(this.engine.memory.buffer, this.buffer + 4 * (said - 1), 1);
        if (said < 2 || last !== this.token(this.position))
            throw new Error("the engine does not say what it said");
    }
}
