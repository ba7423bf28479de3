"use strict";
/* What the tokens of a run have filed: the same as machine/ledger.py, and besides, for every word
   and byte, the position of the token that said it, the calls that are open, and where lines of C
   begin. Nothing is computed: a word is what its digits say. */

const GLOBALS = 1 << 15, FIRST_FRAME = 2 * GLOBALS, DIGIT = 4096;
const NEAR = 2048, FAR = 256, RECORD = 16, ADDRESS_BYTES = 5;
const NOTHING = 0, REGISTER = 1, MEMORY = 2;
let epochs = 0;

/* Words or bytes in pages. A page that a checkpoint has is copied before it is written. */
class Pages {
    constructor(size, Type, pages = new Map()) {
        this.size = size;
        this.Type = Type;
        this.pages = pages;
        this.epoch = ++epochs;
        this.copied = 0;
        this.number = -1;
        this.page = null;
    }

    share() {
        this.epoch = ++epochs;
        this.number = -1;
        return new Map(this.pages);
    }

    read(at) {
        const page = this.pages.get(Math.floor(at / this.size));
        return page ? page.values[at % this.size] : 0;
    }

    /* The position of the token that wrote it; 0 if there was none. */
    writer(at) {
        const page = this.pages.get(Math.floor(at / this.size));
        return page ? page.writers[at % this.size] : 0;
    }

    write(at, value, position) {
        const number = Math.floor(at / this.size);
        const page = number === this.number ? this.page : this.own(number);
        page.values[at - number * this.size] = value;
        page.writers[at - number * this.size] = position;
    }

    own(number) {
        let page = this.pages.get(number);
        if (!page || page.epoch !== this.epoch) {
            page = {
                values: page ? page.values.slice() : new this.Type(this.size),
                writers: page ? page.writers.slice() : new Uint32Array(this.size),
                epoch: this.epoch,
            };
            this.copied += page.values.byteLength + page.writers.byteLength;
            this.pages.set(number, page);
        }
        this.number = number;
        this.page = page;
        return page;
    }
}

/* Columns of a program, as followers want them. */
class Code {
    constructor(program) {
        const columns = program.instructions, count = columns.text.length;
        this.count = count;
        this.kind = new Uint8Array(count); // 1 call, 2 return, 3 store
        this.size = new Uint8Array(count);
        this.isPrivate = new Uint8Array(count);
        this.isIndexed = new Uint8Array(count);
        this.operation = new Uint16Array(count);
        this.line = new Int32Array(count); // a file and a line, or 0
        for (const name of ["a", "b", "c", "d", "immediate", "target"])
            this[name] = Float64Array.from(columns[name]);
        this.function = Uint16Array.from(columns.function);
        const operations = program.operations.length;
        for (let n = 0; n < count; n++) {
            const number = columns.operation[n] % operations;
            const operation = program.operations[number];
            this.operation[n] = number;
            this.isIndexed[n] = columns.operation[n] < operations ? 1 : 0;
            this.isPrivate[n] = operation.private ? 1 : 0;
            this.size[n] = operation.size || 0;
            this.kind[n] = operation.kind === "store" ? 3 : operation.name.startsWith("call") ? 1
                : operation.name === "return" ? 2 : 0;
            this.line[n] = columns.line[n] ? (columns.file[n] << 20) + columns.line[n] : 0;
        }
        this.tokens = program.tokens;
    }
}

const ROOT = Object.freeze({ parent: null, counter: 0, at: 0, frame: 0, depth: 0 });

class Follower {
    constructor(code, saved = null) {
        this.code = code;
        this.output = null; // who wants the bytes that are written, and where
        this.words = new Pages(1024, Uint32Array, saved ? new Map(saved.words) : undefined);
        this.bytes = new Pages(4096, Uint8Array, saved ? new Map(saved.bytes) : undefined);
        for (const name of Follower.FIELDS) this[name] = saved ? saved[name] : 0;
        this.stack = saved ? saved.stack : ROOT;
        this.lineStack = saved ? saved.lineStack : ROOT;
        this.wrote = NOTHING; // what the last instruction wrote, and where
        this.wroteAt = this.wroteValue = this.wroteSize = 0;
    }

    save() {
        const saved = { words: this.words.share(), bytes: this.bytes.share() };
        for (const name of Follower.FIELDS) saved[name] = this[name];
        saved.stack = this.stack;
        saved.lineStack = this.lineStack;
        return saved;
    }

    /* The bytes in memory that a prompt says. */
    begin(tokens, length) {
        const { FIRST_BYTE, AT_ID, FIRST_DATA } = this.code.tokens;
        let address = 0, left = 0;
        for (let at = this.code.count * RECORD; at < length; at++) {
            const token = tokens[at];
            if (token === AT_ID) {
                address = 0;
                left = ADDRESS_BYTES;
            } else if (left) {
                address = address * 256 + token - FIRST_BYTE;
                left--;
            } else if (token >= FIRST_DATA && token < FIRST_DATA + 256) {
                this.bytes.write(address++, token - FIRST_DATA, at);
            }
        }
        this.position = this.start = length;
    }

    place(register) {
        return register >= GLOBALS ? register : FIRST_FRAME + this.frame + register;
    }

    register(register) {
        return this.words.read(this.place(register));
    }

    /* Whether the instruction to execute is where its line begins. */
    get entersLine() {
        const line = this.code.line[this.counter];
        return line !== 0 && (line !== this.line || this.stack !== this.lineStack ||
            this.counter <= this.lineCounter);
    }

    /* File tokens; `watch` is told of every instruction behind its last token, before it is left. */
    take(tokens, end, watch = null) {
        const { FIRST_LAST, FIRST_MORE, FIRST_JUMP, FIRST_OUTPUT, STORED_ID } = this.code.tokens;
        for (let at = this.position; at < end; at++) {
            const token = tokens[at];
            let digit = token - FIRST_LAST;
            if (digit >= 0 && digit < DIGIT) {
                this.word(this.digits * DIGIT + digit, at, watch);
            } else if ((digit = token - FIRST_MORE) >= 0 && digit < DIGIT) {
                this.digits = this.digits * DIGIT + digit;
            } else if ((digit = token - FIRST_JUMP) >= 0 && digit < 2 * NEAR) {
                this.jump(this.far + digit - NEAR, at, watch);
            } else if (token === STORED_ID) {
                this.store(at, watch);
            } else if ((digit = token - FIRST_OUTPUT) >= 0 && digit < 512) {
                if (this.output) this.output(at, digit);
                this.wrote = NOTHING;
                this.done(1, at, watch);
            } else {
                this.rare(token, at, watch);
            }
        }
        this.position = end;
    }

    rare(token, at, watch) {
        const known = this.code.tokens;
        if (token >= known.FIRST_FAR_JUMP && token < known.FIRST_FAR_JUMP + 2 * FAR) {
            this.far = 2 * NEAR * (token - known.FIRST_FAR_JUMP - FAR);
        } else if (token === known.READ_ID) {
            this.reads++;
        } else if (token === known.EXIT_ID || token >= known.FIRST_TRAP && token < known.FIRST_BYTE) {
            this.wrote = NOTHING;
            if (watch) watch(this, at);
            this.counter = this.frame = 0;
            this.stack = ROOT;
            this.start = at + 1;
        }
    }

    word(word, at, watch) {
        this.wrote = REGISTER;
        this.wroteAt = this.place(this.code.d[this.counter]);
        this.wroteValue = word % 4294967296;
        this.words.write(this.wroteAt, this.wroteValue, at);
        this.done(1, at, watch);
    }

    jump(distance, at, watch) {
        const { kind, d, immediate } = this.code, counter = this.counter;
        this.wrote = NOTHING;
        if (kind[counter] === 1) {
            const from = this.frame;
            this.wrote = REGISTER;
            this.wroteAt = this.place(d[counter]);
            this.wroteValue = counter + 1;
            this.words.write(this.wroteAt, this.wroteValue, at);
            this.done(distance, at, watch);
            this.frame += immediate[counter];
            const parent = this.stack;
            this.stack = { parent, counter, at, frame: from, depth: parent.depth + 1 };
        } else if (kind[counter] === 2) {
            this.done(distance, at, watch);
            this.frame -= immediate[counter + distance - 1];
            this.stack = this.stack.parent || ROOT;
        } else {
            this.done(distance, at, watch);
        }
    }

    /* Where the load or store to execute leads to. */
    address() {
        const { a, b, immediate, isIndexed, isPrivate } = this.code, n = this.counter;
        const index = isIndexed[n] ? this.register(b[n]) : 0;
        const sum = (this.register(a[n]) + index) % 4294967296;
        return sum + immediate[n] + (isPrivate[n] ? 4294967296 : 0);
    }

    store(at, watch) {
        const value = this.register(this.code.c[this.counter]);
        const size = this.code.size[this.counter], address = this.address();
        for (let n = 0; n < size; n++) this.bytes.write(address + n, value >>> 8 * n & 255, at);
        this.wrote = MEMORY;
        this.wroteAt = address;
        this.wroteValue = value;
        this.wroteSize = size;
        this.done(1, at, watch);
    }

    done(distance, at, watch) {
        if (watch) watch(this, at);
        const line = this.code.line[this.counter];
        if (line) {
            this.line = line;
            this.lineStack = this.stack;
            this.lineCounter = this.counter;
        }
        this.counter += distance;
        this.steps++;
        this.digits = this.far = 0;
        this.start = at + 1;
    }
}
Follower.FIELDS = ["position", "start", "counter", "frame", "steps", "digits", "far",
    "reads", "line", "lineCounter"];
