// Where the shell is, if it says so: OSC 7, a file URL that many shells print with each prompt. Any program may print one,
// so it only proposes: the page shows the folder before anything is sent to it.
const known = new WeakMap();
const ENCODED = /^(?:%[0-9A-Fa-f]{2}|[!$&'()*+,;=:@A-Za-z0-9._~/-])*$/;

export function listenTo(terminal) {
  if (!terminal || known.has(terminal)) return;
  known.set(terminal, "");
  terminal.parser.registerOscHandler(7, (said) => {
    const found = /^file:\/\/[^/]*(\/.*)$/.exec(said);
    if (found && found[1].length < 4096 && ENCODED.test(found[1])) known.set(terminal, found[1]);
    return true;
  });
}

// Percent-encoded; empty when the shell says nothing.
export const folderOf = (terminal) => known.get(terminal) ?? "";
