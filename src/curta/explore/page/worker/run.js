"use strict";
/* A run: the engine says tokens, which are kept two bytes each; what they have filed is kept at
   checkpoints, and found again from the nearest one. */

const CHUNK = 1 << 16, PIECE = 256, MOST_CHECKPOINTS = 128;
const MOST_TOKENS = (1 << 26) - 2 * CHUNK; // and a chunk more, and the host's words
const MOST_COPIED = 1 << 28, END_OF_INPUT = 0xFFFFFFFF;

class Run {
    constructor(program, module) {
        this.program = program;
        this.module = module;
        this.code = new Code(program);
        this.known = program.tokens;
        this.isStop = new Uint8Array(program.vocabulary);
        this.isStop.fill(1, this.known.READ_ID, this.known.FIRST_BYTE);
    }

    /* -- saying it -------------------------------------------------------------------------- */

    async begin(given, tell) {
        this.given = given;
        this.words = [...given.words];
        this.input = given.input;
        this.read = 0;
        this.tokens = new Uint16Array(1 << 20);
        this.length = 0;
        this.seconds = 0;
        this.ending = "";
        this.functions = [];
        this.depths = [];
        this.output = { at: [], bytes: [] };
        this.checkpoints = [];
        this.every = CHUNK;
        this.append(this.prompt());
        this.promptLength = this.length;
        this.follower = new Follower(this.code);
        this.follower.begin(this.tokens, this.length);
        this.follower.output = (at, byte) => {
            this.output.at.push(at);
            this.output.bytes.push(byte);
        };
        this.checkpoints.push(this.follower.save());
        const instance = await WebAssembly.instantiate(this.module, WASI);
        this.engine = instance.exports;
        this.state = this.engine.curta_create();
        this.buffer = this.engine.malloc(4 * Math.max(CHUNK, this.length));
        this.answer = this.engine.malloc(64);
        let next = this.say(this.tokens.subarray(0, this.length));
        while (this.ending === "") {
            next = this.chunk(next);
            tell(false);
            await pause();
            if (this.given !== given) return; // another run has begun
        }
        this.engine = this.state = null;
        tell(true);
    }

    prompt() {
        const { prompt, host, layout } = this.program, tokens = [...prompt];
        const strings = [this.program.name, ...this.given.arguments];
        const bytes = strings.flatMap(text => [...new TextEncoder().encode(text), 0]);
        const length = [0, 8, 16, 24].map(shift => bytes.length >>> shift & 255);
        tokens.push(...this.segment(layout.argumentsLength, length));
        tokens.push(...this.segment(layout.arguments, bytes));
        return [...tokens, ...host, this.known.START_ID]; // in the order of host_segments
    }

    segment(address, bytes) {
        const { AT_ID, FIRST_BYTE, FIRST_DATA } = this.known, tokens = [AT_ID];
        for (let n = ADDRESS_BYTES - 1; n >= 0; n--)
            tokens.push(FIRST_BYTE + Math.floor(address / 256 ** n) % 256);
        return [...tokens, ...bytes.map(byte => FIRST_DATA + byte)];
    }

    append(tokens) {
        if (this.length + tokens.length > this.tokens.length) {
            const larger = new Uint16Array(2 * (this.length + tokens.length));
            larger.set(this.tokens.subarray(0, this.length));
            this.tokens = larger;
        }
        this.tokens.set(tokens, this.length);
        this.length += tokens.length;
    }

    /* Say tokens to the engine; what it says behind them. */
    say(tokens) {
        new Int32Array(this.engine.memory.buffer, this.buffer, tokens.length).set(tokens);
        const count = BigInt(tokens.length);
        if (this.engine.curta_take(this.state, this.buffer, count, this.answer, 0) !== count)
            this.ending = "the engine stopped: a promise of the certificate was broken";
        return new Int32Array(this.engine.memory.buffer, this.answer, 1)[0];
    }

    /* What the engine says next, up to where the host has to speak, and what the host says. */
    chunk(next) {
        const started = performance.now();
        const count = Number(
            this.engine.curta_generate(this.state, next, this.buffer, BigInt(CHUNK), BigInt(CHUNK), 0));
        this.seconds += (performance.now() - started) / 1000;
        this.append(new Int32Array(this.engine.memory.buffer, this.buffer, count));
        const last = this.tokens[this.length - 1];
        const words = this.hostWords(last, count);
        this.append(words);
        this.follow();
        if (this.length > MOST_TOKENS && this.ending === "")
            this.ending = `a page holds ${MOST_TOKENS.toLocaleString("en")} tokens: the run goes on`;
        return this.ending === "" ? this.say([last, ...words]) : -1;
    }

    hostWords(last, count) {
        const { READ_ID, AWAIT_ID, EXIT_ID, FIRST_TRAP } = this.known;
        if (last === AWAIT_ID) {
            if (this.words.length) return this.digits(this.words.shift());
            this.ending = "done";
        } else if (last === READ_ID) {
            const byte = this.read < this.input.length ? this.input[this.read] : END_OF_INPUT;
            this.read++;
            return this.digits(byte);
        } else if (last === EXIT_ID) {
            this.ending = "exit";
        } else if (this.isStop[last]) {
            this.ending = `trap: ${this.program.traps[last - FIRST_TRAP]}`;
        } else if (count < CHUNK) {
            this.ending = "the engine stopped: a promise was broken, or there is no memory left";
        }
        return [];
    }

    digits(word) {
        const tokens = [this.known.FIRST_LAST + word % DIGIT];
        for (word = Math.floor(word / DIGIT); word; word = Math.floor(word / DIGIT))
            tokens.unshift(this.known.FIRST_MORE + word % DIGIT);
        return tokens;
    }

    /* Follow what was said, and keep checkpoints. */
    follow() {
        const { follower } = this;
        while (follower.position < this.length) {
            follower.take(this.tokens, Math.min(follower.position + PIECE, this.length));
            this.functions.push(this.code.function[follower.counter] || 0);
            this.depths.push(Math.min(follower.stack.depth, 255));
        }
        const latest = this.checkpoints[this.checkpoints.length - 1];
        if (follower.position - latest.position < this.every) return;
        this.checkpoints.push(follower.save());
        const copied = follower.words.copied + follower.bytes.copied;
        if (this.checkpoints.length > MOST_CHECKPOINTS || copied > MOST_COPIED) {
            this.checkpoints = this.checkpoints.filter((_, n) => n % 2 === 0);
            this.every *= 2;
            follower.words.copied = follower.bytes.copied = 0;
        }
    }

    /* -- finding out ------------------------------------------------------------------------ */

    /* The number of the last checkpoint at or before a position. */
    before(position) {
        let low = 0, high = this.checkpoints.length - 1;
        while (low < high) {
            const middle = (low + high + 1) >> 1;
            if (this.checkpoints[middle].position <= position) low = middle;
            else high = middle - 1;
        }
        return low;
    }

    from(number) {
        return new Follower(this.code, this.checkpoints[number]);
    }

    /* What was filed behind the token at a position. */
    at(position, watch = null) {
        const follower = this.from(this.before(position + 1));
        follower.take(this.tokens, Math.min(position + 1, this.length), watch);
        return follower;
    }

    /* The first instruction behind a position for which `test` holds, as its last token. */
    forward(position, test) {
        const follower = this.at(position);
        let found = -1;
        const watch = (now, end) => {
            if (found < 0 && end > position && test(now, end)) found = end;
        };
        while (found < 0 && follower.position < this.length)
            follower.take(this.tokens, Math.min(follower.position + CHUNK, this.length), watch);
        return found;
    }

    /* The last one before a position. */
    backward(position, test) {
        for (let number = this.before(position); number >= 0; number--) {
            const follower = this.from(number);
            const next = this.checkpoints[number + 1];
            let found = -1;
            follower.take(this.tokens, Math.min(position, next ? next.position : position),
                (now, end) => {
                    if (test(now, end)) found = end;
                });
            if (found >= 0) return found;
        }
        return -1;
    }

    /* Tell of all instructions. */
    scan(watch) {
        this.from(0).take(this.tokens, this.length, watch);
    }
}

const WASI = { wasi_snapshot_preview1: new Proxy({}, { get: () => () => 0 }) };
const channel = new MessageChannel();
let waiting = null;
channel.port1.onmessage = () => waiting && waiting();

/* Let messages in. */
function pause() {
    return new Promise(resolve => {
        waiting = resolve;
        channel.port2.postMessage(0);
    });
}
