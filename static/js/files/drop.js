// Files dragged over a place ([data-drop]): it says where they would go, and takes them when they are let go.
// A link or a text that is dragged is none of ours.
const holds = (event) => event.dataTransfer?.types.includes("Files");

export function takeDrops(place, { where, take }) {
  let depth = 0;
  const over = (on) => {
    place.classList.toggle("dropping", on);
    if (on) place.dataset.dropSays = `Drop to upload into ${where()}`;
  };
  place.addEventListener("dragenter", (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    depth += 1;
    over(true);
  });
  place.addEventListener("dragover", (event) => {
    if (!holds(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  });
  place.addEventListener("dragleave", (event) => {
    if (!holds(event)) return;
    depth -= 1;
    if (depth <= 0) over(false);
  });
  place.addEventListener("drop", (event) => {
    depth = 0;
    over(false);
    if (!holds(event)) return;
    event.preventDefault();
    event.stopPropagation();
    take(...sorted(event.dataTransfer));
  });
}

// Plain files, and how many folders were among them: those the console does not take.
function sorted(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const folders = items.filter((item) => item.webkitGetAsEntry?.()?.isDirectory);
  const files = items.filter((item) => !folders.includes(item)).map((item) => item.getAsFile());
  return [files.filter(Boolean), folders.length];
}
