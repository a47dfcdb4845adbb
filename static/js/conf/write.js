// Writes single settings into the person's block of an Ace session, each in its own line; undo takes them back.
/* global ace */
import { pair, quoted } from "./lines.js";

export function writer(editor, locks) {
  const { session } = editor;
  const { Range } = ace.require("ace/range");
  const rows = () => Array.from({ length: Math.max(0, locks.last() - locks.first() + 1) }, (_, i) => locks.first() + i);
  const at = (row) => pair(session.getLine(row));
  const setting = (key) => rows().filter((row) => at(row)?.key.toLowerCase() === key.toLowerCase());

  // `value` null takes every line of the key out; else its last line gets the value, or a new line below the settings.
  return function write(key, value) {
    const lines = setting(key);
    if (value === null) {
      for (const row of lines.reverse()) session.remove(new Range(row, 0, row + 1, 0));
      return;
    }
    const text = quoted(value);
    if (text === null) return;
    if (lines.length) {
      const { from, to } = at(lines.at(-1));
      session.replace(new Range(lines.at(-1), from, lines.at(-1), to), text);
      return;
    }
    const last = rows().filter((row) => at(row)).at(-1);
    session.insert({ row: (last ?? locks.last()) + 1, column: 0 }, `${key}=${text}\n`);
  };
}
