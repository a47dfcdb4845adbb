// <time data-when> stays "4 min ago"; <time data-clock> shows the reader's own time of day. Exact time on hover.
const UNITS = [[86400, "d", 3600, "h"], [3600, "h", 60, "m"]];

export function duration(seconds) {
  const left = Math.max(0, Math.floor(seconds));
  if (left < 60) return `${left} s`;
  if (left < 3600) return `${Math.floor(left / 60)} min`;
  const [unit, name, part, small] = UNITS.find(([size]) => left >= size);
  const rest = Math.floor((left % unit) / part);
  return `${Math.floor(left / unit)} ${name}${rest ? ` ${rest} ${small}` : ""}`;
}

function ago(seconds) {
  if (Math.abs(seconds) < 2) return "just now";
  return seconds > 0 ? `${duration(seconds)} ago` : `in ${duration(-seconds)}`;
}

const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
const time = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

export function refresh(root = document) {
  for (const element of root.querySelectorAll("time[data-when], time[data-clock]")) {
    const moment = new Date(element.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const text = "when" in element.dataset ? ago((Date.now() - moment) / 1000) : time.format(moment);
    if (element.textContent !== text) element.textContent = text;
    if (!element.dataset.exact) {
      element.dataset.exact = element.title;
      element.title = `${local.format(moment)}\n${element.title}`;
    }
  }
}

refresh();
setInterval(() => { if (!document.hidden) refresh(); }, 5000);
document.addEventListener("htmx:afterSettle", () => refresh());
document.addEventListener("live:swapped", () => refresh());
