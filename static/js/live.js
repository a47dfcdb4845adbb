// A cluster's page, kept true. <body-part data-live-socket="/ws/..." data-live-tick="2"> names the socket.
// Messages: {fragments: [{id, html}], refresh: [names], at, problem}. Fragments are swapped by id; elements with
// data-live="jobs" (and an id) fetch themselves again when their name is in `refresh`, and all of them after every
// gap: what was missed meanwhile is then on screen. They come from their own data-src or hx-get (asked with X-Live,
// so that a view may answer with the region alone), else from the page's address.
import { mark } from "./age.js";
import { morph } from "./morph.js";

const root = document.querySelector("[data-live-socket]");
const waiting = new Map();
let busy = false;
let wait = 500;

const parse = (html) => {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
};
// Logs that are read from their end ([data-stick]) stay there, unless somebody has scrolled up in them.
const stick = (box) => { if (!box.dataset.read) box.scrollTop = box.scrollHeight; };
const changed = () => {
  document.querySelectorAll("[data-stick]").forEach(stick);
  document.dispatchEvent(new CustomEvent("live:swapped"));
};

// Names that the fragment says have changed with it ([data-tells]), if it differs from what is here.
function swap(id, fresh) {
  const old = document.getElementById(id);
  if (!fresh || old?.isEqualNode(fresh)) return [];
  const told = fresh.dataset.tells?.split(" ") ?? [];
  // In another status the page has other parts: [data-live="status"] holds them all.
  if (old?.dataset.status !== fresh.dataset.status) told.push("status");
  if (old) htmx.process(morph(old, fresh));
  return told;
}

// Regions that lie in no other of them: a swap moves what is new out of the answer, so an inner one would find it gone.
const outermost = (page, ids) => ids.filter((id) => !ids.some((other) => other !== id && page.getElementById(other)?.contains(page.getElementById(id))));

export function ask(names) {
  const regions = [...document.querySelectorAll("[data-live]")];
  for (const region of regions) {
    if (names && !region.dataset.live.split(" ").some((name) => names.includes(name))) continue;
    const own = region.dataset.src ?? region.getAttribute("hx-get");
    const key = `${own == null ? "page" : "region"} ${own || location.href}`;
    waiting.set(key, (waiting.get(key) ?? new Set()).add(region.id));
  }
  fetchWaiting();
}

async function fetchWaiting() {
  if (busy || document.hidden || !waiting.size) return;
  busy = true;
  const [key, ids] = waiting.entries().next().value;
  waiting.delete(key);
  const [kind, url] = key.split(" ", 2);
  try {
    const answer = await fetch(url, { headers: kind === "region" ? { "X-Live": "1" } : {}, signal: AbortSignal.timeout(10_000) });
    const text = answer.ok && !answer.redirected ? await answer.text() : "";
    // Somebody may have filtered or sorted meanwhile: what the earlier address shows is not asked for any more.
    if (text && (kind === "region" || url === location.href)) {
      const page = parse(text);
      for (const id of outermost(page, [...ids])) swap(id, page.getElementById(id));
      changed();
    }
  } catch { /* the next message or reconnect asks again; the age shows the gap meanwhile */ }
  busy = false;
  setTimeout(fetchWaiting, 700);
}

function take(message) {
  const told = (message.fragments ?? []).flatMap(({ id, html }) => swap(id, parse(html).firstElementChild));
  if (message.fragments?.length) changed();
  const names = [...told, ...(message.refresh ?? [])];
  if (names.length) ask(names);
  if ("at" in message && mark.heard(message)) ask(null);
}

function connect() {
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(`${scheme}//${location.host}${root.dataset.liveSocket}`);
  let opened = false;
  socket.onopen = () => {
    opened = true;
    wait = 500;
    mark.opened();
    ask(null); // also the first time: what happened between the page's making and now was sent to nobody
  };
  socket.onmessage = (event) => take(JSON.parse(event.data));
  socket.onclose = ({ code }) => {
    if (code === 4403) return mark.ended("You no longer have access to this cluster.");
    if (code === 4404) return mark.ended("This cluster is not here any more, or you are signed out. Load the page again.");
    mark.lost();
    setTimeout(connect, wait * (0.75 + Math.random() / 2));
    wait = Math.min(wait * (opened ? 1 : 1.7), 8000);
  };
}

for (const box of document.querySelectorAll("[data-stick]")) {
  stick(box);
  box.addEventListener("wheel", () => { box.dataset.read = box.scrollTop + box.clientHeight < box.scrollHeight - 8 ? "1" : ""; }, { passive: true });
}
// Pages without a socket (the team's lists) look again by themselves while somebody looks at them.
const polled = document.querySelector("[data-poll]");
if (polled) setInterval(() => ask(["poll"]), 1000 * Number(polled.dataset.poll));
if (root) {
  connect();
  document.addEventListener("visibilitychange", fetchWaiting);
}
