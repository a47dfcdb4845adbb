// The platform's lines in an Ace session: greyed, with a lock, and no edit reaches them, whatever way it comes. Only a
// change that leaves the rows above and below the person's block as they were gets through to the document.
/* global ace */
export function lock(editor, { first, last, refused }) {
  const { session } = editor;
  const { doc } = session;
  const { Range } = ace.require("ace/range");
  const head = first - 1;
  const tail = doc.getLength() - last;
  const begin = () => head - 1;
  const end = () => doc.getLength() - tail;
  const width = (row) => doc.getLine(row).length;
  let open = false;

  function allows({ action, start, end: stop, lines }) {
    if (open) return true;
    const inside = (row) => row > begin() && row < end();
    if (action === "insert") {
      if (inside(start.row)) return true;
      if (start.row === begin()) return start.column === width(start.row) && lines[0] === "";
      return start.row === end() && start.column === 0 && lines.at(-1) === "";
    }
    if (inside(start.row)) return inside(stop.row) || (stop.row === end() && stop.column === 0 && start.column === 0);
    return start.row === begin() && start.column === width(start.row) && inside(stop.row) && stop.column === width(stop.row);
  }
  const apply = doc.applyDelta.bind(doc);
  doc.applyDelta = (delta, unchecked) => {
    if (allows(delta)) return apply(delta, unchecked);
    wasRefused = true;
    refused(delta.start.row);
    return undefined;
  };

  // A command is done whole or not at all: a line moved over the marker would be taken out here and let in nowhere.
  const block = () => doc.getLines(begin() + 1, end() - 1).join("\n");
  let wasRefused = false;
  let whole = null;
  editor.commands.on("exec", () => {
    whole = block();
    wasRefused = false;
  });
  editor.commands.on("afterExec", () => {
    if (wasRefused && whole !== null && block() !== whole) put(whole);
    whole = null;
  });
  function put(lines) {
    const { row, column } = editor.getCursorPosition();
    const empty = end() === begin() + 1;
    if (empty) session.insert({ row: end(), column: 0 }, `${lines}\n`);
    else session.replace(new Range(begin() + 1, 0, end() - 1, width(end() - 1)), lines);
    editor.moveCursorTo(Math.min(row, end() - 1), column);
    editor.clearSelection();
  }

  let shown = [];
  let markers = [];
  function show() {
    for (const row of shown) session.removeGutterDecoration(row, "qd-locked");
    for (const id of markers) session.removeMarker(id);
    const last_ = doc.getLength() - (width(doc.getLength() - 1) ? 1 : 2);
    const rows = (a, b) => Array.from({ length: Math.max(0, b - a + 1) }, (_, i) => a + i);
    shown = [...rows(0, begin()), ...rows(end(), last_)];
    for (const row of shown) session.addGutterDecoration(row, "qd-locked");
    markers = [[0, begin()], [end(), last_]]
      .filter(([a, b]) => b >= a)
      .map(([a, b]) => session.addMarker(new Range(a, 0, b, 1), "qd-locked-line", "fullLine"));
  }
  session.on("change", show);
  show();

  return {
    first: () => begin() + 1,
    last: () => end() - 1,
    isLocked: (row) => row <= begin() || row >= end(),
    freely(act) {
      open = true;
      act();
      open = false;
    },
    select() {
      const until = end() - 1;
      if (until > begin()) editor.selection.setRange(new Range(begin() + 1, 0, until, width(until)));
    },
  };
}
