// Short notices at the corner; also says when a request of the page got no answer at all.
const ICONS = { ok: "check", warn: "alert-triangle", bad: "alert-triangle" };

export function toast(text, tone = "ok", ms = 6000) {
  const box = document.getElementById("toasts");
  if (!box) return;
  const note = document.createElement("div");
  note.className = "qd-toast";
  const mark = document.createElement("span");
  mark.className = `st ${tone}`;
  const icon = document.createElement("i");
  icon.className = `ti ti-${ICONS[tone]}`;
  icon.ariaHidden = "true";
  mark.append(icon);
  const words = document.createElement("span");
  words.className = "wrap";
  words.textContent = text;
  note.append(mark, words);
  box.replaceChildren(...[...box.children].slice(-2), note);
  setTimeout(() => note.remove(), ms);
}

for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, () => toast("The console did not answer. Nothing was changed; try again.", "bad"));
}
