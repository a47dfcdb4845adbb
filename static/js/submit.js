// The submit page: an editor for the script, and quick fields that are two-way views of its #SBATCH lines.
// [data-option="--partition"] names the option a field stands for; fields have no name, the script is all that is sent.
/* global ace, htmx */
import { code } from "./code.js";

const area = document.getElementById("script");
const fields = [...document.querySelectorAll("[data-option]")];
const SHORT = { "--job-name": "-J", "--partition": "-p", "--nodes": "-N", "--time": "-t" };
const editor = typeof ace === "undefined" ? null : code(area, { mode: "sh", label: "Script" });
let writing = false;

const text = () => (editor ? editor.getValue() : area.value);
const lineOf = (option) => new RegExp(`^#SBATCH\\s+(?:${option}(?:=|\\s+)|${SHORT[option] ?? option}(?:=|\\s*))(?!-)("[^"]*"|\\S+)[^\\n]*$`, "m");
const quoted = (value) => (/\s/.test(value) ? `"${value.replaceAll('"', "")}"` : value);

// Directives count only above the first command, so new ones go below the last of them.
function inserted(script, line) {
  const lines = script.split("\n");
  let at = lines[0]?.startsWith("#!") ? 1 : 0;
  for (let i = at; i < lines.length && (lines[i].startsWith("#") || !lines[i].trim()); i += 1) {
    if (lines[i].startsWith("#SBATCH")) at = i + 1;
  }
  lines.splice(at, 0, line);
  return lines.join("\n");
}

function written(script, option, value) {
  const pattern = lineOf(option);
  if (!value) return script.replace(new RegExp(`${pattern.source}\\n?`, "m"), "");
  const line = `#SBATCH ${option}=${quoted(value)}`;
  return pattern.test(script) ? script.replace(pattern, () => line) : inserted(script, line);
}

function put(script) {
  if (script === text()) return;
  writing = true;
  if (!editor) area.value = script;
  else {
    const { row, column } = editor.getCursorPosition();
    const top = editor.session.getScrollTop();
    editor.session.doc.setValue(script);
    editor.moveCursorTo(row, column);
    editor.clearSelection();
    editor.session.setScrollTop(top);
  }
  writing = false;
}

function read() {
  for (const field of fields) {
    if (field === document.activeElement) continue;
    const value = (text().match(lineOf(field.dataset.option))?.[1] ?? "").replaceAll('"', "");
    const known = field.tagName !== "SELECT" || [...field.options].some((option) => option.value === value);
    if (known && field.value !== value) field.value = value;
  }
}

for (const field of fields) {
  field.addEventListener("input", () => {
    put(written(text(), field.dataset.option, field.value.replaceAll(/[\n\r]/g, "").trim()));
  });
}
area.addEventListener("input", () => {
  if (!writing) read();
  htmx.trigger(document.body, "script-changed");
});
// Problems that name a line are marked at it.
function annotate() {
  const found = [...document.querySelectorAll("#advice [data-line]")];
  editor?.session.setAnnotations(found.map((item) => ({ row: Number(item.dataset.line) - 1, type: item.dataset.kind, text: item.dataset.text })));
}
document.addEventListener("htmx:afterSwap", annotate);

for (const panel of document.querySelectorAll("[data-quick]")) panel.hidden = false;
read();
annotate();
