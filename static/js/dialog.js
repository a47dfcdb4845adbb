// <dialog id="dialog">: whatever htmx puts into it opens it. A link keeps its href, so that the dialog is a page too:
//   <a href="/x/drain/" hx-get="/x/drain/" hx-target="#dialog">
// Forms inside post back into the dialog. [data-close] closes, Escape closes, focus returns to where it was.
const dialog = () => document.getElementById("dialog");
let opener = null;

function stayInside(box) {
  for (const form of box.querySelectorAll("form[method=post]:not([hx-post])")) {
    form.setAttribute("hx-post", form.getAttribute("action") || box.dataset.url);
    form.setAttribute("hx-target", "#dialog");
    form.setAttribute("hx-disabled-elt", "find button.primary");
    form.setAttribute("hx-disinherit", "hx-disabled-elt");
  }
  htmx.process(box);
}

function show(box) {
  const title = box.querySelector("h1");
  if (title) box.setAttribute("aria-label", title.textContent.trim());
  if (!box.open) {
    opener = document.activeElement;
    box.showModal();
  }
  const first = box.querySelector("[autofocus], .field.bad :is(input, select, textarea)") ?? box.querySelector(".dlg-body :is(input:not([type=hidden]), select, textarea, button)");
  first?.focus();
}

export function openDialog(template) {
  const box = dialog();
  box.replaceChildren(template.content.cloneNode(true));
  show(box);
}

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.target === dialog() && event.detail.requestConfig.verb === "get") {
    dialog().dataset.url = event.detail.pathInfo.finalRequestPath;
  }
});
document.addEventListener("htmx:afterSwap", (event) => {
  const box = dialog();
  if (event.detail.target !== box || !box.firstElementChild) return;
  stayInside(box);
  show(box);
});
document.addEventListener("click", (event) => {
  const box = dialog();
  if (event.target.closest("[data-close]") && box.open) {
    event.preventDefault();
    box.close();
  } else if (event.target === box && box.open && !box.querySelector("form")) {
    box.close(); // a press beside it; never where something typed would be lost
  }
});
document.addEventListener("close", (event) => {
  if (event.target !== dialog()) return;
  event.target.replaceChildren();
  opener?.focus?.();
}, true);
