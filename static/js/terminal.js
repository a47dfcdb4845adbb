// The terminal's page: puts screen, socket, search and key bar together and says in words how things stand.
import { makeKeyBar } from "./terminal/keybar.js";
import { makeScreen, permitStyles } from "./terminal/screen.js";
import { makeSearch } from "./terminal/search.js";
import { Wire } from "./terminal/wire.js";

const host = document.getElementById("terminal");
const part = (selector) => host.querySelector(selector);
const [chip, strip] = [part(".terminal-state"), part(".terminal-strip")];
const again = strip.querySelector("button");
const WORDS = { connecting: "Connecting", open: "Connected", waiting: "Reconnecting", ended: "Ended", refused: "Not connected" };
const memory = `quarterdeck.terminal.${host.dataset.cluster}`;
const remember = (session) => {
  try { session ? sessionStorage.setItem(memory, session) : sessionStorage.removeItem(memory); } catch { /* no storage: a reload begins anew */ }
};
const remembered = () => {
  try { return sessionStorage.getItem(memory) ?? ""; } catch { return ""; }
};

permitStyles(host.nonce);
const { terminal, grow } = await makeScreen(host, part(".terminal-screen"));
const address = new URL(host.dataset.socket, location.href);
address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
const wire = new Wire(address, () => ({ columns: terminal.cols, rows: terminal.rows }), remembered());
const search = makeSearch(terminal, part(".terminal-search"));
const encoder = new TextEncoder();
let muted = 0; // bytes of an old screen that are still to be drawn
let opening = 0; // which opening of the socket they belong to
let state = "connecting";
let noticed = 0;

function type(text) {
  // A screen that is being drawn again answers questions that programs asked long ago: nobody typed those answers.
  if (muted) return;
  if (state === "open") wire.type(encoder.encode(text));
  else if (text === "\r" && (state === "ended" || state === "refused")) renew();
  if (noticed) show();
}
const keys = makeKeyBar(part(".terminal-keys"), terminal, type);
terminal.onData((text) => type(keys.withCtrl(text)));
terminal.onBinary((text) => !muted && wire.type(Uint8Array.from(text, (c) => c.charCodeAt(0))));
terminal.onResize(() => wire.resize());

wire.addEventListener("ready", ({ detail }) => {
  remember(detail.session);
  opening += 1;
  muted = detail.fresh ? 0 : detail.replay;
  if (detail.whole) terminal.reset();
});
wire.addEventListener("output", ({ detail: bytes }) => {
  const mine = opening;
  terminal.write(bytes, () => {
    if (mine !== opening || !wire.isOpen) return;
    wire.shown(bytes.length);
    if (!muted) return;
    muted = Math.max(0, muted - bytes.length);
    if (!muted) became({ state: "open" });
  });
});
wire.addEventListener("notice", ({ detail }) => { noticed = 1; show("", detail.sentence); });
// Open is not said before the old screen is drawn: keys typed until then would be lost among the unwanted answers.
wire.addEventListener("state", ({ detail }) => (detail.state === "open" && muted) || became(detail));

function became(detail) {
  const came = state;
  state = detail.state;
  chip.dataset.state = state;
  chip.lastElementChild.textContent = WORDS[state];
  host.toggleAttribute("data-away", state !== "open");
  if (state === "open") { show(); terminal.focus(); }
  if (state === "waiting" && (detail.sentence || came === "open")) show("Reconnecting by itself.", `${detail.sentence || "The connection was cut."} ${detail.hint ?? ""}`, { tone: "info", label: "Now" });
  if (state === "ended") ended(detail);
  if (state === "refused") refused(detail);
}

function ended(detail) {
  remember(wire.session);
  const label = detail.code === "taken" ? "Use it here" : detail.code === "revoked" ? "" : "New terminal";
  show("This terminal has ended.", detail.sentence, { label, tone: detail.code === "revoked" ? "bad" : "" });
  if (detail.code === "taken") strip.querySelector("b").textContent = "";
}

function refused(detail) {
  remember(wire.session);
  if (detail.code === "gone" && !terminal.buffer.active.baseY && !terminal.buffer.active.cursorY) { wire.renew(); return; }
  show(detail.sentence, detail.hint, { tone: detail.code === "gone" ? "" : "bad", label: detail.code === "gone" ? "New terminal" : "Try again" });
}

function renew() {
  muted = 0;
  if (wire.session) wire.connect(); else wire.renew();
}

function show(title = "", sentence = "", { tone = "", label = "" } = {}) {
  noticed = sentence && state === "open" ? 1 : 0;
  strip.hidden = !title && !sentence;
  strip.dataset.tone = tone;
  strip.querySelector("b").textContent = title;
  strip.querySelector("span").textContent = sentence;
  again.hidden = !label;
  again.textContent = label;
}

const ACTS = {
  search: () => search.toggle(),
  previous: () => search.previous(),
  smaller: () => grow(-1),
  larger: () => grow(1),
  usual: () => grow(0),
  full: () => part("[data-act=full]").setAttribute("aria-pressed", String(host.classList.toggle("full"))),
  copy: () => terminal.hasSelection() && navigator.clipboard?.writeText(terminal.getSelection()),
  again: () => { terminal.focus(); renew(); },
};
host.addEventListener("click", (event) => {
  const act = event.target.closest("[data-act]")?.dataset.act;
  if (!act) return;
  ACTS[act]();
  if (act !== "search" && act !== "previous") terminal.focus();
});
const SHORTCUTS = { "=": "larger", "+": "larger", "-": "smaller", 0: "usual" };
const SHIFTED = { F: "search", C: "copy", Enter: "full" };
terminal.attachCustomKeyEventHandler((event) => {
  const held = event.ctrlKey || event.metaKey;
  const act = held && !event.altKey ? (event.shiftKey ? (SHIFTED[event.key] ?? (event.key === "+" ? "larger" : "")) : SHORTCUTS[event.key]) : "";
  if (!act) return true;
  event.preventDefault();
  if (event.type === "keydown") ACTS[act]();
  return false;
});
// On a phone the keyboard covers the page without resizing it.
visualViewport?.addEventListener("resize", () => document.documentElement.style.setProperty("--seen-height", `${visualViewport.height}px`));
host.terminal = terminal; // What the screen shows, for the tests.
wire.connect();
