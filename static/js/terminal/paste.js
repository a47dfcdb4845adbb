// Pasting into a terminal: cleaned of control characters, and asked about when it is more than a line.
import { openDialog } from "../dialog.js";

// A pasted escape could end a bracketed paste early, and what follows would be keys. Tab and newline are text.
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
const SHOWN = 12; // lines of it in the question
let isTrusted = false; // asked no more on this page

export const cleaned = (text) => text.replace(/\r\n?/g, "\n").replace(CONTROLS, "");

// `paste` gets the text when the person agreed. What a browser's own paste brings never reaches xterm unasked.
export function guardPaste(element, terminal, paste) {
  element.addEventListener("paste", (event) => {
    event.preventDefault();
    event.stopPropagation();
    const text = cleaned(event.clipboardData?.getData("text/plain") ?? "");
    if (!text.includes("\n") || isTrusted) { if (text) paste(text); return; }
    ask(text, terminal.modes.bracketedPasteMode, paste);
  }, true);
}

function ask(text, isBracketed, paste) {
  openDialog(document.getElementById("terminal-paste"));
  const box = document.getElementById("dialog");
  const lines = text.replace(/\n$/, "").split("\n");
  const title = lines.length > 1 ? `Paste ${lines.length} lines?` : "Paste a line with its Enter?";
  box.querySelector("h1").textContent = title;
  box.setAttribute("aria-label", title);
  box.querySelector(".paste-why").textContent = isBracketed
    ? "The program takes them as one text and waits for Enter."
    : "Every line is run at once, as if typed with Enter.";
  box.querySelector("pre").textContent = lines.slice(0, SHOWN).join("\n");
  const more = box.querySelector(".paste-more");
  more.hidden = lines.length <= SHOWN;
  more.textContent = `and ${lines.length - SHOWN} more lines`;
  const answer = (chosen) => {
    isTrusted = box.querySelector("input").checked;
    box.close();
    paste(chosen);
  };
  box.querySelector("[data-paste=all]").addEventListener("click", () => answer(text));
  const joined = box.querySelector("[data-paste=line]");
  joined.addEventListener("click", () => answer(lines.map((line) => line.trim()).join(" ")));
  box.querySelector("[data-paste=all]").focus();
}
