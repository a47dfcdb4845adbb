// A tab's tree of splits as boxes with dividers between them, to be dragged or moved with the arrow keys.
const LEAST = 0.12; // of the two parts beside a divider, so that none is ever lost
const STEP = 0.05;

// Fill `panel` with the tree. `element(pane)` gives a pane's own box; `changed` is told when a divider was moved.
export function arrange(panel, node, element, changed) {
  panel.replaceChildren(built(node, element, changed));
}

function built(node, element, changed) {
  if ("pane" in node) return element(node.pane);
  const box = document.createElement("div");
  box.className = "terminal-split";
  box.dataset.way = node.way;
  const parts = node.parts.map((part) => built(part, element, changed));
  const grow = () => parts.forEach((part, at) => { part.style.flexGrow = node.shares[at]; });
  grow();
  parts.forEach((part, at) => box.append(...(at ? [divider(box, node, at, () => { grow(); changed(); })] : []), part));
  return box;
}

function divider(box, node, at, moved) {
  const line = document.createElement("div");
  line.className = "terminal-divider";
  line.tabIndex = 0;
  line.setAttribute("role", "separator");
  line.setAttribute("aria-orientation", node.way === "row" ? "vertical" : "horizontal");
  line.setAttribute("aria-label", "Size of the terminals beside this line");
  const share = () => node.shares[at - 1] / (node.shares[at - 1] + node.shares[at]);
  const tell = () => line.setAttribute("aria-valuenow", String(Math.round(share() * 100)));
  const place = (fraction) => {
    const both = node.shares[at - 1] + node.shares[at];
    node.shares[at - 1] = both * Math.min(1 - LEAST, Math.max(LEAST, fraction));
    node.shares[at] = both - node.shares[at - 1];
    tell();
    moved();
  };
  tell();
  line.addEventListener("pointerdown", (event) => {
    line.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  line.addEventListener("pointermove", (event) => {
    if (!line.hasPointerCapture(event.pointerId)) return;
    const [before, after] = [line.previousElementSibling.getBoundingClientRect(), line.nextElementSibling.getBoundingClientRect()];
    const inRow = node.way === "row";
    const [from, to] = inRow ? [before.left, after.right] : [before.top, after.bottom];
    place(((inRow ? event.clientX : event.clientY) - from) / (to - from));
  });
  line.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -STEP, ArrowUp: -STEP, ArrowRight: STEP, ArrowDown: STEP }[event.key];
    if (!by) return;
    event.preventDefault();
    place(share() + by);
  });
  line.addEventListener("dblclick", () => place(0.5));
  return line;
}
