// Searching what the terminal with the focus has printed, in the box at the top right.
const MATCHES = { matchBackground: "#e5b56780", activeMatchBackground: "#e58e26", matchOverviewRuler: "#e5b567" };

// `current()` is the pane with the focus.
export function makeSearch(form, current) {
  const input = form.querySelector("input");
  const count = form.querySelector("span");
  let pane = null;
  let heard = null;
  const decorations = { ...MATCHES, activeMatchColorOverviewRuler: getComputedStyle(form).color };
  const find = (back, incremental = false) => {
    const { finder } = pane.screen;
    if (input.value) finder[back ? "findPrevious" : "findNext"](input.value, { decorations, incremental });
    else finder.clearDecorations();
    if (!input.value) count.textContent = "";
  };
  const follow = () => {
    pane = current();
    heard = pane.screen.finder.onDidChangeResults(({ resultIndex, resultCount }) => {
      count.textContent = !input.value ? "" : resultCount ? `${resultIndex + 1} of ${resultCount}` : "none";
    });
  };
  const leave = () => {
    heard?.dispose();
    pane?.screen.finder.clearDecorations();
    pane = null;
  };
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
    leave();
    if (!show) { current()?.focus(); return; }
    follow();
    input.focus();
    input.select();
    find(false, true);
  }
  return { toggle, previous: () => find(true), moved: () => form.hidden || pane === current() || toggle(false) };
}
