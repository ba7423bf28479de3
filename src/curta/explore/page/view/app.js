"use strict";
/* The page of a run: where it is, and what is shown of that. */

const page = {
    program: null, worker: null, waiting: new Map(), asked: 0,
    position: 0, later: null, view: null, figures: null, overview: null,
    breakLines: new Set(), breakCounters: new Set(), isPlaying: 0,
    memoryAt: null, selected: null, lists: {},
};

function ask(kind, given = {}) {
    const number = ++page.asked;
    page.worker.postMessage({ ...given, kind, number });
    return new Promise((resolve, reject) => page.waiting.set(number, { resolve, reject }));
}

/* -- where it is ---------------------------------------------------------------------------- */

async function go(position) {
    if (!page.figures || !(position >= 0)) return;
    position = Math.max(0, Math.min(Math.round(position), page.figures.length - 1));
    page.position = position;
    drawScrubber();
    if (page.isBusy) { // the latest is shown when the answer is there
        page.wanted = position;
        return;
    }
    page.isBusy = true;
    try {
        const view = await ask("view", { position, memory: memoryWindow() });
        if (position === page.position || page.isPlaying) show(view);
    } finally {
        page.isBusy = false;
    }
    if (page.wanted !== undefined) {
        const wanted = page.wanted;
        page.wanted = undefined;
        if (wanted !== position) await go(wanted);
    }
    if (!page.isPlaying) remember();
}

function remember() {
    const hash = `#token=${page.position}`;
    if (location.hash !== hash) history.replaceState(null, "", hash);
}

async function walk(way, back = false, more = {}) {
    stopPlaying();
    const found = await ask("go", {
        position: page.position, way, back, lines: [...page.breakLines],
        counters: [...page.breakCounters], ...more,
    });
    if (found < 0) say(back ? "There is nothing like that before." : notAgain(way));
    else await go(found);
}

function notAgain(way) {
    const rest = page.figures.isDone ? "" : " so far: the run goes on";
    return way === "breakpoint" && !page.breakLines.size && !page.breakCounters.size
        ? "There are no breakpoints: click a line's number." : `That does not come again${rest}.`;
}

function say(text) {
    $("status").textContent = text;
    $("status").classList.add("shown");
    clearTimeout(say.timer);
    say.timer = setTimeout(() => $("status").classList.remove("shown"), 4000);
}

/* -- what is shown -------------------------------------------------------------------------- */

function show(view) {
    page.view = view;
    drawScrubber();
    showWhere();
    showSource();
    showWasm();
    showCore();
    showSteps();
    showRegisters();
    showVariables();
    showStack();
    showMemory(view.memory);
    showOutput();
    if (!page.isPlaying) {
        showLook();
        if (page.selected) showValueNow();
    }
}

function showLook() {
    showToken();
    showSlots();
}

function showWhere() {
    const { view, figures, program } = page, { instructions } = program;
    const line = instructions.line[view.counter];
    const file = line ? `${program.sources[instructions.file[view.counter]].name}:${line}` : "";
    const parts = [`token ${count(view.position)} of ${count(figures.length)}`];
    if (view.inPrompt) parts.push("the prompt: the program");
    else parts.push(`instruction ${count(view.step)} of ${count(figures.steps)}`);
    const name = program.functions[instructions.function[view.counter]];
    if (name) parts.push(`in ${name}`);
    if (file) parts.push(file);
    $("where").replaceChildren(
        el("span", {}, parts.join(" · ")),
        el("span", { class: "figures" }, rate(figures)),
    );
}

function rate(figures) {
    const state = figures.isDone ? ended(figures.ending) : "running";
    return `${state} · ${speedOf(figures)}`;
}

/* How fast the engine said it; of a short run that is nothing but chance. */
function speedOf({ length, promptLength, seconds }) {
    const said = length - promptLength, speed = said / Math.max(seconds, 1e-6) / 1e6;
    return said < 200000 ? `${count(said)} tokens said in this page`
        : `${count(said)} tokens said in this page, ${speed.toFixed(1)} million a second`;
}

function ended(ending) {
    return ending === "done" ? "the program is done"
        : ending === "exit" ? "the program ended itself" : ending;
}

/* -- the run -------------------------------------------------------------------------------- */

function told({ data }) {
    if (data.kind === "answer") {
        page.waiting.get(data.number).resolve(data.answer);
        page.waiting.delete(data.number);
    } else if (data.kind === "failed") {
        const waiting = page.waiting.get(data.number);
        if (waiting) waiting.reject(new Error(data.message));
        fatal(data.message);
    } else {
        progress(data);
    }
}

async function progress(figures) {
    const isFirst = page.figures === null;
    page.figures = figures;
    document.body.dataset.run = figures.isDone ? "done" : "running";
    const overview = await ask("overview");
    page.overview = overview;
    $("scrubber").setAttribute("aria-valuemax", String(figures.length - 1));
    if (isFirst) {
        page.prompt = await ask("tokens", { first: 0, count: figures.promptLength });
        if (!slotsShown.known) await prepareSlots();
        const wanted = linked() ?? figures.promptLength;
        page.later = wanted < figures.length || figures.isDone ? null : wanted;
        await go(wanted);
    } else {
        drawScrubber();
        if (page.view) showWhere();
        if (page.view) showOutput();
    }
    if (figures.isDone) {
        if (page.later !== null) await go(page.later); // it was not said yet when the page opened
        page.later = null;
        showPlaygroundFigures();
    }
}

function linked() {
    const match = /token=(\d+)/.exec(location.hash);
    return match ? Number(match[1]) : null;
}

/* What a run is given besides its program. */
function givenBy(program) {
    const { words, input } = program;
    return { words, input, arguments: program.invoked ? [] : program.arguments };
}

function beginAgain(next) {
    stopPlaying();
    page.figures = null;
    page.selected = null;
    history.replaceState(null, "", "#");
    page.worker.postMessage({ kind: "begin", given: next });
}

async function start() {
    startTheme(() => {
        drawScrubber();
        if (page.view) show(page.view);
    });
    try {
        const [program, engine] = await Promise.all(["payload", "engine"].map(unpacked));
        page.program = await program.json();
        const bytes = await engine.arrayBuffer();
        $("title").textContent = page.program.title;
        prepare(page.program);
        const source = new Blob([$("worker").textContent], { type: "text/javascript" });
        page.worker = new Worker(URL.createObjectURL(source));
        page.worker.onmessage = told;
        page.worker.onerror = event => fatal(event.message);
        page.worker.postMessage({
            kind: "load", program: page.program, engine: bytes,
            given: givenBy(page.program),
        }, [bytes]);
    } catch (error) {
        fatal(`This page could not be started: ${error.message}`);
        throw error;
    }
}

/* What is made once. */
function prepare(program) {
    prepareCode(program);
    prepareControls();
    prepareScrubber();
    preparePlayground(program);
    const hasSource = program.sources.length > 0;
    $("source-panel").hidden = !hasSource;
    $("grid").classList.toggle("no-source", !hasSource);
    page.chooseLook = tabs($("look-panel"), { token: "Token", slots: "Slots", value: "Value" }, "token");
    page.chooseState = tabs($("registers-panel"),
        { variables: "Variables", registers: "Registers", stack: "Calls" },
        hasSource ? "variables" : "registers");
    page.chooseOutput = tabs($("output-panel"),
        { output: "Output", playground: "Playground" }, "output");
    for (const id of ["look-panel", "registers-panel", "output-panel"])
        $(id).addEventListener("shown", () => page.view && id === "look-panel" && showLook());
    prepareMemory(program);
    window.addEventListener("hashchange", () => linked() !== null && go(linked()));
    window.addEventListener("resize", drawScrubber);
}
