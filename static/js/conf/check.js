// Asks the console about the text while it is typed, and draws the answer: a mark and a colour at each line, the list
// below, the diff. Only the newest answer counts.
/* global ace */
const WAIT_MS = 300;

export class Check {
  constructor(editor, page, { body, go, done }) {
    this.editor = editor;
    this.page = page;
    this.body = body;
    this.go = go;
    this.done = done;
    this.markers = [];
    this.decorated = [];
    this.widgets = [];
    this.shown = "";
  }

  soon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), WAIT_MS);
  }

  async now() {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    try {
      const headers = JSON.parse(document.body.getAttribute("hx-headers"));
      const answer = await fetch(this.page.dataset.check, { method: "POST", body: this.body(), headers, signal });
      if (!answer.ok || answer.redirected) throw new Error(String(answer.status));
      this.show(await answer.json());
    } catch (error) {
      if (!signal.aborted) this.silent(error);
    }
  }

  silent() {
    document.getElementById("conf-sum").textContent = "The console does not answer; the text was not checked. Review tries again.";
  }

  show(found) {
    const { session } = this.editor;
    session.setAnnotations(found.problems.filter(({ line }) => line).map((one) => ({
      row: one.line - 1, column: 0, type: one.blocking ? "error" : "warning", text: `${one.message} ${one.hint}`.trim(),
    })));
    this.clear();
    for (const { row } of found.lines) if (row) this.mark(row - 1, "qd-changed");
    for (const { line, blocking } of found.problems) if (line) this.mark(line - 1, blocking ? "qd-problem" : "qd-advice");
    this.former(found.lines.filter(({ op }) => op !== "add"));
    this.list(found.problems);
    this.sum(found);
    document.getElementById("pane-diff").innerHTML = found.diff;
    document.getElementById("diff-count").textContent = found.changed || "";
    this.done(found);
  }

  clear() {
    const { session } = this.editor;
    for (const id of this.markers) session.removeMarker(id);
    for (const [row, name] of this.decorated) session.removeGutterDecoration(row, name);
    this.markers = [];
    this.decorated = [];
  }

  mark(row, name) {
    const { Range } = ace.require("ace/range");
    if (row >= this.editor.session.getLength()) return;
    this.markers.push(this.editor.session.addMarker(new Range(row, 0, row, 1), name, "fullLine"));
    this.editor.session.addGutterDecoration(row, name);
    this.decorated.push([row, name]);
  }

  // What stood there before, in red above the new line: not a part of the text.
  former(lines) {
    const shown = JSON.stringify(lines);
    if (shown === this.shown) return;
    this.shown = shown;
    const { session } = this.editor;
    const { LineWidgets } = ace.require("ace/line_widgets");
    if (!session.widgetManager) {
      session.widgetManager = new LineWidgets(session);
      session.widgetManager.attach(this.editor);
    }
    for (const widget of this.widgets) session.widgetManager.removeLineWidget(widget);
    this.widgets = [...grouped(lines)].filter(([after]) => after > 0).map(([after, texts]) => {
      const el = document.createElement("div");
      el.className = "qd-was";
      el.append(...texts.map((text) => Object.assign(document.createElement("div"), { textContent: text })));
      el.ariaHidden = "true"; // The Diff tab says it in words.
      return session.widgetManager.addLineWidget({ row: after - 1, el, fixedWidth: true, coverGutter: false, rowCount: texts.length });
    });
  }

  list(problems) {
    const box = document.getElementById("conf-problems");
    box.hidden = !problems.length;
    box.replaceChildren(...problems.slice(0, 50).map((one) => this.item(one)));
  }

  item({ line, message, hint, blocking }) {
    const note = document.createElement("div");
    note.className = `note ${blocking ? "bad" : "warn"}`;
    note.innerHTML = `<i class="ti ti-${blocking ? "alert-triangle" : "info-circle"}" aria-hidden="true"></i><div class="wrap"></div>`;
    const words = note.lastElementChild;
    if (line) words.append(this.button(`Line ${line}`, () => this.go(line)), ": ");
    const strong = document.createElement("b");
    strong.textContent = message;
    words.append(strong, " ");
    const guess = hint.match(/^Did you mean ([A-Za-z0-9_.]+)\?(.*)$/s);
    if (guess && line) words.append("Did you mean ", this.button(guess[1], () => this.replace(line, guess[1])), `?${guess[2]}`);
    else words.append(hint);
    return note;
  }

  button(text, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "link";
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
  }

  // The key of a line, spelt as the hint says.
  replace(line, key) {
    const { session } = this.editor;
    const { Range } = ace.require("ace/range");
    const found = session.getLine(line - 1).match(/^(\s*)([A-Za-z0-9_.]+)/);
    if (found) session.replace(new Range(line - 1, found[1].length, line - 1, found[0].length), key);
    this.go(line);
  }

  sum({ problems, changed, jobs, refused }) {
    const stops = problems.filter((one) => one.blocking).length;
    const count = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;
    const said = [stops ? count(stops, "problem") : "no problem", `${count(changed, "line")} changed`, ...(changed && !refused ? [jobs] : [])];
    document.getElementById("conf-sum").textContent = changed || problems.length ? said.join(" · ") : "Nothing changed yet.";
  }
}

// The former texts by the line of the new text below which they stood.
function grouped(lines) {
  const found = new Map();
  for (const { after, was } of lines) found.set(after, [...(found.get(after) ?? []), ...was.split("\n")]);
  return found;
}
