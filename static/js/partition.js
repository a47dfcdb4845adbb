// Choosing a partition's nodes by pressing them: each press rewrites the range in the form's field, which asks for a new
// preview. Works in the dialog and on the page of its own; the dialog's form comes and goes, so it listens to the document.

// `slinky-[0-1,5],cpu-workers-0`, in the order in which the names come.
export function fold(names) {
  const groups = new Map();
  for (const name of names) {
    const [, prefix, digits] = name.match(/^(.*?)(\d*)$/);
    groups.set(prefix, [...(groups.get(prefix) ?? []), digits]);
  }
  return [...groups].map(([prefix, all]) => written(prefix, all)).join(",");
}

function written(prefix, all) {
  if (all.length === 1) return prefix + all[0];
  const runs = [];
  for (const digits of [...all].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last && Number(digits) === Number(last[1]) + 1 && digits.length >= last[1].length) last[1] = digits;
    else runs.push([digits, digits]);
  }
  return `${prefix}[${runs.map(([a, b]) => (a === b ? a : `${a}-${b}`)).join(",")}]`;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-pick]");
  if (!button) return;
  button.ariaPressed = String(button.ariaPressed !== "true");
  const chosen = [...button.parentElement.querySelectorAll("[aria-pressed=true]")].map((one) => one.dataset.pick);
  const field = button.closest("form").elements.nodes;
  field.value = fold(chosen);
  field.dispatchEvent(new Event("input", { bubbles: true }));
});
