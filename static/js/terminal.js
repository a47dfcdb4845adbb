// The terminal's page: tabs of panes, the tools that work on the one with the focus, and what a reload brings back.
import { makeKeyBar } from "./terminal/keybar.js";
import { followKeyboard } from "./terminal/keyboard.js";
import { Layout } from "./terminal/layout.js";
import { memory } from "./terminal/memory.js";
import { Pane } from "./terminal/pane.js";
import { fontsReady, permitStyles } from "./terminal/screen.js";
import { makeSearch } from "./terminal/search.js";
import { makeSharing } from "./terminal/sharing.js";
import { shortcut } from "./terminal/shortcuts.js";
import { arrange } from "./terminal/splits.js";
import { Tabs } from "./terminal/tabs.js";

const host = document.getElementById("terminal");
const part = (selector) => host.querySelector(selector);
const [chip, panels] = [part(".terminal-state"), part(".terminal-panels")];
const WORDS = { connecting: "Connecting", open: "Connected", waiting: "Reconnecting", ended: "Ended", refused: "Not connected" };
const url = new URL(host.dataset.socket, location.href);
url.protocol = location.protocol === "https:" ? "wss:" : "ws:";

const isWatching = Boolean(host.dataset.share); // another's terminal: this page shows that one only, and keeps nothing
const kept = isWatching ? { read: () => "", write: () => {} } : memory(`quarterdeck.terminal.${host.dataset.cluster}`);
const layout = Layout.from(kept.read());
const panes = new Map();
const current = () => panes.get(layout.tab?.at);
const tabs = new Tabs(part(".terminal-tabs"), {
  choose: (id) => focus(tabOf(id).at),
  close: (id) => { if (!isWatching) { focus(tabOf(id).at); close(); } },
  rename: (id, name) => {
    if (name !== null) tabOf(id).name = name;
    tell();
    current().focus();
  },
});
const search = makeSearch(part(".terminal-search"), current);
const keys = makeKeyBar(part(".terminal-keys"), current);
const sharing = makeSharing(part(".terminal-sharing"), host.dataset.links);
const tabOf = (id) => layout.tabs.find((tab) => tab.id === id);

function grown(id, session) {
  const pane = new Pane(id, host, url, session, host.dataset.share);
  panes.set(id, pane);
  pane.modified = keys.modified;
  pane.terminal.attachCustomKeyEventHandler((event) => shortcut(event, ACTS));
  pane.element.addEventListener("focusin", () => layout.tab.at === id || focus(id));
  pane.element.querySelector(".pane-close").addEventListener("click", () => pane.close());
  pane.addEventListener("changed", () => {
    layout.leaf(id).session = pane.session;
    tell();
    if (pane.state === "open" && pane === current() && !host.contains(document.activeElement)) pane.focus();
  });
  pane.addEventListener("closed", () => gone(id));
  return pane;
}

// Draw what stands where. Boxes that moved are fitted at once, so that a new shell starts at its size.
function draw() {
  for (const panel of [...panels.children]) if (!layout.tabs.some((tab) => panel.id === `terminal-panel-${tab.id}`)) panel.remove();
  for (const tab of layout.tabs) {
    const panel = document.getElementById(`terminal-panel-${tab.id}`) ?? made(tab);
    panel.hidden = tab !== layout.tab;
    panel.toggleAttribute("data-split", !("pane" in tab.root));
    const shape = JSON.stringify(tab.root, (name, value) => (["shares", "session"].includes(name) ? undefined : value));
    if (panel.dataset.shape !== shape) arrange(panel, tab.root, (id) => panes.get(id).element, keep);
    panel.dataset.shape = shape;
    if (!panel.hidden) for (const id of layout.panesOf(tab)) panes.get(id).screen.fit();
  }
  tell();
}

function made(tab) {
  const panel = document.createElement("div");
  panel.className = "terminal-panel";
  panel.id = `terminal-panel-${tab.id}`;
  panel.setAttribute("role", "tabpanel");
  panel.setAttribute("aria-labelledby", `terminal-tab-${tab.id}`);
  panels.append(panel);
  return panel;
}

const called = (pane) => pane.title || `Terminal ${layout.leaf(pane.id)?.number}`;
const keep = () => kept.write(layout.toString());

// Say everywhere how things stand, and keep it.
function tell() {
  keep();
  const pane = current();
  chip.dataset.state = pane?.state ?? "ended";
  chip.lastElementChild.textContent = pane ? WORDS[pane.state] : "None open";
  part(".terminal-none").hidden = Boolean(pane);
  part(".terminal-recorded").hidden = !(pane?.recorded && pane.state === "open");
  sharing.draw(pane);
  for (const each of panes.values()) {
    each.element.toggleAttribute("data-at", each === pane);
    each.element.querySelector(".pane-title").textContent = called(each);
    each.element.setAttribute("aria-label", `${called(each)}: ${WORDS[each.state]}`);
  }
  tabs.draw(layout.tabs, layout.tab?.id, (tab) => {
    const shown = panes.get(tab.at);
    return { state: shown.state, label: tab.name || called(shown), title: called(shown) };
  });
  for (const act of isWatching ? [] : ["another", "right", "down"]) {
    const button = part(`[data-act=${act}]`);
    button.setAttribute("aria-disabled", String(layout.isFull));
    button.title = layout.isFull ? "You have as many terminals open as one person may" : button.dataset.title;
  }
}

function focus(id) {
  const before = layout.tab;
  layout.focus(id);
  if (layout.tab === before) tell(); else draw();
  search.moved();
  if (!panes.get(id).element.contains(document.activeElement)) panes.get(id).focus();
}

function begin(id) {
  const pane = grown(id, "");
  draw();
  pane.start();
  focus(id);
}

function gone(id) {
  panes.delete(id);
  const next = layout.remove(id);
  draw();
  if (next) focus(next); else part("[data-act=another]").focus();
}

const unlessFull = (act) => () => isWatching || layout.isFull || act();
const split = (way) => unlessFull(() => begin(current() ? layout.split(current().id, way) : layout.add()));
const close = () => isWatching || current()?.close();
const grow = (by) => () => { for (const pane of panes.values()) pane.screen.grow(by); };
const ACTS = {
  another: unlessFull(() => begin(layout.add())),
  right: split("row"),
  down: split("column"),
  close,
  before: () => current() && focus(layout.beside(-1)),
  after: () => current() && focus(layout.beside(1)),
  leave: () => tabs.focus(),
  files: () => part("[data-files-toggle]").click(),
  search: () => current() && search.toggle(),
  previous: () => search.previous(),
  smaller: grow(-1),
  larger: grow(1),
  usual: grow(0),
  full: () => part("[data-act=full]").setAttribute("aria-pressed", String(host.classList.toggle("full"))),
  copy: () => current()?.copy(),
};
host.addEventListener("click", (event) => {
  const act = event.target.closest("[data-act]")?.dataset.act;
  if (!act) return;
  ACTS[act]();
  if (["smaller", "larger", "full"].includes(act)) current()?.focus();
});
followKeyboard();
Object.defineProperty(host, "terminal", { get: () => current()?.terminal }); // What the screen shows, for the tests.

permitStyles(host.nonce);
await fontsReady();
const asked = host.dataset.session; // one that was left behind, or is shown by another browser
const here = layout.leaves.find((leaf) => leaf.session === asked);
if (asked && here) layout.focus(here.pane);
else if (asked && !layout.isFull) layout.add(asked);
if (asked) history.replaceState(null, "", location.pathname);
if (!layout.tabs.length) layout.add();
for (const leaf of layout.leaves) grown(leaf.pane, leaf.session);
draw();
for (const pane of panes.values()) pane.start();
current().focus();
