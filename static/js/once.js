// A form that the browser itself sends is sent once: a second click, before the answer has come, would ask for the same
// thing again. What htmx sends is its own business (hx-disabled-elt).
const sent = new Set();

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (sent.has(form)) event.preventDefault();
  sent.add(form);
});
// Back from the next page, the form may be sent anew.
addEventListener("pageshow", () => sent.clear());
