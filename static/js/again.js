// [data-every="4"] regions fetch themselves again every so many seconds, besides what the watcher pushes: a job's page is
// made of more than its row, and a team's list has no socket. A region that no longer carries it has come to rest.
import { ask } from "./live.js";

const SECOND_MS = 1000;
let seconds = 0;

setInterval(() => {
  seconds += 1;
  if (document.hidden || document.querySelector("dialog[open]")) return;
  for (const region of document.querySelectorAll("[data-live][data-every]")) {
    if (seconds % Number(region.dataset.every) === 0) ask(region.dataset.live.split(" "));
  }
}, SECOND_MS);
