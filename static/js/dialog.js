// <dialog id="dialog">: whatever htmx puts into it opens it. A link keeps its href, so that the dialog is a page too:
//   <a href="/x/drain/" hx-get="/x/drain/" hx-target="#dialog">
// Forms inside post back into the dialog. [data-close] closes, Escape closes, focus returns to what opened it, to the
// same link where the page was drawn anew meanwhile, or to the menu that holds it.
// What takes the focus: a mistake, what the form itself asks for, else the first control.
const FIRST = [".field.bad :is(input, select, textarea)", "[autofocus]", ".dlg-body :is(input:not([type=hidden]), select, textarea, button, a)"];
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

function sameLink(gone) {
  const address = gone?.getAttribute("hx-get");
  return address ? document.querySelector(`[hx-get="${CSS.escape(address)}"]`) : null;
}

function show(box) {
  const title = box.querySelector("h1");
  if (title) box.setAttribute("aria-label", title.textContent.trim());
  if (!box.open) box.showModal();
  const shown = (which) => [...box.querySelectorAll(which)].find((one) => !one.closest("[hidden], details:not([open])"));
  const first = FIRST.map(shown).find(Boolean);
  first?.focus({ preventScroll: Boolean(first.closest(".acts")) }); // a dialog begins at its top
}

export function openDialog(template) {
  const box = dialog();
  opener = document.activeElement;
  box.replaceChildren(template.content.cloneNode(true));
  show(box);
}

document.addEventListener("htmx:beforeRequest", (event) => {
  const { target, elt, requestConfig, pathInfo } = event.detail;
  if (target !== dialog()) return;
  if (!dialog().open) opener = requestConfig.triggeringEvent?.submitter ?? elt;
  if (requestConfig.verb === "get") dialog().dataset.url = pathInfo.finalRequestPath;
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
  const link = opener?.isConnected ? opener : sameLink(opener);
  const menu = link?.closest("details.qd-menu:not([open])");
  (menu?.querySelector("summary") ?? link)?.focus();
}, true);
