"use strict";
/* The whole run on one line: how deep calls go, the function by its colour, output as dots. */

function prepareScrubber() {
    const canvas = $("scrubber");
    const move = event => {
        const box = canvas.getBoundingClientRect();
        const part = Math.max(0, Math.min(1, (event.clientX - box.left) / box.width));
        stopPlaying();
        go(positionAt(part));
    };
    canvas.addEventListener("pointerdown", event => {
        if (!page.figures) return;
        canvas.setPointerCapture(event.pointerId);
        move(event);
        canvas.onpointermove = move;
    });
    canvas.addEventListener("pointerup", () => { canvas.onpointermove = null; });
    canvas.addEventListener("keydown", event => {
        const step = { PageUp: -0.02, PageDown: 0.02 }[event.key];
        if (!step) return;
        event.preventDefault();
        go(page.position + step * page.figures.length);
    });
}

/* The prompt takes as much room as its tokens, but a twelfth at most. */
const MOST_PROMPT = 1 / 12;

function promptPart() {
    const { length, promptLength } = page.figures;
    return Math.min(promptLength / length, MOST_PROMPT);
}

function partAt(position) {
    const { length, promptLength } = page.figures, prompt = promptPart();
    if (position < promptLength) return prompt * position / promptLength;
    return prompt + (1 - prompt) * (position - promptLength) / Math.max(1, length - promptLength);
}

function positionAt(part) {
    const { length, promptLength } = page.figures, prompt = promptPart();
    if (part < prompt) return part / prompt * promptLength;
    return Math.min(length - 1, promptLength + (part - prompt) / (1 - prompt) * (length - promptLength));
}

function colourOf(name, dark) {
    let hash = 7;
    for (const letter of name) hash = (hash * 31 + letter.charCodeAt(0)) % 3600;
    return dark ? `hsl(${hash / 10} 42% 52%)` : `hsl(${hash / 10} 45% 62%)`;
}

function drawScrubber() {
    const canvas = $("scrubber"), { figures, overview, program } = page;
    if (!canvas || !figures || !overview) return;
    const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const dark = document.documentElement.dataset.theme === "dark";
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const total = figures.length, at = position => partAt(position) * width;
    const { functions, depths, promptLength, piece } = overview;
    context.fillStyle = style.getPropertyValue("--prompt");
    context.fillRect(0, 0, at(promptLength), height - 8);
    const deepest = Math.max(4, depths.reduce((most, depth) => Math.max(most, depth), 0));
    const colours = program.functions.map(name => colourOf(name, dark));
    for (let x = Math.floor(at(promptLength)); x < width; x++) {
        const n = Math.floor((positionAt(x / width) - promptLength) / piece);
        if (n < 0 || n >= functions.length) continue;
        const tall = 6 + (height - 16) * Math.min(1, (depths[n] + 1) / (deepest + 1));
        context.fillStyle = colours[functions[n]] || colours[0];
        context.fillRect(x, height - 8 - tall, 1, tall);
    }
    context.fillStyle = style.getPropertyValue("--accent");
    let last = -9;
    for (const position of overview.output.at) {
        const x = Math.floor(at(position));
        if (x - last > 1) context.fillRect(last = x, height - 5, 2, 3);
    }
    const x = at(page.position);
    context.fillStyle = style.getPropertyValue("--text");
    context.fillRect(x - 1, 0, 2, height);
    context.beginPath();
    context.moveTo(x - 6, 0);
    context.lineTo(x + 6, 0);
    context.lineTo(x, 8);
    context.fill();
    canvas.setAttribute("aria-valuenow", String(page.position));
    canvas.setAttribute("aria-valuetext", `token ${count(page.position)} of ${count(total)}`);
}
