// The keys that a phone's keyboard lacks. Ctrl and Alt hold for the next key; pressed twice, until pressed again.
const PLAIN = { esc: "\x1b", tab: "\t", pipe: "|", dash: "-", slash: "/", tilde: "~" };
const ARROWS = { up: "A", down: "B", right: "C", left: "D", home: "H", end: "F" };
const PAGES = { pageup: "5", pagedown: "6" };
const NEXT = { off: "once", once: "locked", locked: "off" };

// `current()` is the pane with the focus.
export function makeKeyBar(bar, current) {
  const held = { ctrl: "off", alt: "off" };

  function hold(name, how) {
    const button = bar.querySelector(`[data-key=${name}]`);
    held[name] = how;
    button.setAttribute("aria-pressed", String(how !== "off"));
    button.toggleAttribute("data-locked", how === "locked");
  }
  const used = () => { for (const name of ["ctrl", "alt"]) if (held[name] === "once") hold(name, "off"); };
  const [isCtrl, isAlt] = [() => held.ctrl !== "off", () => held.alt !== "off"];

  // Pressing must not take the focus from the terminal, or the keyboard of the phone would go away.
  bar.addEventListener("pointerdown", (event) => event.target.closest("button") && event.preventDefault());
  bar.addEventListener("click", (event) => {
    const key = event.target.closest("[data-key]")?.dataset.key;
    const pane = current();
    if (!key || !pane) return;
    pane.focus();
    if (key in held) hold(key, NEXT[held[key]]);
    else pane.type(sequence(key, pane.terminal.modes.applicationCursorKeysMode));
  });

  // As xterm sends them: a modifier is 1, and 2 more for Alt, 4 more for Ctrl.
  function sequence(key, isApplication) {
    const modifier = 1 + (isAlt() ? 2 : 0) + (isCtrl() ? 4 : 0);
    if (key in PLAIN) return modified(PLAIN[key]);
    used();
    if (key in PAGES) return `\x1b[${PAGES[key]}${modifier > 1 ? `;${modifier}` : ""}~`;
    return modifier > 1 ? `\x1b[1;${modifier}${ARROWS[key]}` : `\x1b${isApplication ? "O" : "["}${ARROWS[key]}`;
  }

  // What any keyboard gives next: Ctrl and a letter or one of @[\]^_ is its code without the upper bits, Alt puts an
  // escape before it. What is longer than a key (a paste, an answer of the terminal) is left alone.
  function modified(text) {
    if ([...text].length !== 1 || (!isCtrl() && !isAlt())) return text;
    const isLetter = isCtrl() && /^[@-_a-z]$/.test(text);
    const code = isLetter ? String.fromCharCode(text.toUpperCase().charCodeAt(0) & 31) : text;
    const given = `${isAlt() ? "\x1b" : ""}${code}`;
    used();
    return given;
  }
  return { modified };
}
