// Completion from the catalogue: keys that may be written, and after "=" the words that a key takes.
/* global ace */
export function complete(editor, { keys, locks }) {
  const writable = keys.filter((one) => !one.line && !one.locked);
  const named = new Map(keys.filter((one) => !one.line).map((one) => [one.name.toLowerCase(), one]));
  const completer = {
    id: "slurmconf",
    identifierRegexps: [/[A-Za-z0-9_./-]/],
    getCompletions(_editor, session, { row, column }, _prefix, answer) {
      const line = session.getLine(row).slice(0, column);
      if (locks.isLocked(row) || line.trimStart().startsWith("#")) return answer(null, []);
      const set = line.match(/^\s*([A-Za-z0-9_.]+)\s*=/);
      if (!set) return answer(null, writable.map((one) => ({ caption: one.name, value: `${one.name}=`, meta: one.theme, score: 10, docText: one.help })));
      const help = named.get(set[1].toLowerCase());
      const words = help?.kind === "bool" ? [{ word: "YES", form: "" }, { word: "NO", form: "" }] : help?.words ?? [];
      return answer(null, words.map(({ word, form }) => ({ caption: word, value: form ? `${word}=` : word, meta: form, score: 10 })));
    },
  };
  return new Promise((ready) => {
    ace.config.loadModule("ace/ext/language_tools", () => {
      editor.setOptions({ enableBasicAutocompletion: true, enableLiveAutocompletion: true, enableSnippets: false });
      editor.completers = [completer];
      // The best match stays the chosen one, however slowly it is typed.
      ace.require("ace/autocomplete").Autocomplete.for(editor).stickySelectionDelay = -1;
      ready();
    });
  });
}
