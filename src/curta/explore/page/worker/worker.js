"use strict";
/* The worker: it makes the run, and answers what the page asks, in the order of asking. */

let run = null, answers = null, lastTold = 0;

function figures(isDone) {
    return {
        kind: "progress", isDone, length: run.length, promptLength: run.promptLength,
        steps: run.follower.steps, seconds: run.seconds, ending: run.ending,
    };
}

async function begin(given) {
    await run.begin(given, isDone => {
        const now = performance.now();
        if (!isDone && now - lastTold < 50) return;
        lastTold = now;
        postMessage(figures(isDone));
    });
}

self.onmessage = async ({ data }) => {
    try {
        if (data.kind === "load") {
            run = new Run(data.program, await WebAssembly.compile(data.engine));
            answers = new Answers(run);
            begin(data.given).catch(fail);
        } else if (data.kind === "begin") {
            begin(data.given).catch(fail);
        } else {
            postMessage({ kind: "answer", number: data.number, answer: answers[data.kind](data) });
        }
    } catch (error) {
        fail(error, data.number);
    }
};

function fail(error, number) {
    postMessage({ kind: "failed", number, message: String(error && error.stack || error) });
}
