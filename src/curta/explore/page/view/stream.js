"use strict";
/* The page of a transcript: tokens of a language model, and modules between them. */

const stream = { data: null, list: null };

async function startStream() {
    startTheme(() => {});
    stream.data = await (await unpacked("payload")).json();
    const { data } = stream;
    $("title").textContent = data.title;
    $("search").hidden = $("help").hidden = true;
    const shown = [el("p", { class: "said prompt-text", "aria-label": "prompt" }, data.prompt.join(""))];
    const answer = el("div", { class: "said" });
    data.parts.forEach((part, number) => answer.append(...part.tokens
        ? part.tokens.map(token => tokenButton(token))
        : [moduleButton(part.module, number)]));
    shown.push(answer);
    if (data.verdict) shown.push(el("p", { class: "quiet" }, data.verdict));
    shown.push(legend());
    $("text").replaceChildren(...shown);
    stream.list = new List($("lines"), "lines");
    const first = answer.querySelector(".module") || answer.querySelector("button");
    if (first) first.click();
    document.body.dataset.run = "done";
}

function tokenButton(token) {
    return el("button", {
        class: `said-token ${token.who}`, "aria-label": `token ${JSON.stringify(token.text)}`,
        onclick: event => choose(event.currentTarget, () => showToken(token)),
    }, token.text === "\n" ? "⏎\n" : token.text);
}

function moduleButton(module) {
    return el("button", {
        class: "said-token module",
        onclick: event => choose(event.currentTarget, () => showModule(module)),
    }, `${module.name} · ${count(module.said)} tokens`);
}

function legend() {
    const words = { given: "given by the user", chosen: "chosen by the language model",
        answer: "the module's answer", module: "a module's tokens" };
    return el("p", { class: "quiet legend" }, ...Object.entries(words).flatMap(([name, text]) =>
        [el("span", { class: `said-token ${name}` }, text), " "]));
}

function choose(button, show) {
    for (const other of document.querySelectorAll(".said-token[aria-current]")) other.removeAttribute("aria-current");
    button.setAttribute("aria-current", "true");
    $("lines").hidden = true;
    show();
}

function showToken(token) {
    const who = { given: "The user began the answer with it.", answer: "It is the module's answer, put here by the host.",
        chosen: "The language model chose it; it might have said:" }[token.who];
    const rows = (token.others || []).map(([text, share]) => el("tr", {},
        el("th", { scope: "row" }, JSON.stringify(text)), el("td", {}, `${(100 * share).toFixed(2)} %`),
        el("td", {}, el("span", { class: "bar", style: `width: ${Math.round(160 * share)}px` }))));
    $("detail").replaceChildren(el("p", {}, el("code", {}, JSON.stringify(token.text))), el("p", {}, who),
        rows.length ? el("table", {}, el("tbody", {}, ...rows)) : "");
}

function showModule(module) {
    $("detail").replaceChildren(
        el("p", {}, el("strong", {}, module.name), " ", module.about),
        el("p", { class: "quiet" }, `${count(module.opening)} tokens open its context: ${module.opens}`),
        el("p", { class: "quiet" }, `${count(module.said)} were said behind these, by the weights of ${module.weights}:`));
    $("lines").hidden = false;
    stream.list.show(module.lines.length, n => el("div", { class: "line" }, module.lines[n]), 0);
}
