"use strict";
/* What a page carries, unpacked. */

async function unpacked(id) {
    const bytes = Uint8Array.from(atob($(id).textContent.trim()), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream);
}

function chosenTheme() {
    try {
        return localStorage.getItem("curta-theme");
    } catch {
        return null; // a page from a file may have no storage
    }
}

function showTheme(theme) {
    const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function startTheme(redraw) {
    showTheme(chosenTheme());
    $("theme").addEventListener("click", () => {
        const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
        try {
            localStorage.setItem("curta-theme", theme);
        } catch {
            // then it holds as long as the page does
        }
        showTheme(theme);
        redraw();
    });
}

function fatal(message) {
    $("main").prepend(el("p", { class: "fatal", role: "alert" }, message));
}
