// The keys that a phone's keyboard lacks. Ctrl holds for the next key.
const PLAIN = { esc: "\x1b", tab: "\t", pipe: "|", dash: "-", slash: "/" };
const ARROWS = { up: "A", down: "B", right: "C", left: "D" };

export function makeKeyBar(bar, terminal, type) {
  const ctrl = bar.querySelector("[data-key=ctrl]");
  const hold = (on) => ctrl.setAttribute("aria-pressed", String(on));
  const isHeld = () => ctrl.getAttribute("aria-pressed") === "true";

  // Pressing must not take the focus from the terminal, or the keyboard of the phone would go away.
  bar.addEventListener("pointerdown", (event) => event.target.closest("button") && event.preventDefault());
  bar.addEventListener("click", (event) => {
    const key = event.target.closest("[data-key]")?.dataset.key;
    if (!key) return;
    terminal.focus();
    if (key === "ctrl") { hold(!isHeld()); return; }
    const arrow = ARROWS[key];
    const application = terminal.modes.applicationCursorKeysMode && !isHeld();
    type(arrow ? (isHeld() ? `\x1b[1;5${arrow}` : `\x1b${application ? "O" : "["}${arrow}`) : withCtrl(PLAIN[key]));
    hold(false);
  });

  // What is typed next on any keyboard: Ctrl and a letter or one of @[\]^_ is its code without the upper bits.
  function withCtrl(text) {
    if (!isHeld() || !/^[@-_a-z]$/.test(text)) return text;
    hold(false);
    return String.fromCharCode(text.toUpperCase().charCodeAt(0) & 31);
  }
  return { withCtrl };
}
