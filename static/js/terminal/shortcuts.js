// Keys of the page while a terminal has the focus. A shell cannot tell Ctrl+Shift+letter from Ctrl+letter, nor does it
// hear of Ctrl with a digit or a sign of the size, so that nothing is taken from it.
const SIZES = { "=": "larger", "+": "larger", "-": "smaller", 0: "usual" };
const SHIFTED = {
  KeyC: "copy", KeyE: "right", KeyF: "search", KeyL: "another", KeyM: "leave", KeyO: "down", KeyX: "close",
  KeyY: "files",
  Comma: "before", Period: "after", Enter: "full", Equal: "larger", Minus: "smaller",
};

// Returns false for a key that was ours, as xterm wants it.
export function shortcut(event, acts) {
  const isHeld = (event.ctrlKey || event.metaKey) && !event.altKey;
  const act = isHeld ? (event.shiftKey ? SHIFTED[event.code] : SIZES[event.key]) : undefined;
  if (!act) return true;
  event.preventDefault();
  if (event.type === "keydown") acts[act]();
  return false;
}
