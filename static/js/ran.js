// <time data-ran="epoch"> counts on, second by second: how long a job has been on its nodes, as Slurm writes it.
const two = (number) => String(number).padStart(2, "0");

function clock(seconds) {
  const left = Math.max(0, Math.floor(seconds));
  const days = Math.floor(left / 86400);
  const text = [Math.floor((left % 86400) / 3600), Math.floor((left % 3600) / 60), left % 60].map(two).join(":");
  return days ? `${days}-${text}` : text;
}

function tick() {
  if (document.hidden || document.documentElement.hasAttribute("data-stale")) return;
  const now = Date.now() / 1000;
  for (const element of document.querySelectorAll("time[data-ran]")) {
    const text = clock(now - Number(element.dataset.ran));
    if (element.textContent !== text) element.textContent = text;
  }
}

setInterval(tick, 1000);
tick();
