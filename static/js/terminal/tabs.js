// The row of tabs: drawn from the layout, with its keys (arrows, Home, End, F2 renames, Delete closes).
// Names come from people and programs: they are only ever text.
export class Tabs {
  #row; #acts; #editing = false;

  // `acts`, each given a tab's id: choose, close, and rename(id, name) with null for a name that stays.
  constructor(row, acts) {
    this.#row = row;
    this.#acts = acts;
    row.addEventListener("keydown", (event) => this.#key(event));
  }

  // `facts(tab)` gives {label, state, title}.
  draw(tabs, active, facts) {
    if (this.#editing) return;
    const had = this.#row.contains(document.activeElement);
    this.#row.replaceChildren(...tabs.map((tab) => this.#button(tab, tab.id === active, facts(tab))));
    this.#chosen?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (had) this.focus();
  }

  focus() { this.#chosen?.focus(); }

  get #chosen() { return this.#row.querySelector("[aria-selected=true]"); }

  #button(tab, isActive, { label, state, title }) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", id: `terminal-tab-${tab.id}`, title, tabIndex: isActive ? 0 : -1 });
    button.setAttribute("role", "tab");
    button.setAttribute("aria-selected", String(isActive));
    button.setAttribute("aria-controls", `terminal-panel-${tab.id}`);
    button.dataset.state = state;
    button.dataset.tab = tab.id;
    const [dot, name, cross] = [document.createElement("i"), document.createElement("span"), document.createElement("i")];
    name.textContent = label;
    cross.className = "ti ti-x cross"; // for the mouse: the keyboard has Delete
    for (const mark of [dot, cross]) mark.setAttribute("aria-hidden", "true");
    button.append(dot, name, cross);
    button.addEventListener("click", (event) => (event.target === cross ? this.#acts.close(tab.id) : this.#acts.choose(tab.id)));
    button.addEventListener("auxclick", (event) => event.button === 1 && this.#acts.close(tab.id));
    button.addEventListener("dblclick", (event) => event.target !== cross && this.#rename(button, tab.id));
    return button;
  }

  #key(event) {
    const all = [...this.#row.querySelectorAll("[role=tab]")];
    const at = all.indexOf(event.target);
    if (at < 0) return;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key];
    const id = Number(event.target.dataset.tab);
    if (to !== undefined) all[(to + all.length) % all.length].click();
    else if (event.key === "Delete") this.#acts.close(id);
    else if (event.key === "F2") this.#rename(event.target, id);
    else return;
    event.preventDefault();
    if (to !== undefined) this.focus();
  }

  #rename(button, id) {
    const input = document.createElement("input");
    Object.assign(input, { type: "text", maxLength: 40, value: button.querySelector("span").textContent });
    input.setAttribute("aria-label", "Name of this tab; empty for the program's own");
    this.#editing = true;
    button.replaceWith(input);
    input.select();
    input.focus();
    const done = (name) => {
      if (!this.#editing) return;
      this.#editing = false;
      this.#acts.rename(id, name);
    };
    input.addEventListener("blur", () => done(input.value.trim()));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") done(input.value.trim());
      else if (event.key === "Escape") done(null);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
  }
}
