// [data-copy="text"] copies its text when pressed; [data-copy-from="#id"] copies what that element shows.
import { toast } from "./toast.js";

function fallback(text) {
  // navigator.clipboard exists on https and localhost only; a console on a plain http address needs this.
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "sr";
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

// Whether it worked. Without a recent press or key the browser may refuse.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return fallback(text);
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-from]");
  if (!button) return;
  event.preventDefault();
  const text = button.dataset.copy ?? document.querySelector(button.dataset.copyFrom)?.textContent.trim() ?? "";
  if (!(await copy(text))) {
    toast("This browser does not let the page copy. Select the text instead.", "warn");
    return;
  }
  button.classList.add("copied");
  toast(`Copied ${text.length > 60 ? `${text.length} characters` : text}`, "ok", 1600);
  setTimeout(() => button.classList.remove("copied"), 1600);
});
