// OSC 52: a program asks for the clipboard. Writing to it needs the person's word; reading is never answered, or any
// program on the login node could see what was copied elsewhere (xterm control sequences, "Manipulate Selection Data").
const MOST = 100_000;

// `ask(text)` is called for each text that a program wants copied.
export function onClipboard(terminal, ask) {
  terminal.parser.registerOscHandler(52, (data) => {
    const payload = data.slice(data.indexOf(";") + 1);
    const text = payload.length > MOST ? "" : decoded(payload);
    if (text) ask(text);
    return true;
  });
}

function decoded(payload) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(atob(payload), (c) => c.charCodeAt(0)));
  } catch {
    return ""; // "?" asks for what is there, and gets nothing
  }
}
