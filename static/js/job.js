// A job's page fetches its own region again every few seconds, until the job has ended: the watcher pushes rows of
// lists, and this page is made of more than its row.
import { ask } from "./live.js";

const EVERY_MS = 4000;
const again = setInterval(() => {
  if (document.querySelector("dialog[open]")) return;
  if (document.querySelector("#job time[data-ran], #job .job-line .ahead")) ask(["job"]);
  else clearInterval(again);
}, EVERY_MS);
