"use strict";
/* The page of a small model: tokens with arcs, attention of a head as a matrix, the residual stream
   of a position as a table, the scores behind it. */

const graph = { data: null, position: 0, head: 0 };

async function startGraph() {
    startTheme(() => showGraph());
    graph.data = await (await unpacked("payload")).json();
    const { data } = graph;
    $("title").textContent = `${data.title} · ${data.about}`;
    $("search").hidden = true;
    $("controls").replaceChildren(
        el("button", { "aria-label": "token before (←)", id: "go-before", onclick: () => at(graph.position - 1) }, "◀"),
        el("button", { "aria-label": "next token (→)", id: "go-next", onclick: () => at(graph.position + 1) }, "▶"));
    $("help").addEventListener("click", graphHelp);
    document.addEventListener("keydown", event => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
        const turn = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (step) at(graph.position + step);
        if (turn) chooseHead(graph.head + turn);
        if (step || turn) event.preventDefault();
        if (event.key === "?") graphHelp();
    });
    window.addEventListener("hashchange", () => at(linkedToken()));
    window.addEventListener("resize", () => showGraph());
    const first = data.heads.findIndex(head => head.kind === "retrieve");
    graph.head = Math.max(0, first);
    graph.position = linkedToken();
    showGraph();
    document.body.dataset.run = "done";
}

function linkedToken() {
    const match = /token=(\d+)/.exec(location.hash), { data } = graph;
    return Math.max(0, Math.min(match ? Number(match[1]) : data.given, data.tokens.length - 1));
}

function at(position) {
    graph.position = Math.max(0, Math.min(position, graph.data.tokens.length - 1));
    history.replaceState(null, "", `#token=${graph.position}`);
    showGraph();
}

function chooseHead(number) {
    const { heads } = graph.data;
    if (!heads.length) return;
    graph.head = Math.max(0, Math.min(number, heads.length - 1));
    showGraph();
}

const HUES = [212, 28, 152, 300, 262, 0, 180, 55];

function headColour(number) {
    const dark = document.documentElement.dataset.theme === "dark";
    return `hsl(${HUES[number % HUES.length]} 65% ${dark ? 68 : 38}%)`;
}

/* The token that is chosen was said behind the one before it: that one's heads fetched for it. */
function asker() {
    return Math.max(0, graph.position - 1);
}

function showGraph() {
    showStrip();
    showHeads();
    showMatrix();
    showScores();
    showStream();
}

function showStrip() {
    const { data, position } = graph, names = data.tokens.map(token => data.vocabulary[token]);
    const widths = names.map(name => Math.max(24, 8 * name.length + 14));
    const starts = [];
    let total = 8;
    for (const width of widths) {
        starts.push(total);
        total += width + 4;
    }
    const middle = n => starts[n] + widths[n] / 2, base = 118, from = asker();
    const picture = svg("svg", { width: total + 8, height: 168, role: "img",
        "aria-label": `arcs from token ${from} to what its heads fetched` });
    for (const { head, number, to, share } of attended(from)) {
        const x = middle(from), y = middle(to), isChosen = number === graph.head;
        const tall = to === from ? 30 : Math.min(96, 24 + Math.abs(x - y) * 0.35);
        const path = to === from
            ? `M${x - 7},${base} C${x - 16},${base - tall} ${x + 16},${base - tall} ${x + 7},${base}`
            : `M${x},${base} C${x},${base - tall * 1.3} ${y},${base - tall * 1.3} ${y},${base}`;
        const arc = svg("path", { d: path, class: "arc", stroke: headColour(number),
            "stroke-opacity": (isChosen ? 1 : 0.55) * Math.max(0.15, share), "stroke-width": isChosen ? 2.6 : 1.4,
            onclick: () => chooseHead(number) });
        arc.append(svg("title", {}, `${head.name} (layer ${head.layer}): token ${to}${
            head.kind === "soft" ? `, ${percent(share)}` : ""}`));
        picture.append(arc);
    }
    names.forEach((name, n) => {
        const box = svg("g", { class: `token${n === position ? " chosen" : ""}${n < data.given ? " given" : ""}`,
            onclick: () => at(n) });
        box.append(svg("rect", { x: starts[n], y: base, width: widths[n], height: 24, rx: 4 }),
            svg("text", { x: middle(n), y: base + 16, "text-anchor": "middle" }, name),
            svg("text", { x: middle(n), y: base + 38, "text-anchor": "middle", class: "tick" }, String(n)));
        picture.append(box);
    });
    const strip = $("strip"), scrolled = strip.scrollLeft;
    strip.replaceChildren(picture, el("p", { class: "quiet" },
        `${data.given} tokens are given, ${data.tokens.length - data.given} said; the answer: `,
        el("strong", {}, data.answer), ` · ${data.certificate}`));
    strip.tabIndex = 0;
    strip.scrollLeft = scrolled;
    const x = middle(position);
    if (x < scrolled + 60 || x > scrolled + strip.clientWidth - 60) strip.scrollLeft = x - strip.clientWidth / 2;
}

/* Where arcs lead: of a head that shares its attention the largest share, and of the chosen one all
   that can be seen. */
function attended(from) {
    return graph.data.heads.flatMap((head, number) => {
        if (head.kind === "mean") return [];
        if (head.kind === "retrieve") return [{ head, number, to: head.at[from], share: 1 }];
        return largest(head.weights[from], number === graph.head ? from + 1 : 1)
            .filter(([, share]) => share >= 0.02)
            .map(([to, share]) => ({ head, number, to, share }));
    });
}

function largest(shares, count) {
    return [...shares.entries()].sort((one, other) => other[1] - one[1]).slice(0, count);
}

function percent(share) {
    return `${(100 * share).toLocaleString("en", { maximumFractionDigits: share < 0.1 ? 2 : 1 })}%`;
}

function showSoftHeads() {
    const { data } = graph, from = asker();
    $("heads").replaceChildren(el("table", {},
        el("thead", {}, el("tr", {}, ...["layer", "head", "attends to"].map(text => el("th", { scope: "col" }, text)))),
        el("tbody", {}, ...data.heads.map((head, number) => el("tr", { class: number === graph.head ? "new" : "" },
            el("td", { class: "quiet" }, String(head.layer)),
            el("td", {}, el("button", { class: "link", "aria-pressed": String(number === graph.head),
                onclick: () => chooseHead(number) }, head.name)),
            el("td", {}, ...largest(head.weights[from], 3).flatMap(([to, share]) => [
                el("button", { class: "link", onclick: () => at(to) }, `${data.vocabulary[data.tokens[to]]} at ${to}`),
                ` ${percent(share)}  `])))))));
}

function showHeads() {
    const { data } = graph, from = asker();
    $("h-heads").textContent = `Heads · asked by token ${from}, for token ${graph.position}`;
    if (isLearned()) {
        showSoftHeads();
        return;
    }
    const rows = data.heads.map((head, number) => {
        const isMean = head.kind === "mean", to = head.at[from];
        return el("tr", { class: number === graph.head ? "new" : "" },
            el("td", {}, el("button", { class: "link", "aria-pressed": String(number === graph.head),
                onclick: () => chooseHead(number) }, head.name)),
            el("td", { class: "quiet" }, String(head.layer)),
            el("td", {}, isMean ? `all ${from + 1}` : el("button", { class: "link", onclick: () => at(to) },
                `${data.vocabulary[data.tokens[to]]} at ${to}`)),
            el("td", {}, head.got[from].map((value, n) => `${head.values[n]}: ${value}`).join(", ")),
            el("td", { class: "quiet" }, isMean ? "a mean" : head.margin[from] < 0 ? "the only one"
                : head.margin[from].toLocaleString("en")));
    });
    $("heads").replaceChildren(rows.length ? el("table", {}, el("thead", {}, el("tr", {},
        ...["head", "layer", "attends to", "gets", "margin to the second best"].map(text =>
            el("th", { scope: "col" }, text)))), el("tbody", {}, ...rows))
        : el("p", { class: "quiet" }, "This model has no heads."));
}

function showMatrix() {
    const { data } = graph, head = data.heads[graph.head], canvas = $("matrix");
    canvas.hidden = !head;
    if (!head) return;
    const size = data.tokens.length;
    const room = Math.max(160, Math.min(canvas.parentElement.clientWidth - 24, canvas.parentElement.clientHeight - 56));
    const cell = Math.max(1, Math.floor(room / size)), side = cell * size, ratio = devicePixelRatio || 1;
    Object.assign(canvas, { width: side * ratio, height: side * ratio });
    canvas.style.width = canvas.style.height = `${side}px`;
    const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = style.getPropertyValue("--back");
    context.fillRect(0, 0, side, side);
    for (let row = 0; row < size; row++) {
        const isAsking = row === asker(), isSoft = head.kind === "soft";
        context.fillStyle = style.getPropertyValue(isAsking && !isSoft ? "--here" : "--chip");
        context.fillRect(0, row * cell, (row + 1) * cell, cell);
        context.fillStyle = headColour(graph.head);
        if (head.kind === "mean") {
            context.globalAlpha = Math.max(0.06, 1 / (row + 1));
            context.fillRect(0, row * cell, (row + 1) * cell, cell);
            context.globalAlpha = 1;
        } else if (head.kind === "soft") {
            head.weights[row].forEach((share, column) => {
                context.globalAlpha = share;
                context.fillRect(column * cell, row * cell, cell, cell);
            });
            context.globalAlpha = 1;
            context.strokeStyle = style.getPropertyValue("--text");
            if (isAsking) context.strokeRect(0.5, row * cell + 0.5, (row + 1) * cell - 1, cell - 1);
        } else {
            context.fillRect(head.at[row] * cell, row * cell, cell, cell);
        }
    }
    canvas.onclick = event => {
        const box = canvas.getBoundingClientRect();
        at(Math.floor((event.clientY - box.top) / cell) + 1);
    };
    const name = head.kind === "soft" ? `layer ${head.layer}, ${head.name}` : head.name;
    canvas.setAttribute("aria-label", `attention of ${name}: ${size} by ${size}`);
    $("h-matrix").textContent = `Attention · ${name}`;
    $("matrix-note").textContent = head.kind === "mean" ? "every row attends to all before it, equally: a mean"
        : head.kind === "soft" ? "a row for each token that asks, a column for each that is looked at; the stronger the colour, the more"
        : "a row for each token that asks; softmax gives one position all the weight, exactly";
}

function showScores() {
    const { data } = graph, from = asker(), scores = data.scores[from];
    const low = Math.min(...scores.map(([, score]) => score)), high = scores[0][1];
    const isSaid = graph.position >= data.given;
    $("h-scores").textContent = `${isLearned() ? "Probabilities" : "Scores"} · behind token ${from}`;
    $("scores").replaceChildren(
        el("p", { class: "lead" }, isSaid ? isLearned() ? "Said: the most probable." : "Said: the highest score." : "Given: what would have been said here."),
        el("table", {}, el("tbody", {}, ...scores.map(([token, score], n) => el("tr", {
            class: isSaid && token === data.tokens[graph.position] ? "new" : "",
        },
        el("th", { scope: "row" }, data.vocabulary[token]),
        el("td", {}, isLearned() ? percent(score) : score.toLocaleString("en")),
        isLearned() ? null : el("td", { class: "quiet" }, n ? `${(high - score).toLocaleString("en")} behind` : "first"),
        el("td", { class: "wide" }, el("span", { class: "bar",
            style: `width:${isLearned() ? 100 * score : high > low ? 4 + 96 * (score - low) / (high - low) : 100}%` })))))));
}

function showStream() {
    const { data } = graph, from = asker(), shown = data.periods.map((_, period) => period);
    const table = residualTable(data, shown, (period, slot) => data.streams[period][from][slot], !isLearned());
    if (isLearned()) table.tBodies[0].prepend(el("tr", {}, el("th", { scope: "row" }, "read out here"),
        ...data.early.map(period => el("td", {},
            `${data.vocabulary[period[from][0]]} ${percent(period[from][1])}`))));
    const name = data.vocabulary[data.tokens[from]];
    $("h-stream").textContent = `Residual stream · token ${from} (${name}), ${isLearned() ? "feature by feature, layer by layer" : "slot by slot, half layer by half layer"}`;
    $("stream").replaceChildren(table);
}

/* Of a trained model, not of a compiled one: its heads share their attention. */
function isLearned() {
    return graph.data.heads.some(head => head.kind === "soft");
}

function graphHelp() {
    const dialog = $("about");
    dialog.replaceChildren(
        el("h2", {}, `A ${isLearned() ? "trained" : "compiled"} transformer, looked at`),
        el("p", {}, "A token is said behind the one before it. The arcs show which positions the heads of that one ",
            "fetched; the matrix shows one head for all tokens; the table shows every slot of its residual stream by ",
            "the name that the compiler gave it, as long as it lives (a trained one has features without names); the ",
            "scores, or probabilities, are those of the unembedding."),
        el("p", {}, el("kbd", {}, "←"), " ", el("kbd", {}, "→"), " tokens, ", el("kbd", {}, "↑"), " ",
            el("kbd", {}, "↓"), " heads."),
        el("button", { class: "primary", onclick: () => dialog.close() }, "Close"));
    dialog.showModal();
}
