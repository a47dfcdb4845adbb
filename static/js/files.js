// The file browser, as a page and as the panel beside the terminal: looking again, uploading, dropping. Folders and
// dialogs are the server's (templates/slurm/_files.html).
import { takeDrops } from "./files/drop.js";
import { UploadList } from "./files/list.js";
import { folderOf, listenTo } from "./files/shell_folder.js";
import { toast } from "./toast.js";

const browser = () => document.getElementById("files");
const first = () => browser().querySelector("[data-row-link]") ?? browser().querySelector(".files-path a");
const token = () => JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRFToken"];
const terminal = document.getElementById("terminal");
const panel = document.getElementById("terminal-files");
const uploads = new UploadList(document.querySelector("[data-uploads]"), (folder) => folder === browser()?.dataset.folder && look());
const shown = (address) => { try { return decodeURIComponent(address); } catch { return address; } };

function look(address = browser().dataset.src) {
  return htmx.ajax("GET", address, { source: browser(), target: "#files", swap: "outerHTML" });
}

function send(files, folder, { folders = 0 } = {}) {
  if (folders) toast("Folders are not taken from a drop: bring them with scp -r or rsync.", "warn");
  for (const file of files) uploads.add(browser().dataset.api, folder, file, token());
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-files-again]")) look();
  if (panel && event.target.closest("[data-files-toggle]")) toggle();
});
document.addEventListener("change", (event) => {
  const input = event.target.closest("[data-files-chosen]");
  if (!input) return;
  send([...input.files], browser().dataset.folder);
  input.value = "";
});
// A dialog has done what it was for.
document.addEventListener("files:changed", () => {
  document.getElementById("dialog").close();
  look();
});
const here = document.querySelector("[data-drop='#files']");
if (here) takeDrops(here, { where: () => browser().dataset.folderName || "the home folder", take: (files, folders) => send(files, browser().dataset.folder, { folders }) });

// Who walks by keyboard stays in the list: what had the focus is not there any more.
let isWithin = false;
document.addEventListener("htmx:beforeSwap", ({ detail }) => { isWithin = detail.target === browser() && detail.target.contains(document.activeElement); });
document.addEventListener("htmx:afterSwap", () => {
  if (isWithin && document.activeElement === document.body) first()?.focus();
  isWithin = false;
});

// Beside the terminal: opened when it is first asked for, in the folder where the shell says it is.
async function toggle(show = panel.hidden, { moves = true } = {}) {
  panel.hidden = !show;
  for (const button of document.querySelectorAll("[data-files-toggle]")) button.setAttribute("aria-expanded", String(show));
  if (!show) return terminal.terminal?.focus();
  const at = folderOf(terminal.terminal);
  if (!browser().dataset.folder || at) await look(at ? `${panel.dataset.page}?path=${at}` : panel.dataset.page);
  return moves && first()?.focus();
}

// When files are let go over the terminal, whose focus stays: the panel shows where they went, and that it is the home where the shell says nothing.
async function dropped(files, folders) {
  const at = folderOf(terminal.terminal);
  if (panel.hidden) await toggle(true, { moves: false });
  else if (at && at !== browser().dataset.folder) await look(`${panel.dataset.page}?path=${at}`);
  send(files, at || browser().dataset.folder, { folders });
}

if (terminal && panel) {
  const watch = () => listenTo(terminal.terminal);
  for (const name of ["focusin", "keydown", "pointerover"]) terminal.addEventListener(name, watch, true);
  takeDrops(terminal, { where: () => shown(folderOf(terminal.terminal)) || browser().dataset.folderName || "your home folder", take: dropped });
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    toggle(false);
  });
}
