// A row of tabs wider than the screen shows the one that is open.
for (const tab of document.querySelectorAll(".qd-tabs [aria-current]")) {
  const row = tab.parentElement;
  row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}
