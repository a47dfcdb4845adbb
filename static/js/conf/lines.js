// slurm.conf line by line, as far as a form needs it: which line sets a key, and how to write another value there.
// A line that goes on in the next one is left to the text: `simple` is false for it. No DOM, no editor.
const PAIR = /^(\s*)([A-Za-z0-9_.]+)(\s*[-+*/]?=\s*)("[^"]*"|(?:\\.|[^\s#"\\])(?:\\.|[^\s#\\])*)?/;

const unquoted = (raw) => (raw.startsWith('"') ? raw.slice(1, -1) : raw).replaceAll(/\\(.)/g, "$1");

// A value as it has to stand in the file; null for what no line can hold.
export function quoted(value) {
  if (/[\u0000-\u001f\u007f]/.test(value)) return null;
  const needs = /\s|^$/.test(value);
  if (needs && value.includes('"')) return null;
  const escaped = value.replaceAll("\\", "\\\\").replaceAll("#", "\\#");
  return needs ? `"${escaped}"` : escaped;
}

// The key that a line sets, or null. `from` and `to` are the columns of its value.
export function pair(line) {
  const found = line.match(PAIR);
  if (!found || /^\s*#/.test(line)) return null;
  const [whole, blank, key, equals, raw = ""] = found;
  const from = blank.length + key.length + equals.length;
  return { key, value: unquoted(raw), from, to: whole.length, simple: !/\\\s*$/.test(line) };
}

// What the rows `first` to `last` (inclusive) set, by key in lower case: the last line of a key wins, as in Slurm.
export function settings(lines, first, last) {
  const found = new Map();
  for (let row = first; row <= last; row += 1) {
    const one = pair(lines[row] ?? "");
    if (one) found.set(one.key.toLowerCase(), { ...one, row });
  }
  return found;
}

// The key at a column of a line: its first, or on a line of several fields the one that the column is in.
export function keyAt(line, column) {
  const one = pair(line);
  if (!one) return null;
  const kind = /^(NodeName|PartitionName|NodeSet|DownNodes)$/i.test(one.key) ? one.key : "";
  if (!kind) return { line: "", key: one.key, value: one.value };
  let at = { line: kind, key: one.key, value: one.value };
  for (const field of line.matchAll(/([A-Za-z0-9_.]+)=("[^"]*"|\S*)/g)) {
    if (field.index <= column) at = { line: kind, key: field[1], value: unquoted(field[2]) };
  }
  return at;
}
