// "as of 3 s ago": how old what the page shows is, and why it grew old. [data-age] elements say it; while it is stale
// the document carries data-stale and #stale-why the reason. Nothing on a page is green from a dead watcher.
import { duration } from "./when.js";

const holder = () => document.querySelector("[data-age]");
const root = document.querySelector("[data-live-socket]");
const tick = Number(root?.dataset.liveTick ?? 2);
// A page must say within 5 s that nobody looks any more: two missed looks and a little, at the default tick of 2 s.
const patience = tick * 2.25;
const now = () => performance.now() / 1000;

let seen = holder()?.dataset.age ? now() - Number(holder().dataset.age) : null;
let heard = now();
let problem = holder()?.dataset.problem ?? "";
let down = false;
let joined = false;
let gap = false;
let over = "";

// While it is being created there is nothing to answer yet; its steps say how far it is.
const young = () => holder()?.dataset.young === "1";

function why() {
  if (over) return over;
  if (down) return "The connection to the console is lost. The page tries again by itself.";
  if (now() - heard > patience) return "The watcher has not reported: it, the database or Redis may be down. The page goes on by itself once it is back.";
  return problem && !young() ? `The cluster did not answer: ${problem}` : "";
}

function show() {
  const watched = holder()?.dataset.watched === "1";
  if (!holder() || (!watched && !down && !over)) return;
  const reason = why();
  const stale = Boolean(reason);
  for (const element of document.querySelectorAll("[data-age]")) {
    element.classList.toggle("stale", stale);
    element.textContent = seen === null ? (stale ? "never seen" : "waiting for the first look") : `as of ${duration(now() - seen)} ago`;
    element.title = reason || "Looked at every few seconds";
  }
  const live = document.getElementById("live");
  live.hidden = false;
  live.classList.remove("still");
  live.classList.toggle("stale", stale);
  live.textContent = over ? "ended" : down ? "reconnecting" : stale ? "stale" : joined ? "live" : "connecting";
  live.title = reason || "Changes appear by themselves";
  document.documentElement.toggleAttribute("data-stale", stale);
  const strip = document.getElementById("stale-why");
  if (strip) {
    strip.hidden = !stale;
    const text = strip.querySelector("[data-why]");
    if (text.textContent !== reason) text.textContent = reason;
  }
  gap ||= stale && !problem;
}

export const mark = {
  // A message of the watcher. True when the page may have missed something before it.
  heard(message) {
    const missed = gap;
    heard = now();
    problem = message.problem ?? "";
    if (!problem || young()) seen = now();
    gap = false;
    show();
    return missed;
  },
  opened() {
    joined = true;
    down = false;
    heard = now();
    show();
  },
  lost() {
    down = true;
    show();
  },
  ended(reason) {
    over = reason;
    show();
  },
};

if (root) setInterval(show, 500);
document.addEventListener("live:swapped", show);
show();
