"use strict";
/* What was said so far: registers, variables, calls, memory, output. Every value leads to the token
   that said it. */

/* A value that can be looked at: a click shows its past, a double click who wrote it. */
function valueButton(text, where, by, isNew, title = "") {
    return el("button", {
        class: `value${isNew ? " new" : ""}${isSelected(where) ? " chosen" : ""}`,
        title: title || (by ? `written by token ${count(by)}; double-click: go there`
            : "never written: 0"),
        onclick: () => select(where), ondblclick: () => by && go(by),
    }, text);
}

function isSelected(where) {
    const { selected } = page;
    return selected && selected.place === where.place && selected.address === where.address;
}

function isWritten(place) {
    const { wrote } = page.view;
    return Boolean(wrote && wrote.kind === 1 && wrote.at === place);
}

function showRegisters() {
    const { view } = page;
    const row = ([name, place, value, by]) => el("tr", { class: isWritten(place) ? "new" : "" },
        el("th", { scope: "row" }, name),
        el("td", {}, valueButton(String(signed(value)), { place, name, frame: view.stack[0] }, by,
            isWritten(place))),
        el("td", { class: "quiet" }, hexadecimal(value)),
        el("td", {}, by ? jump(by) : el("span", { class: "quiet" }, "never")));
    const table = (title, rows) => el("table", {},
        el("caption", {}, title),
        el("thead", {}, el("tr", {}, ...["register", "value", "hex", "said by"].map(text =>
            el("th", { scope: "col" }, text)))),
        el("tbody", {}, ...rows.map(row)));
    $("registers").replaceChildren(
        table(`frame at ${count(view.frame)}`, view.registers),
        table("the same in every frame", view.globals));
}

/* -- variables of C ------------------------------------------------------------------------- */

function showVariables() {
    const { view, program } = page, box = $("variables"), parts = [];
    if (!program.sources.length) {
        box.replaceChildren(el("p", { class: "quiet" },
            "Of WebAssembly there are registers only."));
        return;
    }
    if (view.variables) {
        const { position, counter, values } = view.variables;
        const line = program.instructions.line[counter];
        parts.push(variableTable(el("span", {}, "in this call", line ? ` · as of line ${line}, ` : ", ",
            jump(position, `token ${count(position)}`)), values.map(variableRow)));
    } else {
        parts.push(el("p", { class: "quiet" },
            "No variables are known here: none, or not yet, or all of them optimised out."));
    }
    if (view.statics.length)
        parts.push(variableTable("static", view.statics.map(([name, type, address, value]) =>
            variableRow({ name, type, address, ...value }))));
    box.replaceChildren(...parts);
}

function variableTable(title, rows) {
    return el("table", {}, el("caption", {}, title), el("thead", {}, el("tr", {},
        ...["name", "value", "type"].map(text => el("th", { scope: "col" }, text)))),
    el("tbody", {}, ...rows));
}

function variableRow(variable) {
    const { types } = page.program, type = types[variable.type] || { name: "" };
    if (!variable.bytes) {
        return el("tr", { class: "quiet" }, el("th", { scope: "row" }, variable.name),
            el("td", {}, "optimised out here"), el("td", {}, type.name));
    }
    const size = Math.min(Math.max(type.size || 4, 1), 4);
    const where = variable.address === undefined ? { place: variable.place, name: variable.name }
        : { address: variable.address, size, name: variable.name };
    const { wrote } = page.view;
    const isNew = Boolean(wrote && wrote.kind === 2 && variable.address !== undefined &&
        wrote.at < variable.address + (type.size || 4) && variable.address < wrote.at + wrote.size);
    const text = shownValue(type, variable.bytes, 0);
    const value = where.place === undefined && where.address === undefined
        ? el("span", {}, text) : valueButton(text, where, variable.by, isNew);
    return el("tr", { class: isNew ? "new" : "" }, el("th", { scope: "row" }, variable.name),
        el("td", {}, value), el("td", { class: "quiet" }, type.name));
}

const SIGNED_KINDS = new Set([5, 6, 13]); // DW_ATE_signed, signed_char

function shownValue(type, bytes, at, depth = 0) {
    const { types } = page.program, size = type.size || 4;
    if (type.element !== undefined) {
        const element = types[type.element];
        const isText = element.size === 1 && element.encoding === 6; // DW_ATE_signed_char
        const there = Math.min(type.count, Math.floor((bytes.length - at) / (element.size || 1)));
        if (isText) {
            const text = bytes.slice(at, at + there), end = text.indexOf(0);
            return JSON.stringify(String.fromCharCode(...text.slice(0, end < 0 ? 40 : end)));
        }
        const most = depth ? 4 : 32, shown = [];
        for (let n = 0; n < Math.min(there, most); n++)
            shown.push(shownValue(element, bytes, at + n * element.size, depth + 1));
        return `{${shown.join(", ")}${type.count > shown.length ? ", …" : ""}}`;
    }
    if (type.members) {
        return `{${type.members.map(([name, offset, inner]) =>
            `${name} ${at + offset < bytes.length
                ? shownValue(types[inner], bytes, at + offset, depth + 1) : "…"}`).join(", ")}}`;
    }
    if (at + size > bytes.length) return "…";
    const view = new DataView(Uint8Array.from(bytes.slice(at, at + size)).buffer);
    if (type.pointer) return hexadecimal(view.getUint32(0, true));
    if (type.encoding === 4) return String(size === 8 ? view.getFloat64(0, true)
        : view.getFloat32(0, true));
    const isSigned = SIGNED_KINDS.has(type.encoding);
    if (size === 8) return String(isSigned ? view.getBigInt64(0, true) : view.getBigUint64(0, true));
    if (size === 4) return String(isSigned ? view.getInt32(0, true) : view.getUint32(0, true));
    if (size === 2) return String(isSigned ? view.getInt16(0, true) : view.getUint16(0, true));
    const value = isSigned ? view.getInt8(0) : view.getUint8(0);
    const isLetter = /char/.test(type.name) && value > 31 && value < 127;
    return isLetter ? `${value} ${JSON.stringify(String.fromCharCode(value))}` : String(value);
}

/* -- calls ---------------------------------------------------------------------------------- */

function showStack() {
    const { view, program } = page, { instructions } = program;
    const rows = view.stack.map((frame, n) => {
        const line = instructions.line[frame.counter];
        return el("li", {},
            el("strong", {}, program.functions[frame.function]),
            line ? ` line ${line}` : "", ` instruction ${frame.counter} `,
            frame.at ? jump(frame.at, "called here", `the call: token ${count(frame.at)}`) : "",
            n === 0 ? el("span", { class: "quiet" }, " now") : "");
    });
    const hidden = view.depth + 1 - rows.length;
    $("stack").replaceChildren(el("ol", {}, ...rows),
        hidden > 0 ? el("p", { class: "quiet" }, `and ${count(hidden)} calls more`) : "");
}

/* -- memory --------------------------------------------------------------------------------- */

const MEMORY_ROWS = 64, MEMORY_WIDTH = 16;

function prepareMemory(program) {
    const first = program.globals.length ? program.globals[0][2] : 0;
    page.memoryAt = first - first % MEMORY_WIDTH;
    const field = $("address");
    field.addEventListener("change", () => {
        const address = parseInt(field.value, field.value.trim().startsWith("0x") ? 16 : 10);
        if (address >= 0) lookAtMemory(address);
    });
}

function memoryWindow() {
    return { address: page.memoryAt, length: MEMORY_ROWS * MEMORY_WIDTH };
}

async function lookAtMemory(address) {
    page.memoryAt = Math.max(0, address - address % MEMORY_WIDTH);
    const memory = await ask("read", { position: page.position, ...memoryWindow() });
    showMemory(memory, address);
}

function showMemory({ address, values, writers }, wanted = -1) {
    const { view, program } = page, { wrote } = view;
    $("address").value = hexadecimal(address);
    const names = new Map(program.globals.map(([name, , at]) => [at, name]));
    const rows = [];
    for (let row = 0; row < MEMORY_ROWS; row++) {
        const first = address + row * MEMORY_WIDTH, cells = [];
        let text = "", name = "";
        for (let n = 0; n < MEMORY_WIDTH; n++) {
            const k = row * MEMORY_WIDTH + n, at = first + n, byte = values[k];
            const isNew = Boolean(wrote && wrote.kind === 2 && at >= wrote.at &&
                at < wrote.at + wrote.size);
            const by = writers[k];
            name = name || names.get(at) || "";
            const classes = [isNew ? "new" : "", by ? "" : "never", at === wanted ? "wanted" : "",
                isInSelected(at) ? "chosen" : ""];
            cells.push(`<b class="${classes.join(" ")}" data-at="${at}" data-by="${by}">` +
                `${byte.toString(16).padStart(2, "0")}</b>`);
            text += byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·";
        }
        rows.push({ first, html: cells, text, name });
    }
    const box = $("memory"), top = box.scrollTop;
    box.replaceChildren(...rows.map(({ first, html, text, name }) => {
        const line = el("div", { class: "line" }, el("span", { class: "quiet" }, first.toString(16).padStart(6, "0")));
        const bytes = el("span", { class: "bytes" });
        bytes.innerHTML = `${html.slice(0, 8).join("")}<i></i>${html.slice(8).join("")}`;
        line.append(bytes, el("span", { class: "text" }, text), el("span", { class: "names" }, name));
        return line;
    }));
    box.scrollTop = top;
    box.onclick = event => {
        const { at } = event.target.dataset;
        if (at !== undefined) select(thingAt(Number(at)));
    };
    box.ondblclick = event => {
        const by = Number(event.target.dataset.by);
        if (by) go(by);
    };
}

function isInSelected(at) {
    const { selected } = page;
    return Boolean(selected && selected.address <= at && at < selected.address + selected.size);
}

/* What a byte belongs to: an element of a static variable, or else a word. */
function thingAt(at) {
    const { globals, types } = page.program;
    const variable = globals.find(([, type, first]) => first <= at && at < first + types[type].size);
    if (!variable) {
        const address = at - at % 4;
        return { address, size: 4, name: `mem[${hexadecimal(address)}]` };
    }
    const [title, number, first] = variable;
    let type = types[number], address = first, name = title;
    while (type.element !== undefined || type.members) {
        if (type.element !== undefined) {
            type = types[type.element];
            if (!type.size) break;
            const n = Math.floor((at - address) / type.size);
            name += `[${n}]`;
            address += n * type.size;
        } else {
            const member = type.members.find(([, offset, inner]) =>
                address + offset <= at && at < address + offset + types[inner].size);
            if (!member) break;
            name += `.${member[0]}`;
            address += member[1];
            type = types[member[2]];
        }
    }
    return { address, size: Math.min(type.size || 4, 4), name };
}

/* -- output --------------------------------------------------------------------------------- */

function showOutput() {
    const { overview, view, program } = page;
    if (!overview || !view) return;
    const { at, bytes } = overview.output;
    let low = 0, high = at.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (at[middle] <= view.position) low = middle + 1;
        else high = middle;
    }
    const said = textOf(bytes.slice(0, low)), rest = textOf(bytes.slice(low));
    const box = $("output");
    const read = el("p", { class: "quiet" }, program.invoked ? "" :
        `input read: ${Math.min(view.reads, program.input.length)} of ${program.input.length} bytes`);
    const marks = el("pre", { onclick: event => jumpToOutput(event, said.length + rest.length) },
        el("span", { class: "before" }, said), el("span", { class: "mark", "aria-hidden": "true" }),
        el("span", { class: "later" }, rest));
    box.replaceChildren(marks, read);
    if (!at.length) marks.replaceChildren(el("span", { class: "quiet" }, program.invoked
        ? `the result: ${resultText() || "not yet"}` : "nothing yet"));
    const mark = box.querySelector(".mark");
    if (mark && at.length) box.scrollTop = mark.offsetTop - box.clientHeight / 2;
}

function textOf(bytes) {
    return new TextDecoder().decode(Uint8Array.from(bytes.map(byte => byte & 255)));
}

function resultText() {
    const { figures, view, program } = page;
    if (!figures || !figures.isDone || !view || !program.results) return "";
    const last = view.position >= figures.length - 1 ? view.around.filter(step => step.wrote) : [];
    return last.slice(-program.results).map(step => signed(step.wrote.value)).join(" ");
}

/* A click on a letter of the output leads to the token that said it. */
function jumpToOutput(event, length) {
    const range = document.caretRangeFromPoint && document.caretRangeFromPoint(event.clientX, event.clientY);
    const { at, bytes } = page.overview.output;
    if (!range || length !== bytes.length) return;
    const isLater = range.startContainer.parentElement.className === "later";
    const said = event.currentTarget.querySelector(".before").textContent.length;
    const n = Math.min(at.length - 1, range.startOffset + (isLater ? said : 0));
    if (n >= 0) go(at[n]);
}
