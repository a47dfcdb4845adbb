// Who looks on: the menu with which a terminal is shared by a link, and which shows its watchers. Names are only text.
const SHARE_WHY = "Anybody of the team who may open terminals here can look on by a link. They only watch until you let them type.";

// `links` is the address of a shared terminal without its token.
export function makeSharing(menu, links) {
  const [label, list] = [menu.querySelector("summary span"), menu.querySelector(".list")];
  let drawn = "";
  let stays = false; // what is pressed in an open menu is answered in it

  function draw(pane) {
    menu.hidden = !pane || pane.state !== "open" || !pane.audience;
    if (menu.hidden) { menu.open = false; return; }
    const { audience } = pane;
    const now = `${pane.id} ${JSON.stringify(audience)}`;
    if (now === drawn) return;
    drawn = now;
    label.textContent = summary(pane);
    menu.toggleAttribute("data-watched", audience.watchers.length > 0);
    list.replaceChildren(...(pane.share ? watching(pane) : audience.token ? shared(pane) : unshared(pane)));
    if (stays) menu.open = true;
    stays = false;
  }

  const pressed = (act) => () => { stays = true; act(); };
  const unshared = (pane) => [element("p", SHARE_WHY), button("Share this terminal", pressed(() => pane.shareOut(true)))];
  const shared = (pane) => {
    const code = element("code", `${location.origin}${links}${pane.audience.token}/`, { id: "terminal-link", tabIndex: 0 });
    const copy = button("Copy", () => {});
    copy.dataset.copyFrom = "#terminal-link";
    const row = element("div", "", { className: "qd-cmd" });
    row.append(code, copy);
    const nobody = pane.audience.watchers.length ? [] : [element("p", "Nobody watches yet.")];
    return [row, ...nobody, ...pane.audience.watchers.map((each) => watcher(pane, each)), button("Stop sharing", pressed(() => pane.shareOut(false)))];
  };
  const watcher = (pane, each) => {
    const row = element("div", "", { className: "watcher" });
    const name = element("span", each.who);
    name.append(" ", element("span", each.writes ? "may type" : "watches", { className: "faint" }));
    const type = button(each.writes ? "Only watch" : "Let type", pressed(() => pane.allow(each.id, { writes: !each.writes })));
    const out = button("Send away", pressed(() => pane.allow(each.id, { out: true })));
    for (const [act, words] of [[type, type.textContent], [out, "Send away"]]) act.setAttribute("aria-label", `${words}: ${each.who}`);
    row.append(name, type, out);
    return row;
  };
  const watching = (pane) => {
    const others = pane.audience.watchers.filter((each) => each.id !== pane.audience.you).map((each) => each.who);
    const { owner, away } = pane.audience;
    return [
      element("p", pane.mayType ? `${owner} lets you type into this terminal.` : `This is ${owner}'s terminal. You watch; ${owner} can let you type.`),
      ...(away ? [element("p", `${owner} is not looking at it now.`)] : []),
      element("p", others.length ? `Also here: ${others.join(", ")}.` : "Nobody else watches."),
    ];
  };
  return { draw };
}

function summary({ share, mayType, audience }) {
  if (share) return `${audience.owner}'s, ${mayType ? "you may type" : "read-only"}`;
  const names = audience.watchers.map((each) => each.who);
  if (names.length) return names.length > 2 ? `${names.length} watch` : `${names.join(" and ")} ${names.length > 1 ? "watch" : "watches"}`;
  return audience.token ? "Shared" : "Share";
}

function element(tag, text, facts = {}) {
  return Object.assign(document.createElement(tag), { textContent: text, ...facts });
}

function button(label, act) {
  const made = element("button", label, { type: "button", className: "qd-btn small" });
  made.addEventListener("click", act);
  return made;
}
