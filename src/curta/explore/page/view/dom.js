"use strict";
/* Elements, and lists of which only the rows are made that can be seen. */

function el(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    if (tag === "button") element.type = "button"; // in a form it would be what Enter presses
    for (const [name, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (name === "class") element.className = value;
        else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter(child => child !== null && child !== undefined));
    return element;
}

function svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes))
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else element.setAttribute(name, value);
    element.append(...children);
    return element;
}

const $ = id => document.getElementById(id);
const count = number => number.toLocaleString("en");
const hexadecimal = (number, digits = 0) => `0x${number.toString(16).padStart(digits, "0")}`;
const signed = word => word >= 2147483648 ? word - 4294967296 : word;

/* A button that leads to a token. */
function jump(position, text = count(position), title = `token ${count(position)}`) {
    return el("button", { class: "link", title, onclick: () => go(position) }, text);
}

/* Rows of equal height. `row(n)` makes one. */
class List {
    constructor(box, label) {
        this.box = box;
        this.inside = el("div", { class: "rows" });
        box.replaceChildren(this.inside);
        this.count = 0;
        this.row = () => el("div");
        this.key = null;
        box.addEventListener("scroll", () => this.draw());
        new ResizeObserver(() => this.draw()).observe(box);
    }

    get height() {
        return this.rowHeight || (this.rowHeight =
            parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 20);
    }

    /* Show other rows; `at` is one that should be seen. */
    show(count, row, at = -1, key = null) {
        const isNew = key === null || key !== this.key;
        this.key = key;
        this.count = count;
        this.row = row;
        this.inside.style.height = `${count * this.height}px`;
        if (at >= 0) this.reveal(at, isNew);
        this.draw();
    }

    reveal(at, isNew) {
        const { box } = this, top = at * this.height, room = box.clientHeight;
        const margin = Math.min(3 * this.height, room / 4);
        if (isNew || top < box.scrollTop + margin || top > box.scrollTop + room - margin - this.height)
            box.scrollTop = top - room / 2.6;
    }

    draw() {
        const first = Math.max(0, Math.floor(this.box.scrollTop / this.height) - 4);
        const most = Math.ceil(this.box.clientHeight / this.height) + 8;
        const rows = [];
        for (let n = first; n < Math.min(this.count, first + most); n++) {
            const row = this.row(n);
            row.classList.add("row");
            row.style.top = `${n * this.height}px`;
            rows.push(row);
        }
        this.inside.replaceChildren(...rows);
    }
}

/* Tabs: one of several panels in a place. */
function tabs(panel, names, chosen) {
    const bar = panel.querySelector(".tabs"), bodies = Object.keys(names).map($);
    const choose = name => {
        for (const body of bodies) {
            body.hidden = body.id !== name;
            const tab = $(`tab-${body.id}`);
            tab.setAttribute("aria-selected", String(body.id === name));
            tab.tabIndex = body.id === name ? 0 : -1;
        }
        panel.dispatchEvent(new CustomEvent("shown", { detail: name }));
    };
    bar.replaceChildren(...Object.entries(names).map(([name, text]) => el("button", {
        id: `tab-${name}`, role: "tab", "aria-controls": name, onclick: () => choose(name),
        onkeydown: event => {
            const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
            if (!step) return;
            event.stopPropagation();
            const ids = Object.keys(names);
            const next = ids[(ids.indexOf(name) + step + ids.length) % ids.length];
            choose(next);
            $(`tab-${next}`).focus();
        },
    }, text)));
    choose(chosen);
    return choose;
}
