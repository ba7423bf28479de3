"use strict";
/* The program, four times: C, WebAssembly, core instructions, and the tokens of the run. */

function prepareCode(program) {
    const { instructions } = program;
    for (const name of ["source", "wasm", "core", "steps"]) page.lists[name] = new List($(name));
    page.sourceLines = program.sources.map(source => source.text.split("\n"));
    page.hasCode = program.sources.map(() => new Set());
    instructions.line.forEach((line, n) => {
        if (line) page.hasCode[instructions.file[n]].add(line);
    });
    page.coreOf = new Map(); // the instructions of every function
    page.wasmOf = program.wasm.map(() => new Map()); // and those of every line of WebAssembly
    instructions.function.forEach((number, n) => {
        if (!page.coreOf.has(number)) page.coreOf.set(number, []);
        page.coreOf.get(number).push(n);
        const place = instructions.wasmFunction[n];
        if (place >= 0) {
            const lines = page.wasmOf[place], line = instructions.wasmLine[n];
            if (!lines.has(line)) lines.set(line, n);
        }
    });
    page.file = 0;
}

function lineKey(file, line) {
    return (file << 20) + line; // as in Code
}

/* The line of C that is shown: that of the instruction, or else the last one in this call. */
function currentLine() {
    const { view, program } = page, { instructions } = program;
    let number = view.counter;
    if (!instructions.line[number]) {
        const before = view.around.filter(step => step.end <= view.position &&
            step.depth === view.depth && instructions.line[step.counter]);
        if (before.length) number = before[before.length - 1].counter;
        else {
            const caller = view.stack.find(frame => frame.line);
            if (!caller) return null;
            number = caller.counter;
        }
        return { file: instructions.file[number], line: instructions.line[number], exact: false };
    }
    return { file: instructions.file[number], line: instructions.line[number], exact: true };
}

function showSource() {
    const { program } = page;
    if (!program.sources.length) return;
    const current = currentLine();
    if (current) page.file = current.file;
    const file = page.file, lines = page.sourceLines[file];
    $("h-source").textContent = program.sources[file].name;
    page.lists.source.show(lines.length, n => {
        const line = n + 1, isHere = current && current.line === line;
        const can = page.hasCode[file].has(line);
        const isStop = page.breakLines.has(lineKey(file, line));
        return el("div", {
            class: isHere ? (current.exact ? "here" : "here inexact") : "",
            "aria-current": isHere ? "true" : null,
        },
        can ? el("button", {
            class: isStop ? "number stop" : "number", title: "breakpoint",
            "aria-pressed": String(isStop), "aria-label": `breakpoint on line ${line}`,
            onclick: () => toggleLine(file, line),
        }, String(line)) : el("span", { class: "number none" }, String(line)),
        el("code", {
            title: isHere && !current.exact
                ? "the instruction is of no line; this is the last line before it in this call"
                : can ? "double-click: run to here" : "no code: optimised out, or none needed",
            class: can ? "" : "uncoded", ondblclick: () => can && walk("line", false,
                { line: lineKey(file, line) }),
        }, ...coloured(lines[n])));
    }, current ? current.line - 1 : -1, file);
}

const C_WORDS = new RegExp("(//.*|/\\*.*?\\*/|^\\s*\\*.*|/\\*.*)|(\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*')" +
    "|\\b(auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if" +
    "|inline|int|long|register|return|short|signed|sizeof|static|struct|switch|typedef|union" +
    "|unsigned|void|volatile|while|bool|class|namespace|template|u?int(?:8|16|32|64)_t|size_t)\\b" +
    "|(^\\s*#.*)|\\b(0x[0-9a-fA-F]+|\\d[\\d.]*)", "g");

function coloured(text) {
    const parts = [];
    let last = 0;
    for (const match of text.matchAll(C_WORDS)) {
        parts.push(text.slice(last, match.index));
        const kind = match[1] ? "comment" : match[2] ? "string" : match[3] ? "word"
            : match[4] ? "comment" : "constant";
        parts.push(el("span", { class: kind }, match[0]));
        last = match.index + match[0].length;
    }
    return [...parts, text.slice(last)];
}

function toggleLine(file, line) {
    toggle(page.breakLines, lineKey(file, line));
    showSource();
}

function toggle(set, key) {
    if (!set.delete(key)) set.add(key);
}

function showWasm() {
    const { view, program } = page, { instructions } = program;
    const place = instructions.wasmFunction[view.counter];
    if (place < 0) {
        page.lists.wasm.show(1, () => el("div", { class: "quiet" },
            "no WebAssembly asked for this: the lowering's own"), 0, -1);
        $("h-wasm").textContent = "WebAssembly";
        return;
    }
    const { name, lines } = program.wasm[place], at = instructions.wasmLine[view.counter];
    $("h-wasm").textContent = `WebAssembly · ${name}`;
    page.lists.wasm.show(lines.length, n => el("div", {
        class: n === at ? "here" : "", "aria-current": n === at ? "true" : null,
    },
    el("span", { class: "number none" }, String(n)),
    el("code", { class: page.wasmOf[place].has(n) ? "" : "uncoded" }, lines[n])), at, place);
}

function showCore() {
    const { view, program } = page, { instructions } = program;
    const number = instructions.function[view.counter], own = page.coreOf.get(number) || [];
    const kind = instructions.library[view.counter] ? " (library)" : "";
    $("h-core").textContent = `Core instructions · ${program.functions[number]}${kind}`;
    page.lists.core.show(own.length, n => {
        const at = own[n], isHere = at === view.counter, isStop = page.breakCounters.has(at);
        return el("div", {
            class: isHere ? "here" : "", "aria-current": isHere ? "true" : null,
            title: `${instructions.record[at]}  (the prompt's tokens ${count(at * 16)} to ${count(at * 16 + 15)})`,
        },
        el("button", {
            class: isStop ? "number stop" : "number", "aria-pressed": String(isStop),
            "aria-label": `breakpoint on instruction ${at}`,
            onclick: () => {
                toggle(page.breakCounters, at);
                showCore();
            },
        }, String(at)),
        el("code", { ondblclick: () => walk("counter", false, { counters: [at] }) },
            instructions.text[at]));
    }, own.indexOf(view.counter), number);
}

/* -- tokens --------------------------------------------------------------------------------- */

function tokenName(token) {
    const known = page.program.tokens, last = [
        ["L", known.FIRST_LAST, 4096], ["M", known.FIRST_MORE, 4096],
        ["out", known.FIRST_OUTPUT, 256], ["err", known.FIRST_ERROR, 256],
        ["P", known.FIRST_BYTE, 256], ["D", known.FIRST_DATA, 256],
    ];
    for (const [letter, first, size] of last)
        if (token >= first && token < first + size) return `${letter}${token - first}`;
    if (token >= known.FIRST_JUMP && token < known.FIRST_JUMP + 4096)
        return `J${token - known.FIRST_JUMP - 2048}`;
    if (token >= known.FIRST_FAR_JUMP && token < known.FIRST_FAR_JUMP + 512)
        return `H${token - known.FIRST_FAR_JUMP - 256}`;
    if (token >= known.FIRST_TRAP && token < known.FIRST_BYTE) return `trap${token - known.FIRST_TRAP}`;
    if (token >= known.FIRST_OPERATION) {
        const { operations } = page.program, n = token - known.FIRST_OPERATION;
        return operations[n % operations.length].name + (n < operations.length ? "" : "#");
    }
    const names = { [known.STORED_ID]: "stored", [known.READ_ID]: "read.", [known.AWAIT_ID]: "await.",
        [known.EXIT_ID]: "exit.", [known.AT_ID]: "at", [known.START_ID]: "start" };
    return names[token] || `#${token}`;
}

function tokenFamily(token) {
    const letter = tokenName(token)[0];
    return "LMQRNS".includes(letter) ? "digit" : "JH".includes(letter) ? "jump"
        : tokenName(token) === "stored" ? "store" : /^(out|err)/.test(tokenName(token)) ? "out"
            : "other";
}

function chip(token, position) {
    return el("button", {
        class: `chip ${tokenFamily(token)}${position === page.position ? " chosen" : ""}`,
        title: `token ${count(position)}`, tabindex: position === page.position ? "0" : "-1",
        "aria-pressed": String(position === page.position), onclick: () => {
            stopPlaying();
            go(position);
        },
    }, tokenName(token));
}

function showSteps() {
    const { view } = page;
    if (view.inPrompt) return showPrompt();
    const { around } = view;
    const at = around.findIndex(step => step.start <= view.position && view.position <= step.end);
    page.lists.steps.show(around.length, n => stepRow(around[n], n === at), at,
        Math.floor((around[0] || { start: 0 }).start / 1e9));
    return undefined;
}

function stepRow(step, isHere) {
    const { instructions } = page.program;
    return el("div", { class: isHere ? "here" : "", "aria-current": isHere ? "true" : null },
        el("span", { class: "number none wide" }, count(step.number)),
        el("span", { class: "chips" },
            ...step.tokens.slice(0, 10).map((token, n) => chip(token, step.start + n))),
        el("code", { onclick: () => go(step.end) }, instructions.text[step.counter] || ""),
        el("span", { class: "result" }, resultOf(step)));
}

function resultOf(step) {
    if (!step.wrote) return outputOf(step);
    const { value } = step.wrote;
    return `= ${signed(value)}`;
}

function outputOf(step) {
    const { tokens } = page.program, token = step.tokens[step.tokens.length - 1];
    if (token < tokens.FIRST_OUTPUT || token >= tokens.FIRST_ERROR + 256) return "";
    return JSON.stringify(String.fromCharCode((token - tokens.FIRST_OUTPUT) % 256));
}

/* The prompt: sixteen tokens for every instruction, and then memory. */
function showPrompt() {
    const { program, view, prompt } = page;
    const records = program.instructions.text.length, rest = prompt.length - 16 * records;
    const row = Math.min(Math.floor(view.position / 16), records + Math.ceil(rest / 16));
    page.lists.steps.show(records + Math.ceil(rest / 16), n => el("div", {
        class: n === row ? "here" : "",
    },
    el("span", { class: "number none wide" }, count(16 * n)),
    el("span", { class: "chips small" },
        ...prompt.slice(16 * n, 16 * n + 16).map((token, k) => chip(token, 16 * n + k)))),
    row, "prompt");
}
