"use strict";
/* What a page asks of a run. Positions are those of tokens; the state is that behind a token. */

const AROUND = 150, MOST_FRAMES = 100, MOST_FOUND = 2000, MOST_HISTORY = 20000;

class Answers {
    constructor(run) {
        this.run = run;
        this.registersOf = framesOf(run.program);
        this.looking = new Streams(run);
    }

    /* Everything that panels show of a position. */
    view({ position, memory }) {
        const { run } = this, around = [];
        const now = this.stepsUntil(position, around);
        const inPrompt = position < run.promptLength;
        const step = inPrompt ? null : this.stepOf(position, now, around);
        const counter = inPrompt ? Math.min(Math.floor(position / RECORD), run.code.count - 1)
            : step.counter;
        const frame = step && step.stack !== now.stack ? step.frame : now.frame;
        const stack = step ? step.stack : now.stack;
        const shown = {
            position, counter, inPrompt, frame,
            token: run.tokens[position],
            step: inPrompt ? 0 : step.number,
            start: inPrompt ? position : step.start,
            end: inPrompt ? position : step.end,
            wrote: step && step.end <= position ? step.wrote : null,
            stack: this.frames(stack, counter),
            depth: stack.depth,
            registers: this.registers(now, counter, frame),
            globals: this.globals(now),
            memory: this.memory(now, memory),
            reads: now.reads,
            statics: this.statics(now),
        };
        this.stepsAfter(now, around, position);
        return {
            ...shown,
            around: around.map(({ stack: _, ...rest }) => ({
                ...rest, tokens: [...run.tokens.subarray(rest.start, rest.end + 1)],
            })),
            variables: this.variables(position, counter, stack),
        };
    }

    stepsUntil(position, around) {
        const { run } = this;
        let number = run.before(position + 1);
        if (number > 0 && position - run.checkpoints[number].position < AROUND) number--;
        const follower = run.from(number);
        follower.take(run.tokens, Math.min(position + 1, run.length), (now, end) => {
            around.push(described(now, end));
            if (around.length > AROUND) around.shift();
        });
        return follower;
    }

    /* The instruction that the token at a position belongs to; it may not be complete. */
    stepOf(position, now, around) {
        const last = around[around.length - 1];
        if (last && last.end === position) return last;
        const rest = described(now, position);
        const more = { end: -1 };
        this.run.at(position).take(this.run.tokens, Math.min(this.run.length, position + 64),
            (_, end) => { if (more.end < 0) more.end = end; });
        return { ...rest, wrote: null, end: more.end < 0 ? this.run.length - 1 : more.end };
    }

    stepsAfter(now, around, position) {
        const { run } = this, most = around.length + AROUND;
        const watch = (follower, end) => {
            if (around.length < most) around.push(described(follower, end));
        };
        while (around.length < most && now.position < run.length)
            now.take(run.tokens, Math.min(now.position + 1024, run.length), watch);
        if (now.position >= run.length && now.start < run.length && around.length < most)
            around.push({ ...described(now, run.length - 1), wrote: null });
    }

    frames(stack, counter) {
        const { run } = this, frames = [];
        for (let at = stack; ; at = at.parent) {
            frames.push({
                function: run.code.function[counter], line: run.code.line[counter], counter,
                at: at.at, depth: at.depth,
            });
            if (!at.parent || frames.length > MOST_FRAMES) return frames;
            counter = at.counter;
        }
    }

    registers(now, counter, frame) {
        const count = this.registersOf[this.run.code.function[counter]] || 0, found = [];
        for (let n = 0; n < count; n++) {
            const place = FIRST_FRAME + frame + n, by = now.words.writer(place);
            found.push([`r${n}`, place, now.words.read(place), by]);
        }
        return found;
    }

    globals(now) {
        const found = [];
        for (const number of [...now.words.pages.keys()].sort((a, b) => a - b)) {
            if (number * 1024 >= FIRST_FRAME) break;
            for (let n = 0; n < 1024; n++) {
                const place = number * 1024 + n, by = now.words.writer(place);
                if (by) found.push([globalName(place), place, now.words.read(place), by]);
            }
        }
        return found;
    }

    memory(now, { address, length }) {
        const values = [], writers = [];
        for (let n = 0; n < length; n++) {
            values.push(now.bytes.read(address + n));
            writers.push(now.bytes.writer(address + n));
        }
        return { address, values, writers };
    }

    statics(now) {
        return this.run.program.globals.map(([name, type, address]) =>
            [name, type, address, this.value(now, type, address)]);
    }

    /* Of a type, the bytes that are shown, and who wrote the first of them. */
    value(now, type, address) {
        const size = Math.min((this.run.program.types[type] || {}).size || 4, 256);
        const { values, writers } = this.memory(now, { address, length: size });
        return { bytes: values, by: Math.max(...writers, 0) };
    }

    /* Variables of C at the latest place in this call where it is known where they are. */
    variables(position, counter, stack) {
        const { run } = this, { blocks } = run.program;
        if (!run.program.sources.length) return null;
        const here = now => now.stack.at === stack.at && now.stack.depth === stack.depth;
        let first = -1;
        const end = run.backward(position + 1, now => {
            if (!(now.counter in blocks) || !here(now)) return false;
            first = now.start;
            return true;
        });
        if (end < 0) return null;
        const block = run.at(first - 1), now = run.at(position);
        const number = block.counter;
        return {
            position: first - 1, counter: number,
            values: blocks[number].map(([name, type, scope, held]) =>
                this.variable(block, now, name, type, scope, held)),
        };
    }

    variable(block, now, name, type, scope, held) {
        const variable = { name, type, scope };
        if (!held) return variable;
        if (held[0] === "memory")
            return { ...variable, address: held[1], ...this.value(now, type, held[1]) };
        const words = held[1].map(([kind, at]) => kind === "constant" ? at >>> 0
            : block.register(at));
        if (held[0] === "frame") {
            const address = words[0] + held[2];
            return { ...variable, address, ...this.value(now, type, address) };
        }
        const places = held[1].filter(([kind]) => kind === "register")
            .map(([, at]) => block.place(at));
        const bytes = words.flatMap(word => [0, 8, 16, 24].map(shift => word >>> shift & 255));
        const by = Math.max(0, ...places.map(place => block.words.writer(place)));
        return { ...variable, place: places[0], bytes, by };
    }

    /* -- ways through a run ----------------------------------------------------------------- */

    go({ position, way, back, lines, counters, line }) {
        const { run } = this, now = this.cursor(position), { stack, start } = now;
        const seek = test => back ? run.backward(start, test) : run.forward(position, test);
        const byLine = run.program.sources.length > 0;
        switch (way) {
        case "instruction":
            return seek(() => true);
        case "into":
            return seek(at => !byLine || at.entersLine);
        case "over":
            return seek(at => at.stack.depth <= stack.depth && (!byLine || at.entersLine));
        case "out":
            return back ? stack.at || -1 : run.forward(position, at => at.stack.depth < stack.depth);
        case "line":
            return seek(at => run.code.line[at.counter] === line && at.entersLine);
        case "counter":
            return seek(at => counters.includes(at.counter));
        case "breakpoint":
            return seek(at => counters.includes(at.counter) ||
                lines.includes(run.code.line[at.counter]) && at.entersLine);
        case "start":
            return run.promptLength;
        default:
            return run.length - 1;
        }
    }

    /* The instruction that a token belongs to: its call, and its first token. */
    cursor(position) {
        const { run } = this;
        if (position < run.promptLength) return { stack: ROOT, start: run.promptLength };
        let found = null;
        const now = run.at(position, (follower, end) => {
            if (end === position) found = { stack: follower.stack, start: follower.start };
        });
        return found || { stack: now.stack, start: now.start };
    }

    /* -- values ----------------------------------------------------------------------------- */

    /* All values that a register had, or bytes in memory, and the tokens that said them. */
    history({ place, address, size }) {
        const { run } = this, at = [], values = [];
        let count = 0;
        const first = run.from(0);
        const found = (position, value) => {
            if (count++ < MOST_HISTORY) {
                at.push(position);
                values.push(value);
            }
        };
        if (place === undefined && first.bytes.writer(address))
            found(first.bytes.writer(address), number(first.bytes, address, size));
        run.scan((now, end) => {
            if (place !== undefined) {
                if (now.wrote === REGISTER && now.wroteAt === place) found(end, now.wroteValue);
            } else if (now.wrote === MEMORY && now.wroteAt < address + size &&
                address < now.wroteAt + now.wroteSize) {
                found(end, number(now.bytes, address, size));
            }
        });
        return { at, values, count };
    }

    /* Where something was written, said or executed; positions, and what it was. */
    search({ what, value }) {
        const { run } = this, found = [];
        let count = 0;
        const tests = {
            value: now => now.wrote !== NOTHING && now.wroteValue === value,
            address: now => now.wrote === MEMORY && now.wroteAt <= value &&
                value < now.wroteAt + now.wroteSize,
            instruction: now => now.counter === value,
            function: now => run.code.function[now.counter] === value && this.isEntry(now),
            line: now => run.code.line[now.counter] === value && now.entersLine,
        };
        const test = tests[what];
        run.scan((now, end) => {
            if (test(now) && count++ < MOST_FOUND)
                found.push([end, now.counter, now.wrote, now.wroteAt, now.wroteValue]);
        });
        return { found, count };
    }

    isEntry(now) {
        return now.counter === this.firstOf(this.run.code.function[now.counter]);
    }

    firstOf(number) {
        this.firsts = this.firsts || new Map();
        if (!this.firsts.has(number))
            this.firsts.set(number, this.run.code.function.indexOf(number));
        return this.firsts.get(number);
    }

    read({ position, address, length }) {
        return this.memory(this.run.at(position), { address, length });
    }

    token({ position }) {
        return new Fetches(this.run).of(position);
    }

    slots() {
        return this.looking.known;
    }

    streams({ position }) {
        return this.looking.at(position);
    }

    overview() {
        const { run } = this;
        return {
            functions: Uint16Array.from(run.functions), depths: Uint8Array.from(run.depths),
            piece: PIECE, promptLength: run.promptLength, length: run.length,
            output: { at: [...run.output.at], bytes: [...run.output.bytes] },
        };
    }

    tokens({ first, count }) {
        return [...this.run.tokens.subarray(first, first + count)];
    }
}

function described(now, end) {
    return {
        start: now.start, end, counter: now.counter, number: now.steps, frame: now.frame,
        stack: now.stack, depth: now.stack.depth, entersLine: now.entersLine,
        wrote: now.wrote === NOTHING ? null
            : { kind: now.wrote, at: now.wroteAt, value: now.wroteValue, size: now.wroteSize },
    };
}

function number(bytes, address, size) {
    let value = 0;
    for (let n = Math.min(size, 4) - 1; n >= 0; n--) value = value * 256 + bytes.read(address + n);
    return value;
}

function globalName(place) {
    return place === GLOBALS ? "zero" : place === GLOBALS + 1 ? "pages" : `g${place - GLOBALS - 2}`;
}

/* How many registers of its frame each function names. */
function framesOf(program) {
    const columns = program.instructions, counts = [];
    for (let n = 0; n < columns.text.length; n++) {
        const operation = program.operations[columns.operation[n] % program.operations.length];
        const isIndexed = columns.operation[n] < program.operations.length;
        const named = [];
        for (const field of operation.operands)
            if (field === "e") named.push(columns.target[n]);
            else if (field !== "b" || isIndexed) named.push(columns[field][n]);
        if (operation.size && isIndexed) named.push(columns.b[n]);
        const most = Math.max(0, ...named.filter(at => at < GLOBALS).map(at => at + 1));
        counts[columns.function[n]] = Math.max(counts[columns.function[n]] || 0, most);
    }
    return counts;
}
