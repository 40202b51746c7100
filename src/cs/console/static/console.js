"use strict";
// Live pages, plots, the reader's time zone, and the keyboard.  Every fact is in the page without.

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)$/;

function localTimes(root) {
  for (const cell of root.querySelectorAll("td, dd")) {
    const text = cell.textContent.trim();
    if (cell.childElementCount === 0 && ISO.test(text)) {
      cell.title = text;
      cell.textContent = new Date(text).toLocaleString();
    }
  }
}

const COLOURS = ["#2a78d6", "#12876f", "#d1432b", "#b97a00", "#7b8494", "#8a4fbf"];

const drawn = [];

function plots(root) {
  for (const plot of drawn.splice(0)) plot.destroy();
  for (const figure of root.querySelectorAll("[data-plot]")) {
    const { names, data } = JSON.parse(figure.dataset.plot);
    if (!names.length || data[0].length < 2 || !data.slice(1).flat().some(Boolean)) continue;
    const ink = getComputedStyle(document.body).color;
    const axis = { stroke: ink, grid: { stroke: "#8884", width: 1 } };
    const width = Math.max(280, document.querySelector("main").clientWidth - 40);
    drawn.push(new uPlot({
      width, height: 180, cursor: { drag: { x: false, y: false } },
      series: [{}, ...names.map((label, n) => ({ label, stroke: COLOURS[n % COLOURS.length], width: 2, spanGaps: true }))],
      axes: [axis, axis],
    }, data, figure));
  }
}

function prepare(root) {
  localTimes(root);
  plots(root);
  for (const range of root.querySelectorAll("input[type=range]")) {
    range.addEventListener("input", () => { range.parentElement.querySelector("output").value = range.value; });
    range.addEventListener("change", () => range.form.submit());
  }
}

// A live page is sent again whenever it shows something else, while it is looked at.
let stream, sent, mark = document.querySelector("meta[name=mark]")?.content;
function show() {
  const main = document.querySelector("[data-live]");
  const busy = document.querySelector("details.action[open], dialog[open], tr.here");
  if (!sent || !main || busy || main.contains(document.activeElement.closest("input, select"))) return;
  htmx.swap(main, sent, { swapStyle: "outerHTML" });
  sent = null;
}

function live() {
  stream?.close();
  if (document.hidden || !document.querySelector("[data-live]")) return;
  stream = new EventSource(location.href);
  stream.onmessage = (event) => {
    document.body.classList.remove("stale");
    if (event.lastEventId === mark) return;
    [mark, sent] = [event.lastEventId, event.data];
    show();
  };
  // A browser gives up for good at an answer that is no stream, such as 503.
  stream.onerror = () => {
    document.body.classList.add("stale");
    stream.close();
    setTimeout(live, 3000);
  };
}
setInterval(show, 1000);
addEventListener("pagehide", () => stream?.close());
document.addEventListener("visibilitychange", live);

function rows() { return [...document.querySelectorAll("main tbody tr")]; }

let afterG = false;
function onKey(event) {
  if (event.key === "Escape") document.querySelector("tr.here")?.classList.remove("here");
  if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (afterG) {
    afterG = false;
    const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
    if (link) link.click();
    return;
  }
  const all = rows();
  const at = all.findIndex((row) => row.classList.contains("here"));
  const move = { j: 1, k: -1 }[event.key];
  if (event.key === "g") afterG = true;
  else if (event.key === "?") document.getElementById("help").showModal();
  else if (event.key === "/") { event.preventDefault(); document.querySelector(".find input").focus(); }
  else if (event.key === "Enter" && at >= 0 && event.target === document.body) {
    const link = all[at].querySelector("a");
    if (link) link.click();
  } else if (move && all.length) {
    const next = Math.min(Math.max(at + move, 0), all.length - 1);
    if (at >= 0) all[at].classList.remove("here");
    all[next].classList.add("here");
    all[next].scrollIntoView({ block: "nearest" });
  }
}

document.addEventListener("keydown", onKey);
document.addEventListener("DOMContentLoaded", () => { prepare(document); live(); });
document.addEventListener("htmx:afterSettle", () => {
  prepare(document.querySelector("main"));
  if (!document.querySelector("[data-live]")) stream?.close();
});
// Work that failed is shown where its result is waited for; a live page stays as it is.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (!document.querySelector("[data-live]")) event.detail.shouldSwap = true;
});
