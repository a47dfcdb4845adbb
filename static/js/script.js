// The editor of a life script: Ace over the textarea, which is what the form sends.
/* global ace */
import { adopt, code } from "./code.js";

const area = document.getElementById("script-text");
if (typeof ace !== "undefined") {
  const editor = code(area, { mode: "sh", label: document.querySelector(`label[for="${area.id}"]`).textContent });
  editor.setOptions({ minLines: 20, maxLines: 30, readOnly: area.readOnly });
  editor.container.classList.add("qd-conf");
  editor.container.style.lineHeight = "20px";
  editor.renderer.updateFontSize();
  ace.config.loadModule("ace/ext/searchbox", () => adopt(ace.require("ace/ext/searchbox-css")));
}
