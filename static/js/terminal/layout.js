// Which panes stand where: tabs, each a tree of splits. Plain data that a reload brings back; knows no page.
// A leaf is {pane, number, session}: people count terminals by `number`. A split is
// {way: "row" | "column", parts, shares}; shares are what flex-grow gets.
export const MOST = 12; // as many as the terminal worker holds for one person

const isLeaf = (node) => "pane" in node;
const leavesOf = (node) => (isLeaf(node) ? [node] : node.parts.flatMap(leavesOf));

export class Layout {
  tabs = []; // {id, name, root, at}: `at` is the pane with the focus, `name` is empty until a person gives one
  active = 0;
  #next = 1;

  // What `toString` gave; anything else, as of an older page, is an empty layout.
  static from(text) {
    const layout = new Layout();
    try {
      const kept = JSON.parse(text);
      if (kept.tabs.every((tab) => leavesOf(tab.root).some((leaf) => leaf.pane === tab.at))) Object.assign(layout, { tabs: kept.tabs, active: kept.active });
    } catch { /* nothing kept: begin anew */ }
    layout.#next = 1 + Math.max(0, ...layout.tabs.map((tab) => tab.id), ...layout.leaves.map((leaf) => leaf.pane));
    return layout;
  }

  toString() { return JSON.stringify({ tabs: this.tabs, active: this.active }); }

  get leaves() { return this.tabs.flatMap((tab) => leavesOf(tab.root)); }
  get tab() { return this.tabs.find((tab) => tab.id === this.active) ?? this.tabs[0]; }
  get isFull() { return this.leaves.length >= MOST; }

  leaf(pane) { return this.leaves.find((leaf) => leaf.pane === pane); }
  panesOf(tab) { return leavesOf(tab.root).map((leaf) => leaf.pane); }
  tabOf(pane) { return this.tabs.find((tab) => this.panesOf(tab).includes(pane)); }

  // Each of these leaves the focus on the pane that it returns.
  add(session = "") {
    const leaf = this.#leaf(session);
    this.tabs.push({ id: this.#next++, name: "", root: leaf, at: leaf.pane });
    return this.focus(leaf.pane);
  }

  split(pane, way) {
    const tab = this.tabOf(pane);
    const leaf = this.#leaf("");
    tab.root = divided(tab.root, pane, way, leaf);
    return this.focus(leaf.pane);
  }

  focus(pane) {
    const tab = this.tabOf(pane);
    tab.at = pane;
    this.active = tab.id;
    return pane;
  }

  // Returns the pane that is next to it, 0 when none is left at all.
  remove(pane) {
    const tab = this.tabOf(pane);
    const order = this.leaves.map((leaf) => leaf.pane);
    const at = order.indexOf(pane);
    const root = without(tab.root, pane);
    if (root) tab.root = root;
    else this.tabs.splice(this.tabs.indexOf(tab), 1);
    const near = root ? leavesOf(root).map((leaf) => leaf.pane) : [];
    const next = [order[at - 1], order[at + 1]].find((each) => near.includes(each)) ?? near[0] ?? order[at + 1] ?? order[at - 1];
    return next ? this.focus(next) : 0;
  }

  // The pane `by` places on, around the end, over all tabs.
  beside(by) {
    const order = this.leaves.map((leaf) => leaf.pane);
    return order[(order.indexOf(this.tab.at) + by + order.length) % order.length];
  }

  #leaf(session) {
    const taken = new Set(this.leaves.map((leaf) => leaf.number));
    let number = 1;
    while (taken.has(number)) number += 1;
    return { pane: this.#next++, number, session };
  }
}

// The tree with `leaf` beside `pane`. A split the same way gets one part more; the pane gives half of its own share.
function divided(node, pane, way, leaf) {
  if (isLeaf(node)) return node.pane === pane ? { way, parts: [node, leaf], shares: [1, 1] } : node;
  const at = node.parts.findIndex((part) => isLeaf(part) && part.pane === pane);
  if (at < 0 || node.way !== way) return { ...node, parts: node.parts.map((part) => divided(part, pane, way, leaf)) };
  const half = node.shares[at] / 2;
  return { way, parts: node.parts.toSpliced(at + 1, 0, leaf), shares: node.shares.toSpliced(at, 1, half, half) };
}

// The tree less `pane`; a split with one part left is that part. Null when nothing is left.
function without(node, pane) {
  if (isLeaf(node)) return node.pane === pane ? null : node;
  const kept = node.parts.map((part, at) => [without(part, pane), node.shares[at]]).filter(([part]) => part);
  if (kept.length < 2) return kept.length ? kept[0][0] : null;
  return { way: node.way, parts: kept.map(([part]) => part), shares: kept.map(([, share]) => share) };
}
