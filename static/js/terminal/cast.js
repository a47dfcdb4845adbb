// An asciicast v3 as events with their time since the beginning. Pure; what is no event is left out.
const PAUSE_S = 2; // a longer one is this long when pauses are skipped

// {columns, rows, events: [{at, short, code, data}]}: `at` as it was, `short` with pauses cut. Throws for another file.
export function parsed(text) {
  const lines = text.split("\n");
  const head = JSON.parse(lines[0]);
  if (head.version !== 3) throw new Error("not an asciicast v3");
  const events = [];
  let [at, short] = [0, 0];
  for (const line of lines.slice(1)) {
    const event = read(line);
    if (!event) continue;
    at += event[0];
    short += Math.min(event[0], PAUSE_S);
    events.push({ at, short, code: event[1], data: event[2] });
  }
  return { columns: head.term.cols, rows: head.term.rows, events };
}

function read(line) {
  if (!line || line.startsWith("#")) return null;
  try { return JSON.parse(line); } catch { return null; } // the last line of a recording that was broken off
}

// The place of the first event after `time`, by the clock `key`.
export function after(events, key, time) {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle][key] <= time) low = middle + 1; else high = middle;
  }
  return low;
}
