// The Slurm configuration page: one document, edited as text or by the form, checked as it is typed.
/* global ace */
import { adopt, code } from "./code.js";
import { Check } from "./conf/check.js";
import { complete } from "./conf/complete.js";
import { Form } from "./conf/form.js";
import { show as showHelp } from "./conf/help.js";
import { keyAt, settings } from "./conf/lines.js";
import { lock } from "./conf/locks.js";
import { MODE } from "./conf/mode.js";
import { writer } from "./conf/write.js";
import { toast } from "./toast.js";

const page = document.getElementById("conf");
const form = document.getElementById("conf-form");
const area = document.getElementById("conf-text");
const original = JSON.parse(document.getElementById("conf-original").textContent);
const readOnly = "readOnly" in page.dataset;
const card = document.getElementById("conf-help");
const catalogue = new Map();
let leaving = false;
let fields = null;

const editor = code(area, { mode: MODE, label: "slurm.conf" });
editor.setOptions({ minLines: 20, maxLines: 30, readOnly, showFoldWidgets: false, dragEnabled: false });
editor.container.classList.add("qd-conf");
editor.container.style.lineHeight = "20px";
editor.renderer.updateFontSize();
ace.config.loadModule("ace/ext/searchbox", () => adopt(ace.require("ace/ext/searchbox-css")));

const now = () => settings(lines(), locks.first(), locks.last());
const known = (line, key) => catalogue.get(`${line} ${key}`.toLowerCase());
const lines = () => editor.session.doc.getAllLines();
const was = original.split("\n");
const before = settings(was, Number(page.dataset.first) - 1, Number(page.dataset.last) - 1);
const platform = new Map([...settings(was, 0, was.length - 1)].filter(([key]) => !before.has(key)));
const firstRow = Number(page.dataset.first) - 1;
// The posted text may have more or fewer lines than the file; the lines below the block are as many as in the file.
const lastRow = editor.session.getLength() - (was.length - Number(page.dataset.last)) - 1;

const locks = lock(editor, {
  first: firstRow + 1,
  last: lastRow + 1,
  refused(row) {
    const at = keyAt(editor.session.getLine(row), 0);
    const why = at && known(at.line, at.key)?.locked;
    toast(`Line ${row + 1} belongs to the platform. ${why || "Write between the two marker lines."}`, "warn", 4500);
  },
});
editor.commands.addCommand({ name: "selectall", bindKey: { win: "Ctrl-A", mac: "Command-A" }, exec: () => locks.select(), readOnly: false });
editor.session.getUndoManager().reset();

export function go(line) {
  select("text");
  editor.gotoLine(line, 0, false);
  editor.scrollToLine(line - 1, true, false);
  editor.focus();
}

function help() {
  const { row, column } = editor.getCursorPosition();
  const at = keyAt(editor.session.getLine(row), column);
  const found = at && known(at.line, at.key);
  const isOurs = at?.line || locks.isLocked(row);
  const values = isOurs ? { before: at?.value, after: at?.value } : { before: found && before.get(found.name.toLowerCase())?.value, after: at?.value };
  showHelp(card, found, values, page.dataset);
}

// Tabs: the arrow keys move between them.
const tabs = [...page.querySelectorAll("[role=tab]")];
function select(name) {
  for (const tab of tabs) {
    const on = tab.id === `tab-${name}`;
    tab.ariaSelected = String(on);
    tab.tabIndex = on ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
  }
  if (name === "text") {
    editor.resize(true);
    help();
  }
  if (name === "form") fields?.update();
}
for (const tab of tabs) {
  tab.addEventListener("click", () => select(tab.id.slice(4)));
  tab.addEventListener("keydown", ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    select(next.id.slice(4));
    next.focus();
  });
}

const check = new Check(editor, page, {
  go,
  body: () => new URLSearchParams({ text: area.value, base: page.dataset.base }),
  done(found) {
    const rows = new Map([...now()].map(([key, { row }]) => [row + 1, key]));
    const problems = found.problems.filter((one) => rows.has(one.line));
    fields?.judge(new Map(problems.map((one) => [rows.get(one.line), `${one.message} ${one.hint}`.trim()])));
  },
});

editor.session.on("change", () => {
  if (!readOnly) check.soon();
  if (!document.getElementById("pane-form").hidden) fields?.update();
});
editor.selection.on("changeCursor", help);
document.getElementById("conf-discard")?.addEventListener("click", () => {
  locks.freely(() => editor.session.doc.setValue(original));
  editor.clearSelection();
  go(Number(page.dataset.first));
});
document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-go-line]");
  if (target) go(Number(target.dataset.goLine));
});

// Somebody else's change: say so at once, keep what is typed.
document.addEventListener("live:swapped", () => {
  const now = document.getElementById("conf-now").dataset.revision;
  const moved = document.getElementById("conf-moved");
  moved.hidden = now === page.dataset.base;
  moved.querySelector("b").textContent = now;
});
document.addEventListener("submit", () => { leaving = true; }, true);
document.addEventListener("htmx:afterRequest", ({ detail }) => { if (!detail.xhr.getResponseHeader("HX-Redirect")) leaving = false; });
addEventListener("beforeunload", (event) => {
  if (!leaving && !readOnly && area.value !== original) event.preventDefault();
});

for (const element of page.querySelectorAll("[data-js]")) element.hidden = false;
const { keys } = await (await fetch(page.dataset.keys)).json();
for (const one of keys) catalogue.set(`${one.line} ${one.name}`.toLowerCase(), one);
fields = new Form(document.getElementById("pane-form"), {
  keys: keys.filter((one) => !one.line),
  before,
  platform,
  read: now,
  readOnly,
  write: writer(editor, locks),
  look(found) {
    const key = found.name.toLowerCase();
    const ours = platform.get(key)?.value;
    showHelp(card, found, found.locked ? { before: ours, after: ours } : { before: before.get(key)?.value, after: now().get(key)?.value }, page.dataset);
  },
});
if (!readOnly) await complete(editor, { keys, locks });
const asked = location.hash.match(/^#L(\d+)$/);
if (asked) go(Number(asked[1]));
else editor.gotoLine(firstRow + 1, 0, false);
help();
if (!readOnly) check.now();
page.editor = editor; // What the editor holds, for the tests.
page.dataset.ready = "";
