"use strict";
/* A residual stream as a table: a row for each slot, a column for each period that is shown. */

/* `value(period, slot)` is a number; features of trained models have no names, and live on. */
function residualTable({ slots, periods }, shown, value, isNamed = true) {
    const head = [...isNamed ? ["slot", "what", "lives"] : ["feature"],
        ...shown.map(period => periods[period].replace("attention", "attn").replace("feed-forward", "ff"))];
    const cell = (slot, period) => {
        if (period < slot.first || period > slot.last) return el("td", { class: "dead" }, "·");
        const now = value(period, slot.slot);
        const isNew = period === slot.first || !Object.is(now, value(period - 1, slot.slot));
        return el("td", { title: String(now), class: isNamed && isNew ? "changed" : null }, short(now));
    };
    const rows = slots.map(slot => el("tr", {},
        isNamed ? el("td", { class: "quiet" }, String(slot.slot)) : null,
        el("th", { scope: "row", title: isNamed ? `${slot.name}: ${slot.owners}` : null }, isNamed ? slot.name : String(slot.slot)),
        isNamed ? el("td", { class: "quiet" }, `${slot.first}–${slot.last}`) : null,
        ...shown.map(period => cell(slot, period))));
    return el("table", { class: "stream" },
        el("thead", {}, el("tr", {}, ...head.map(text => el("th", { scope: "col" }, text)))),
        el("tbody", {}, ...rows));
}

/* Constants that round are long; where nothing was filed under a key, attention finds anything. */
function short(value) {
    if (Number.isNaN(value)) return "anything";
    return Math.abs(value) < 1e9 ? value.toLocaleString("en") : value.toExponential(3);
}
