// The same document as a form: a field for each key of the catalogue, by theme, searchable. It holds nothing itself: it
// shows what the text says, and writes into the text. Fields of the platform are there to be found, locked.
import { quoted } from "./lines.js";

function node(tag, attributes = {}, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== false) made.setAttribute(name, value === true ? "" : value);
  made.append(...content);
  return made;
}
const icon = (name) => node("i", { class: `ti ti-${name}`, "aria-hidden": "true" });

function control(help, id) {
  const about = { id, "aria-describedby": `${id}-about`, disabled: Boolean(help.locked) };
  const words = help.kind === "bool" ? ["YES", "NO"] : help.words.map((one) => one.word);
  if (help.kind !== "bool" && (help.kind !== "choice" || help.is_open)) {
    return node("input", { ...about, class: "mono", autocomplete: "off", spellcheck: "false", placeholder: help.default || "not set", inputmode: help.kind === "int" && !help.words.length ? "numeric" : false });
  }
  const empty = node("option", { value: "" }, help.default ? `not set (${help.default})` : "not set");
  return node("select", about, empty, ...words.map((word) => node("option", { value: word }, word)));
}

export class Form {
  // `keys` are those of top-level lines. `read()` maps keys in lower case to what the person's block says, `before` to
  // what it says in the cluster, `platform` to what the platform's lines say. `write(key, value)` with null takes the
  // key out. `look(help)` shows the help of a key.
  constructor(pane, { keys, before, platform, read, write, look, readOnly }) {
    Object.assign(this, { pane, keys, before, platform, read, write, look, readOnly });
    this.fields = new Map();
    this.only = "all";
    this.problems = new Map();
    this.build();
    this.update();
  }

  build() {
    this.search = node("input", { type: "search", class: "qd-in", placeholder: "Search keys", "aria-label": "Search keys", autocomplete: "off", spellcheck: "false" });
    this.search.addEventListener("input", () => this.filter());
    this.chips = ["all", "set", "changed"].map((name) => {
      const chip = node("button", { type: "button", class: "chip", "aria-pressed": String(name === "all") }, name[0].toUpperCase() + name.slice(1), node("b"));
      chip.addEventListener("click", () => {
        this.only = name;
        for (const one of this.chips) one.ariaPressed = String(one === chip);
        this.filter();
      });
      chip.dataset.only = name;
      return chip;
    });
    this.none = node("p", { class: "conf-none muted", hidden: true }, "No key fits.");
    const themes = Map.groupBy ? Map.groupBy(this.keys, (one) => one.theme) : grouped(this.keys);
    this.sections = [...themes].map(([theme, keys]) => node("section", { class: "conf-theme", "aria-label": theme }, node("h3", {}, theme), ...keys.map((help) => this.field(help))));
    this.pane.replaceChildren(node("div", { class: "qd-tools" }, this.search, node("div", { class: "chips" }, ...this.chips)), node("div", { class: "conf-fields" }, ...this.sections, this.none));
  }

  field(help) {
    const id = `key-${help.name}`;
    const input = control(help, id);
    if (this.readOnly) input.disabled = true;
    const unset = node("button", { type: "button", class: "qd-btn quiet icon small", title: `Unset ${help.name}`, "aria-label": `Unset ${help.name}`, hidden: true }, icon("x"));
    const problem = node("span", { class: "problem" });
    const about = node("p", { class: "help", id: `${id}-about` }, help.help, help.unit ? ` In ${help.unit}.` : "", help.locked ? node("span", { class: "conf-lock", title: help.locked }, icon("lock"), help.locked) : "");
    const row = node("div", { class: `conf-field${help.locked ? " locked" : ""}`, "data-key": help.name }, node("div", {}, node("label", { for: id, class: "mono" }, help.name), about), node("div", { class: "field" }, input, problem), unset);
    input.addEventListener("focus", () => this.look(help));
    input.addEventListener("input", () => { if (input.value || input.tagName === "SELECT") this.put(help, input); });
    input.addEventListener("change", () => this.put(help, input));
    unset.addEventListener("click", () => { this.write(help.name, null); this.update(); input.focus(); });
    this.fields.set(help.name.toLowerCase(), { help, row, input, unset, problem });
    return row;
  }

  put(help, input) {
    const value = input.value.trim();
    const current = this.read().get(help.name.toLowerCase());
    if (value && quoted(value) === null) return this.say(help.name, "No line of slurm.conf can hold this: a blank beside a double quote.");
    if (!value && !current) return undefined;
    if (current?.value !== value) this.write(help.name, value || null);
    return this.update();
  }

  say(name, text) {
    const { problem } = this.fields.get(name.toLowerCase());
    problem.textContent = text;
  }

  // What the console found, each at its field: `problems` by key in lower case.
  judge(problems) {
    for (const [key, { problem }] of this.fields) problem.textContent = problems.get(key) ?? "";
  }

  update() {
    const now = this.read();
    const count = { all: 0, set: 0, changed: 0 };
    for (const [key, { help, row, input, unset }] of this.fields) {
      const found = help.locked ? this.platform.get(key) : now.get(key);
      const was = help.locked ? found : this.before.get(key);
      if (input !== document.activeElement) this.fill(input, found?.value ?? "");
      if (found && !found.simple) input.disabled = true;
      row.classList.toggle("set", Boolean(found));
      row.classList.toggle("changed", (found?.value ?? null) !== (was?.value ?? null));
      if (!found && this.platform.has(key)) input.placeholder = `${this.platform.get(key).value} (the platform's)`;
      unset.hidden = !found || input.disabled;
      count.all += 1;
      count.set += Number(Boolean(found));
      count.changed += Number(row.classList.contains("changed"));
    }
    for (const chip of this.chips) chip.lastElementChild.textContent = count[chip.dataset.only];
    if (this.only !== "all") this.filter();
  }

  // A word in another case, or one that the catalogue does not list, is an option of its own: the text is right.
  fill(input, value) {
    if (input.tagName === "SELECT" && value) {
      const same = [...input.options].find((option) => option.value.toLowerCase() === value.toLowerCase());
      if (same) same.value = value;
      else input.append(node("option", { value }, value));
    }
    if (input.value !== value) input.value = value;
  }

  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let any = false;
    for (const section of this.sections) {
      let shown = false;
      for (const row of section.querySelectorAll(".conf-field")) {
        const { help } = this.fields.get(row.dataset.key.toLowerCase());
        const text = `${help.name} ${help.help} ${help.theme}`.toLowerCase();
        row.hidden = !(words.every((word) => text.includes(word)) && (this.only === "all" || row.classList.contains(this.only)));
        shown ||= !row.hidden;
      }
      section.hidden = !shown;
      any ||= shown;
    }
    this.none.hidden = any;
  }
}

function grouped(keys) {
  const themes = new Map();
  for (const one of keys) themes.set(one.theme, [...(themes.get(one.theme) ?? []), one]);
  return themes;
}
