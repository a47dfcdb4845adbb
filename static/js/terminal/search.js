// Searching what was printed, in the box at the top right.
import { SearchAddon } from "../../vendor/xterm-addon-search/addon-search.mjs";

export function makeSearch(terminal, form) {
  const addon = new SearchAddon({ highlightLimit: 2000 });
  terminal.loadAddon(addon);
  const input = form.querySelector("input");
  const count = form.querySelector("span");
  const style = getComputedStyle(form);
  const options = () => ({
    decorations: { matchBackground: "#e5b56780", activeMatchBackground: "#e58e26", matchOverviewRuler: "#e5b567", activeMatchColorOverviewRuler: style.color },
  });
  const find = (back, incremental = false) => {
    const act = back ? addon.findPrevious : addon.findNext;
    if (!input.value) addon.clearDecorations();
    else act.call(addon, input.value, { ...options(), incremental });
    if (!input.value) count.textContent = "";
  };
  addon.onDidChangeResults(({ resultIndex, resultCount }) => {
    count.textContent = !input.value ? "" : resultCount ? `${resultIndex + 1} of ${resultCount}` : "none";
  });
  input.addEventListener("input", () => find(false, true));
  form.addEventListener("submit", (event) => { event.preventDefault(); find(false); });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") toggle(false);
    else if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); find(true); }
    else return;
    event.stopPropagation();
  });

  function toggle(show = form.hidden) {
    form.hidden = !show;
    if (show) { input.focus(); input.select(); find(false, true); return; }
    addon.clearDecorations();
    terminal.focus();
  }
  return { toggle, previous: () => find(true) };
}
