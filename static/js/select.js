// Rows of <table data-select="nodes"> that carry data-key get a checkbox; x and Shift work too. The selection survives
// live swaps. [data-selection-of="nodes"] holds it as hidden inputs (name from data-name) for hx-include and forms;
// [data-needs-selection="nodes"] is disabled while nothing is selected; [data-selected-count="nodes"] says how many.
const chosen = new Map();
let last = null;

const tables = () => document.querySelectorAll("table[data-select]");
const set = (name) => chosen.get(name) ?? chosen.set(name, new Set()).get(name);
const rows = (table) => [...table.querySelectorAll("tbody tr[data-key]")];

function box(label) {
  const input = document.createElement("input");
  input.type = "checkbox";
  input.ariaLabel = label;
  return input;
}

function cell(row, kind, label) {
  const existing = row.querySelector(":scope > [data-keep]");
  if (existing) return existing.firstElementChild;
  const holder = document.createElement(kind);
  holder.className = "pick";
  holder.dataset.keep = "";
  holder.append(box(label));
  row.prepend(holder);
  return holder.firstElementChild;
}

function show(table) {
  const name = table.dataset.select;
  const keys = set(name);
  const all = rows(table);
  for (const row of all) {
    cell(row, "td", `Select ${row.dataset.key}`).checked = keys.has(row.dataset.key);
    row.setAttribute("aria-selected", String(keys.has(row.dataset.key)));
  }
  const head = table.tHead?.rows[0];
  if (head) {
    const whole = cell(head, "th", "Select all shown");
    const count = all.filter((row) => keys.has(row.dataset.key)).length;
    whole.checked = count > 0 && count === all.length;
    whole.indeterminate = count > 0 && count < all.length;
  }
  tell(name, keys);
}

function tell(name, keys) {
  for (const holder of document.querySelectorAll(`[data-selection-of="${name}"]`)) {
    holder.replaceChildren(...[...keys].map((key) => {
      const input = document.createElement("input");
      Object.assign(input, { type: "hidden", name: holder.dataset.name ?? "key", value: key });
      return input;
    }));
  }
  for (const button of document.querySelectorAll(`[data-needs-selection="${name}"]`)) button.disabled = !keys.size;
  for (const count of document.querySelectorAll(`[data-selected-count="${name}"]`)) count.textContent = keys.size ? `${keys.size} selected` : "";
}

function toggle(row, { range = false, on = null } = {}) {
  const table = row.closest("table");
  const keys = set(table.dataset.select);
  const all = rows(table);
  const turnOn = on ?? !keys.has(row.dataset.key);
  const from = range && last ? all.findIndex((other) => other.dataset.key === last) : -1;
  const at = all.indexOf(row);
  const touched = from < 0 ? [row] : all.slice(Math.min(from, at), Math.max(from, at) + 1);
  for (const other of touched) keys[turnOn ? "add" : "delete"](other.dataset.key);
  last = row.dataset.key;
  show(table);
}

document.addEventListener("click", (event) => {
  const input = event.target.closest("table[data-select] .pick input");
  if (!input) return;
  const row = input.closest("tr");
  const table = row.closest("table");
  if (row.dataset.key) return toggle(row, { range: event.shiftKey, on: input.checked });
  for (const other of rows(table)) set(table.dataset.select)[input.checked ? "add" : "delete"](other.dataset.key);
  show(table);
});
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "x" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input:not([type=checkbox]), textarea, select")) return;
  const row = event.target.closest?.("table[data-select] tr[data-key]");
  if (row) toggle(row, { range: event.shiftKey });
});

// What is no longer listed is no longer selected: nobody should act on rows that they do not see.
function refresh() {
  for (const [name, keys] of chosen) {
    const listed = new Set([...document.querySelectorAll(`table[data-select="${name}"] tr[data-key]`)].map((row) => row.dataset.key));
    for (const key of keys) if (!listed.has(key)) keys.delete(key);
    tell(name, keys);
  }
  tables().forEach(show);
}

refresh();
document.addEventListener("live:swapped", refresh);
document.addEventListener("htmx:afterSettle", refresh);
