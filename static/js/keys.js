// Keys for lists: / filter, j k move, x select, ? help. Rows are those that hold a [data-row-link].
import { openDialog } from "./dialog.js";

const typing = (element) => element?.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable], .ace_editor, .xterm");
const links = () => [...document.querySelectorAll("[data-row-link]")].filter((link) => link.offsetParent !== null);

function move(by) {
  const all = links();
  if (!all.length) return;
  const row = document.activeElement?.closest("tr, li");
  const at = all.findIndex((link) => link === document.activeElement || (row && row.contains(link)));
  const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

const ACTS = {
  "/": () => document.querySelector("[data-filter]")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  "?": () => openDialog(document.getElementById("keys-help")),
};

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.matches?.("[data-filter]")) event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (document.querySelector("dialog[open]") || !(event.key in ACTS)) return;
  event.preventDefault();
  ACTS[event.key]();
});
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-keys-help]")) ACTS["?"]();
});
