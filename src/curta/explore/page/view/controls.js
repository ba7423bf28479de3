"use strict";
/* Buttons, keys, search, and the playground. */

const WAYS = [
    ["|◀", "start", true, "to the beginning (Home)", "Home"],
    ["◀ over", "over", true, "back over the line (N)", "N"],
    ["◀", "instruction", true, "instruction before (←)", "ArrowLeft"],
    ["▶", "instruction", false, "next instruction (→)", "ArrowRight"],
    ["into", "into", false, "to the next line (s)", "s"],
    ["over", "over", false, "over the line, and what it calls (n)", "n"],
    ["out", "out", false, "out of this call (o)", "o"],
    ["▶|", "end", false, "to the end (End)", "End"],
];
const KEYS = {
    ArrowLeft: ["instruction", true], ArrowRight: ["instruction", false],
    s: ["into", false], S: ["into", true], n: ["over", false], N: ["over", true],
    o: ["out", false], O: ["out", true], Home: ["start", true], End: ["end", false],
    b: ["breakpoint", false], B: ["breakpoint", true],
};

function prepareControls() {
    const button = ([text, way, back, title]) => el("button", {
        title, "aria-label": title, id: `go-${way}${back ? "-back" : ""}`, onclick: () => walk(way, back),
    }, text);
    $("controls").replaceChildren(
        ...WAYS.slice(0, 3).map(button),
        el("button", { id: "play", title: "play (space)", "aria-label": "play or pause (space)",
            onclick: togglePlay }, "play"),
        ...WAYS.slice(3).map(button),
        el("span", { class: "group" },
            el("button", { title: "back to a breakpoint (B)", "aria-label": "back to a breakpoint (B)",
                onclick: () => walk("breakpoint", true) }, "◀●"),
            el("button", { id: "go-breakpoint", title: "on to a breakpoint (b)",
                "aria-label": "on to a breakpoint (b)", onclick: () => walk("breakpoint") }, "●▶")));
    document.addEventListener("keydown", keyed);
    $("help").addEventListener("click", showHelp);
    prepareSearch();
}

function keyed(event) {
    const { target } = event;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || event.ctrlKey || event.metaKey ||
        event.altKey || $("about").open) return;
    if (!page.figures || !page.view) return;
    if (event.key === "/") {
        event.preventDefault();
        $("wanted").focus();
    } else if (event.key === "?") {
        showHelp();
    } else if (event.key === " " && target.tagName !== "BUTTON") {
        event.preventDefault();
        togglePlay();
    } else if (event.key === "," || event.key === ".") {
        stopPlaying();
        go(page.position + (event.key === "." ? 1 : -1));
    } else if (event.key === "w" && page.selected && page.selected.history) {
        const { at } = page.selected.history, n = lastWrite(at, page.position);
        if (n >= 0) go(at[n]);
    } else if (KEYS[event.key]) {
        event.preventDefault();
        const [way, back] = KEYS[event.key];
        if (way === "start") go(page.figures.promptLength);
        else if (way === "end") go(page.figures.length - 1);
        else walk(way, back);
    }
}

/* -- playing -------------------------------------------------------------------------------- */

function togglePlay() {
    if (page.isPlaying) {
        stopPlaying();
        return;
    }
    $("play").textContent = "pause";
    page.isPlaying = 1;
    play();
}

/* An instruction at a time, slowly at first; later several at a time. */
async function play() {
    const started = performance.now();
    while (page.isPlaying) {
        const seconds = (performance.now() - started) / 1000;
        const step = Math.ceil(1.6 ** Math.max(0, seconds - 3));
        const { around } = page.view, at = around.findIndex(one => one.start <= page.position &&
            page.position <= one.end);
        const next = around[Math.min(at + step, around.length - 1)];
        if (!next || next.end <= page.position) break;
        await go(step > around.length / 2 ? page.position + 2 * step : next.end);
        await new Promise(resolve => setTimeout(resolve, Math.max(30, 220 - 60 * seconds)));
    }
    stopPlaying();
}

function stopPlaying() {
    if (!page.isPlaying) return;
    page.isPlaying = 0;
    $("play").textContent = "play";
    remember();
    if (page.view) show(page.view);
}

/* -- search --------------------------------------------------------------------------------- */

function prepareSearch() {
    $("search").addEventListener("submit", event => {
        event.preventDefault();
        search($("wanted").value.trim());
    });
    $("wanted").addEventListener("keydown", event => {
        if (event.key === "Escape") closeHits();
    });
    document.addEventListener("pointerdown", event => {
        if (!$("search").contains(event.target)) closeHits();
    });
}

function closeHits() {
    $("hits").hidden = true;
}

/* What is meant by the words of a search. */
function wantedOf(text) {
    const number = digits => Number(digits.replace(/,/g, ""));
    let match;
    if ((match = /^#([\d,]+)$/.exec(text))) return { position: number(match[1]) };
    if ((match = /^@(0x[\da-f]+|\d+)$/i.exec(text))) return { what: "address", value: Number(match[1]) };
    if ((match = /^i(\d+)$/.exec(text))) return { what: "instruction", value: Number(match[1]) };
    if (/^-?(0x[\da-f]+|[\d,]+)$/i.test(text)) {
        const value = text.startsWith("-") ? -number(text.slice(1)) : number(text);
        return { what: "value", value: (value + 4294967296) % 4294967296 };
    }
    if ((match = /^(?:(.*):)?\s*(?:line )?(\d+)$/.exec(text))) {
        const file = Math.max(0, page.program.sources.findIndex(one => one.name.endsWith(match[1] || "")));
        return { what: "line", value: lineKey(file, Number(match[2])) };
    }
    const named = page.program.functions.indexOf(text);
    if (named >= 0) return { what: "function", value: named };
    const variable = page.program.globals.find(([name]) => name === text);
    if (variable) return { select: { address: variable[2], size: 4, name: text } };
    const like = page.program.functions.findIndex(name => name.includes(text));
    return like >= 0 ? { what: "function", value: like } : null;
}

async function search(text) {
    const wanted = wantedOf(text), hits = $("hits");
    if (!wanted) {
        say(`"${text}": a value, @address, #token, i12 (an instruction), file:12 (a line), a function or a static variable`);
        return;
    }
    if (wanted.position !== undefined) {
        go(wanted.position);
        return;
    }
    if (wanted.select) {
        lookAtMemory(wanted.select.address);
        select(wanted.select);
        return;
    }
    const { found, count: total } = await ask("search", wanted);
    const near = found.findIndex(([at]) => at >= page.position);
    hits.hidden = false;
    const { instructions, functions } = page.program;
    hits.replaceChildren(el("p", { class: "quiet" }, `${count(total)} times${
        total > found.length ? `, the first ${count(found.length)}` : ""}`),
    el("div", { id: "found", class: "list", tabindex: "0", role: "group", "aria-label": "What was found" }));
    new List($("found")).show(found.length, n => {
        const [at, counter, wrote, where, value] = found[n];
        const line = instructions.line[counter];
        return el("div", { class: n === near ? "here" : "" }, jump(at),
            el("code", {}, `${functions[instructions.function[counter]]}${line ? `:${line}` : ""}  ` +
                `${instructions.text[counter]}${wrote ? `  = ${signed(value)}` : ""}` +
                `${wrote === 2 ? ` at ${hexadecimal(where)}` : ""}`));
    }, Math.max(0, near), null);
    if (found.length) go(found[Math.max(0, near)][0]);
}

/* -- the playground ------------------------------------------------------------------------- */

function preparePlayground(program) {
    const isText = new TextDecoder().decode(Uint8Array.from(program.input));
    $("playground").replaceChildren(
        el("p", { class: "quiet" }, "The transformer runs in this page. Change what it is given:"),
        el("form", { id: "play-form", onsubmit: event => {
            event.preventDefault();
            playAgain(program);
        } },
        el("label", {}, program.invoked ? `arguments of ${program.invoked}` : "arguments",
            el("input", { id: "play-arguments", value: program.arguments.join(" "), spellcheck: "false" })),
        program.invoked ? "" : el("label", {}, "standard input",
            el("textarea", { id: "play-input", rows: "5", spellcheck: "false" }, isText)),
        el("button", { class: "primary", type: "submit" }, "Run")),
        el("p", { id: "play-figures", role: "status" }));
}

function playAgain(program) {
    const args = $("play-arguments").value.split(/\s+/).filter(word => word);
    if (!program.invoked) {
        const input = [...new TextEncoder().encode($("play-input").value)];
        beginAgain({ arguments: args, input, words: program.words });
        return;
    }
    if (program.parameters.some(type => type !== "i32") || args.length !== program.parameters.length ||
        !args.every(word => /^-?\d+$/.test(word) && Number(word) >= -(2 ** 31) && Number(word) < 2 ** 32)) {
        $("play-figures").textContent = "";
        say(`${program.invoked} takes ${program.parameters.length} numbers (${program.parameters.join(" ")}); ` +
            "in the page those of 32 bits can be changed, from -2^31 to 2^32 - 1");
        return;
    }
    const words = program.words.slice(0, program.words.length - args.length);
    beginAgain({ arguments: [], input: [], words: [...words, ...args.map(word => Number(word) >>> 0)] });
}

function showPlaygroundFigures() {
    const { figures } = page;
    $("play-figures").textContent = `${speedOf(figures)}, in ${figures.seconds.toFixed(3)} s; ` +
        `${ended(figures.ending)}`;
}

/* -- help ----------------------------------------------------------------------------------- */

function showHelp() {
    const keys = [["← →", "instruction before, next"], [", .", "token before, next"],
        ["s S", "to the next line, back"], ["n N", "over a line and what it calls, back"],
        ["o O", "out of the call, to who called"], ["b B", "on to a breakpoint, back"],
        ["space", "play"], ["w", "who wrote the value that is selected"], ["/", "search"],
        ["Home End", "first token that was said, last"]];
    const dialog = $("about");
    dialog.replaceChildren(
        el("h2", {}, "A run of a transformer, token by token"),
        el("p", {}, "Every token is a forward pass. The page shows what was said up to the token that is selected, ",
            "and the instruction that it belongs to: in C, in WebAssembly, in core instructions, in tokens. ",
            "The same weights as everywhere said them, here, in this page."),
        el("p", {}, "Click a value to see its past and who wrote it; double-click to go there. Click a line's ",
            "number for a breakpoint, double-click a line to run to it. A link to a token is in the address bar. ",
            "Slots are the residual stream behind which a token was said, by name, layer by layer."),
        el("table", {}, el("tbody", {}, ...keys.map(([key, text]) => el("tr", {},
            el("td", {}, ...key.split(" ").flatMap(one => [el("kbd", {}, one), " "])), el("td", {}, text))))),
        el("button", { class: "primary", onclick: () => dialog.close() }, "Close"));
    dialog.showModal();
}
