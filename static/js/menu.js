// <details class="qd-menu"> closes on Escape and on a press elsewhere; arrow keys move in an open one.
const open = () => document.querySelectorAll("details.qd-menu[open]");

document.addEventListener("click", (event) => {
  for (const menu of open()) {
    if (!menu.contains(event.target) || event.target.closest(".list a, .list button:not([aria-disabled])")) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  const [menu] = open();
  if (!menu) return;
  if (event.key === "Escape") {
    menu.open = false;
    menu.querySelector("summary").focus();
    event.preventDefault();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const items = [...menu.querySelectorAll(".list :is(a, button)")].filter((item) => item.offsetParent !== null);
    const here = items.indexOf(document.activeElement);
    const at = event.key === "ArrowDown" ? here + 1 : Math.max(here, 0) - 1;
    items[(at + items.length) % items.length]?.focus();
    event.preventDefault();
  }
});
