"use strict";
/* A token looked at: an arc to every position that was fetched for it, and how the arg-max came to
   it. And a value looked at: who wrote it, and all values that it had. */

let tokenAsked = 0;

async function showToken() {
    if ($("token").hidden) return;
    const mine = ++tokenAsked, position = page.position;
    const [token, [id]] = await Promise.all([
        ask("token", { position }), ask("tokens", { first: position, count: 1 })]);
    if (mine !== tokenAsked) return;
    const box = $("token");
    box.replaceChildren(
        el("p", { class: "lead" }, el("span", { class: `chip big ${tokenFamily(id)}` }, tokenName(id)),
            " ", meaningOf(id), sayer(token)),
        arcs(token, id), fetchedTable(token), ruleOf(token));
}

function sayer(token) {
    if (token.given === "prompt") return " It is part of the prompt: nobody said it.";
    if (token.given) return ` Said by ${token.given}.`;
    return "";
}

function meaningOf(id) {
    const name = tokenName(id), number = Number(name.slice(1));
    switch (tokenFamily(id)) {
    case "digit":
        return name[0] === "L" ? `the last digit of a word: ${number}.`
            : `a digit in base 4096 with more to come: ${number}.`;
    case "jump":
        return name === "J1" ? "on to the next instruction: a jump that is not taken, or leads there."
            : `a jump by ${number} ${name[0] === "H" ? "times 4,096 " : ""}instructions.`;
    case "store":
        return "memory was written.";
    case "out":
        return `a byte of output: ${JSON.stringify(String.fromCharCode(Number(name.slice(3))))}.`;
    default:
        return { "await.": "a word is asked for: the host's turn.",
            "read.": "a byte of input is asked for: the host's turn.",
            "exit.": "the program ends itself.", start: "the program is complete." }[name] || "";
    }
}

/* Positions lie in their order, not to scale: what is near is drawn wide. */
function arcs(token, id) {
    const { fetched, position } = token;
    if (!fetched.length) return el("span");
    const places = [...new Set([...fetched.map(one => one.at).filter(at => at !== null), position])]
        .sort((a, b) => a - b);
    const width = Math.max(340, $("token").clientWidth - 24), height = 148, base = 112, left = 66;
    const gap = places.length > 1 ? (width - 2 * left) / (places.length - 1) : 0;
    const x = at => left + places.indexOf(at) * gap;
    const picture = svg("svg", {
        viewBox: `0 0 ${width} ${height}`, class: "arcs", role: "img",
        "aria-label": `arcs from token ${position} to the ${places.length - 1} positions fetched for it`,
    });
    picture.append(svg("line", { x1: 0, x2: width, y1: base, y2: base, class: "axis" }));
    const groups = new Map();
    for (const one of fetched) {
        if (one.at === null) continue;
        if (!groups.has(one.at)) groups.set(one.at, []);
        groups.get(one.at).push(one);
    }
    for (const [at, ones] of groups) {
        const from = x(position), to = x(at), tall = Math.min(100, 22 + Math.abs(from - to) * 0.22);
        const kind = arcKind(ones[0]);
        const arc = svg("path", {
            d: `M${from},${base} C${from},${base - tall * 1.3} ${to},${base - tall * 1.3} ${to},${base}`,
            class: `arc ${kind}`,
        });
        arc.append(svg("title", {}, `${ones.map(one => one.what).join(", ")}: token ${at}`));
        const label = shortLabel(ones);
        picture.append(arc,
            svg("circle", { cx: to, cy: base, r: 4, class: `dot ${kind}`, onclick: () => go(at) }),
            svg("text", { x: to, y: base - tall - 3 < 12 ? 12 : base - 9, class: "label", "text-anchor": "middle" }, label),
            svg("text", { x: to, y: base + 16, class: "tick", "text-anchor": "middle" }, count(at)));
    }
    picture.append(
        svg("circle", { cx: x(position), cy: base, r: 5, class: "dot here" }),
        svg("text", { x: x(position), y: base + 30, class: "label", "text-anchor": "middle" }, tokenName(id)),
        svg("text", { x: x(position), y: base + 16, class: "tick", "text-anchor": "middle" }, count(position)));
    return picture;
}

function shortLabel(ones) {
    const names = [...new Set(ones.map(one => one.head.endsWith("back") ? "digits" : one.what))];
    const bytes = names.filter(name => name.startsWith("mem["));
    if (bytes.length > 1) return `${bytes[0]}…`;
    return names.slice(0, 2).join(", ") + (names.length > 2 ? "…" : "");
}

function arcKind(one) {
    return one.head.startsWith("source") || one.head === "memory pages" ? "register"
        : one.head.startsWith("lane") ? "memory" : one.head.startsWith("operation") ? "program"
            : "other";
}

function fetchedTable(token) {
    if (!token.fetched.length) return el("span");
    const row = one => el("tr", {},
        el("td", { class: `dotted ${arcKind(one)}` }, one.head),
        el("td", {}, one.what),
        el("td", { class: "quiet" }, one.key === null ? "" : count(one.key)),
        el("td", {}, one.at === null ? el("span", { class: "quiet" }, one.note || "")
            : jump(one.by || one.at, undefined, one.by && one.by !== one.at
                ? `said by token ${count(one.by)}, filed at ${count(one.at)}` : undefined)),
        el("td", {}, one.token !== undefined ? tokenName(one.token)
            : typeof one.value === "number" ? String(signed(one.value)) : one.value || ""),
        el("td", { class: "quiet" }, marginOf(one)));
    return el("table", {},
        el("caption", {}, `fetched for it, by what the token before it (${count(token.asker)}) asks`),
        el("thead", {}, el("tr", {}, ...["head", "what", "key", "from token", "value", "margin to the second best"]
            .map(text => el("th", { scope: "col" }, text)))),
        el("tbody", {}, ...token.fetched.map(row)));
}

function marginOf(one) {
    if (one.at === null) return "";
    if (!one.second) return "other keys: 2^36 and more";
    const isKey = one.second.margin >= 2 ** 35;
    return `${count(one.second.margin)} over ${isKey ? "another key" : one.head.endsWith("back")
        ? "the next position" : "the same key"} at ${count(one.second.at)}`;
}

function ruleOf({ said }) {
    if (!said || !said.rule) return el("span");
    const big = text => BigInt(text).toLocaleString("en");
    return el("p", { class: "rule" },
        el("strong", {}, "Said by arg-max"), `: the score of digit d is ${said.rule}, with `,
        said.isLast ? `x = ${big(said.left)}` : `A = ${big(said.left)}, B = ${big(said.weight)}`,
        ` (the word is ${count(said.word)}). Digit ${said.digit} has ${big(said.score)}, the runner-up, `,
        `${said.second}, ${big(said.secondScore)}: `, el("strong", {}, `ahead by ${big(said.margin)}`), ".");
}

/* -- its residual stream -------------------------------------------------------------------- */

const slotsShown = { known: null, layer: 1, wanted: "", asked: 0, values: null };

/* What is there once; an engine that cannot look at streams has no slots. */
async function prepareSlots() {
    const known = await ask("slots");
    $("tab-slots").hidden = !known;
    if (!known) return;
    const layer = el("input", { id: "slots-layer", type: "range", min: 0, max: (known.periods.length - 1) / 2,
        value: slotsShown.layer, oninput: () => chooseLayer(Number(layer.value)) });
    const wanted = el("input", { id: "slots-wanted", placeholder: "all names", spellcheck: "false", oninput: () => {
        slotsShown.wanted = wanted.value.trim();
        drawSlots();
    } });
    slotsShown.known = known;
    $("slots").replaceChildren(el("p", { class: "lead", id: "slots-title" }),
        el("div", { class: "choices" },
            el("label", {}, el("span", { id: "slots-number" }), layer),
            el("label", {}, "slots that are called", wanted)),
        el("div", { id: "slots-table" }));
}

function chooseLayer(layer) {
    slotsShown.layer = layer;
    $("slots-layer").value = layer;
    drawSlots();
}

/* That of the token before: what was said behind it is the one that is selected. */
async function showSlots() {
    if ($("slots").hidden || !slotsShown.known) return;
    const mine = ++slotsShown.asked, position = Math.max(0, page.position - 1);
    $("slots-title").textContent = `the run is said again up to token ${count(position)} …`;
    const [values, [id]] = await Promise.all([
        ask("streams", { position }), ask("tokens", { first: position, count: 1 })]);
    if (mine !== slotsShown.asked) return;
    slotsShown.values = values;
    const after = page.position ? `; behind it comes token ${count(page.position)}` : "";
    $("slots-title").textContent = `The residual stream of token ${count(position)} (${tokenName(id)})${after}.`;
    drawSlots();
}

/* The embedding (0), or a layer: behind its heads, and behind its feed-forward part. Of slots that are
   wanted by name, all. */
function drawSlots() {
    const { known, values, layer, wanted } = slotsShown;
    if (!values) return;
    const shown = layer ? [2 * layer - 1, 2 * layer] : [0], last = shown[shown.length - 1];
    const isShown = slot => slot.first <= last && shown[0] <= slot.last;
    const slots = known.slots.filter(slot => wanted ? slot.name.includes(wanted) : isShown(slot));
    const table = residualTable({ ...known, slots }, shown, (period, slot) => values[period * known.width + slot]);
    [...table.tBodies[0].rows].forEach((row, n) => {
        const slot = slots[n];
        if (!isShown(slot)) row.cells[2].replaceChildren(el("button", { class: "link",
            title: "to the layer in which it begins", onclick: () => chooseLayer((slot.first + 1) >> 1) },
        `${slot.first}–${slot.last}`));
    });
    $("slots-number").textContent = `${layer ? `layer ${layer - 1}` : "embedding"}: ${count(slots.length)} slots`;
    $("slots-table").replaceChildren(table);
}

/* -- a value -------------------------------------------------------------------------------- */

let valueAsked = 0;

async function select(where) {
    page.selected = { ...where };
    const mine = ++valueAsked;
    page.chooseLook("value");
    page.selected.history = await ask("history", where);
    if (mine !== valueAsked) return;
    if (page.view) {
        showRegisters();
        showVariables();
        showMemory(page.view.memory);
    }
    showValueNow();
}

/* The number of the last write at or before a position. */
function lastWrite(at, position) {
    let low = -1, high = at.length - 1;
    while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (at[middle] <= position) low = middle;
        else high = middle - 1;
    }
    return low;
}

function showValueNow() {
    const { selected, position } = page, { history: past } = selected;
    if (!past) return;
    const { at, values } = past, now = lastWrite(at, position), box = $("value");
    const name = selected.name || `mem[${hexadecimal(selected.address)}]`;
    const place = selected.place !== undefined ? registerPlace(selected) : hexadecimal(selected.address);
    box.replaceChildren(
        el("p", { class: "lead" }, el("strong", {}, name), el("span", { class: "quiet" }, ` ${place} `),
            now < 0 ? "was not written yet." : `is ${signed(values[now])} = ${hexadecimal(values[now])}. `,
            now < 0 ? "" : el("button", { class: "primary", id: "who", onclick: () => go(at[now]) },
                `Who wrote this? Token ${count(at[now])}`)),
        el("p", {}, el("button", { disabled: now <= 0, onclick: () => go(at[now - 1]) }, "◀ write before"), " ",
            el("button", { disabled: now + 1 >= at.length, onclick: () => go(at[now + 1]) }, "next write ▶"),
            el("span", { class: "quiet" }, ` written ${count(past.count)} times${
                past.count > at.length ? `, the first ${count(at.length)} are shown` : ""}`)),
        line(at, values, now),
        el("div", { id: "past", class: "list", tabindex: "0", role: "group", "aria-label": "All its values" }));
    new List($("past")).show(at.length, n => el("div", { class: n === now ? "here" : "" },
        el("span", { class: "number none wide" }, String(n + 1)), jump(at[n]),
        el("code", {}, `${signed(values[n])}  ${hexadecimal(values[n])}`)), now, "past");
}

function registerPlace({ place }) {
    return place < 65536 ? "a register of all frames" : `register at ${count(place - 65536)} of all frames`;
}

/* All its values against the positions of the tokens that said them. */
function line(at, values, now) {
    const width = Math.max(340, $("value").clientWidth - 24), height = 90;
    const shown = values.map(signed), low = Math.min(0, ...shown), high = Math.max(1, ...shown);
    const x = position => 4 + partAt(position) * (width - 8);
    const y = value => height - 8 - (value - low) / (high - low) * (height - 16);
    const step = Math.max(1, Math.floor(at.length / 1500));
    let path = "";
    for (let n = 0; n < at.length; n += step)
        path += path ? `H${x(at[n]).toFixed(1)}V${y(shown[n]).toFixed(1)}`
            : `M${x(at[n]).toFixed(1)},${y(shown[n]).toFixed(1)}`;
    if (path) path += `H${width - 4}`;
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "past", role: "img",
        "aria-label": `${at.length} values between ${low} and ${high}` });
    picture.append(svg("path", { d: path || "M0,0", class: "curve" }),
        svg("line", { x1: x(page.position), x2: x(page.position), y1: 0, y2: height, class: "cursor" }));
    if (now >= 0) picture.append(svg("circle", { cx: x(at[now]), cy: y(shown[now]), r: 4, class: "dot here" }));
    picture.addEventListener("click", event => {
        const box = picture.getBoundingClientRect();
        const position = positionAt((event.clientX - box.left) / box.width);
        const n = Math.max(0, lastWrite(at, position));
        if (at.length) go(at[n]);
    });
    return picture;
}
