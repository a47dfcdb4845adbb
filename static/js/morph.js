// Turns the element `from` into `to` with the fewest touches, so that focus, scroll, text selection and what the page
// added by itself ([data-keep]) stay. Children are matched by id, else by place.
const HELD = new Set(["aria-selected", "open", "data-exact"]);

function attributes(from, to) {
  for (const { name, value } of to.attributes) {
    if (!HELD.has(name) && from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    if (!HELD.has(name) && !to.hasAttribute(name)) from.removeAttribute(name);
  }
}

const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id ?? "") === (b.id ?? "");
const kept = (node) => node.nodeType === Node.ELEMENT_NODE && "keep" in node.dataset;

function children(from, to) {
  const byId = new Map([...from.children].filter((child) => child.id).map((child) => [child.id, child]));
  let here = from.firstChild;
  for (const wanted of [...to.childNodes].filter((node) => !kept(node))) {
    while (here && kept(here)) here = here.nextSibling;
    const known = wanted.id ? byId.get(wanted.id) : here && alike(here, wanted) ? here : null;
    if (!known) {
      from.insertBefore(wanted, here);
      continue;
    }
    if (known === here) here = here.nextSibling;
    else from.insertBefore(known, here);
    morph(known, wanted);
  }
  while (here) {
    const next = here.nextSibling;
    if (!kept(here)) here.remove();
    here = next;
  }
}

export function morph(from, to) {
  if (!alike(from, to)) {
    from.replaceWith(to);
    return to;
  }
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return from;
  }
  if (from.isEqualNode(to) || "later" in (to.dataset ?? {})) return from; // data-later: the sender does not know this part
  attributes(from, to);
  if (from.matches("input, textarea, select")) return from; // never take away what somebody types
  children(from, to);
  return from;
}
