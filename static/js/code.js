// Ace over a <textarea>. The textarea keeps the text and is what the form sends; without this script it is the editor.
// The page's policy allows no inline styles, so Ace is kept from writing <style> elements and its sheet is adopted as an
// object instead; colours are the page's own tokens (css/code.css), which is how it follows dark and light.
/* global ace */
export function adopt(css) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets.push(sheet);
}

let dressed = false;
function dress(base) {
  if (dressed) return;
  dressed = true;
  ace.config.set("basePath", base);
  ace.config.set("useStrictCSP", true);
  adopt(ace.require("ace/css/editor-css"));
}

export function code(area, { mode, label }) {
  dress(area.dataset.ace);
  const box = document.createElement("div");
  box.className = "qd-ace";
  area.after(box);
  area.hidden = true;
  const editor = ace.edit(box, {
    mode: `ace/mode/${mode}`,
    value: area.value,
    fontSize: 12.5,
    fontFamily: "var(--qd-mono)",
    showPrintMargin: false,
    useSoftTabs: true,
    tabSize: 4,
    minLines: 18,
    maxLines: 34,
    useWorker: false,
    enableKeyboardAccessibility: true,
    highlightActiveLine: true,
  });
  editor.textInput.getElement().setAttribute("aria-label", label);
  editor.clearSelection();
  editor.session.setUseWrapMode(false);
  editor.session.on("change", () => {
    area.value = editor.getValue();
    area.dispatchEvent(new Event("input", { bubbles: true }));
  });
  return editor;
}
