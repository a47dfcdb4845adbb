// What the catalogue says of one key, drawn into the card beside the editor.
function node(tag, classes, ...content) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.append(...content.filter((one) => one !== "" && one != null));
  return made;
}
const SHAPES = { ok: '<circle cx="5" cy="5" r="4.5" fill="currentColor"/>', warn: '<path d="M5 .5 9.7 9.3H.3z" fill="currentColor"/>' };

export function tone(cost) {
  return cost === "restart" ? "warn" : "ok";
}
export function costMark(cost, words) {
  const mark = node("span", `st ${tone(cost)}`);
  mark.innerHTML = `<svg viewBox="0 0 10 10" aria-hidden="true">${SHAPES[tone(cost)]}</svg>`;
  mark.append(words);
  return mark;
}
const code = (text) => node("code", "", text);
const icon = (name) => {
  const made = node("i", `ti ti-${name}`);
  made.ariaHidden = "true";
  return made;
};

function words(help) {
  const list = node("span", "conf-words");
  for (const { word, form } of help.words) list.append(node("code", "", form ? `${word}=` : word, form ? node("i", "faint", form) : ""));
  if (help.is_open) list.append(node("span", "faint", "and others"));
  return list;
}

function facts(help, now) {
  const rows = [["Type", node("span", "", help.kind_words, help.unit ? `, in ${help.unit}` : "")]];
  if (help.range) rows.push(["Range", code(help.range)]);
  rows.push(["Default", help.default ? code(help.default) : node("span", "muted", "not set")]);
  if (now.before != null || now.after != null) {
    const shown = (value) => (value == null ? node("span", "muted", "not set") : code(value || '""'));
    rows.push(["Now", now.before === now.after ? shown(now.after) : node("span", "conf-then", shown(now.before), " → ", shown(now.after))]);
  }
  if (!help.line) rows.push(["Takes effect", costMark(help.cost, help.cost_words)]);
  if (help.needs.length) rows.push(["Needs", node("span", "", ...help.needs.flatMap((one, i) => [i ? " or " : "", code(one)]))]);
  rows.push(["Known", help.known]);
  if (help.instead) rows.push(["Now called", code(help.instead)]);
  if (help.words.length) rows.push(["Words", words(help)]);
  return node("dl", "facts", ...rows.flatMap(([name, value]) => [node("dt", "", name), node("dd", "", value)]));
}

// Shows `help` (or hides the card when it is null). `now` holds the value that the cluster runs with and the one in the text.
export function show(card, help, now, { partitions } = {}) {
  card.hidden = !help;
  if (!help) return;
  card.querySelector("h2").textContent = help.name;
  const body = card.querySelector(".body");
  body.replaceChildren(node("p", "", help.help), facts(help, now));
  if (help.locked) {
    const text = node("div", "small", help.locked);
    if (help.line === "PartitionName") {
      const link = node("a", "link", "Open the Partitions tab");
      link.href = partitions;
      text.append(" ", link, ".");
    }
    body.append(node("div", "note", icon("lock"), text));
  }
  if (help.note) body.append(node("div", "note", icon("info-circle"), node("div", "small", help.note)));
}
