// What is being sent, as a list: one line an upload, a few of them at once.
import { Upload } from "./upload.js";

const AT_ONCE = 2;
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function size(count) {
  const power = Math.min(UNITS.length - 1, count < 1024 ? 0 : Math.floor(Math.log2(count) / 10));
  const value = count / 1024 ** power;
  return `${value >= 10 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`;
}

export class UploadList {
  #box; #waiting = []; #all = new Set(); #done;

  // `done(folder)` is called when a file has come into it.
  constructor(box, done) {
    this.#box = box;
    this.#done = done;
    box.querySelector("[data-uploads-clear]").addEventListener("click", () => this.#clear());
    addEventListener("beforeunload", (event) => this.isMoving && event.preventDefault());
  }

  get isMoving() { return [...this.#all].some((upload) => upload.isMoving); }

  add(api, folder, file, token) {
    const upload = new Upload(api, folder, file, token);
    const line = this.#box.querySelector("template").content.firstElementChild.cloneNode(true);
    line.querySelector("b").textContent = file.name;
    line.querySelector(".upload-name span").textContent = size(file.size);
    line.querySelector("progress").setAttribute("aria-label", `Upload of ${file.name}`);
    this.#box.querySelector("ul").append(line);
    this.#box.hidden = false;
    this.#all.add(upload);
    upload.line = line;
    upload.addEventListener("changed", () => this.#draw(upload));
    line.dataset.state = "queued";
    line.querySelector(".upload-state").textContent = "Waits for the others";
    this.#waiting.push(upload);
    this.#more();
  }

  #more() {
    const running = [...this.#all].filter((upload) => upload.isMoving && !this.#waiting.includes(upload)).length;
    for (let free = AT_ONCE - running; free > 0 && this.#waiting.length; free -= 1) this.#waiting.shift().start();
    this.#say();
  }

  #draw(upload) {
    const { line, state } = upload;
    const bar = line.querySelector("progress");
    bar.value = state === "done" ? 1 : upload.file.size ? upload.sent / upload.file.size : 0;
    line.querySelector(".upload-state").textContent = words(upload);
    if (line.dataset.state === state) return;
    line.dataset.state = state;
    line.querySelector(".upload-acts").replaceChildren(...this.#acts(upload));
    if (state === "given-up") this.#forget(upload);
    if (state === "done") this.#done(upload.folder);
    if (!upload.isMoving) this.#more();
  }

  #acts(upload) {
    const { name } = upload.file;
    if (upload.state === "asks") return [button("Replace", `Replace ${name}`, () => upload.replace()), button("Skip", `Skip ${name}`, () => upload.giveUp())];
    if (upload.state === "failed") return [button("Again", `Upload ${name} again`, () => upload.again()), button("Remove", `Remove ${name} from the list`, () => upload.giveUp())];
    return upload.isMoving ? [button("Cancel", `Cancel the upload of ${name}`, () => upload.giveUp())] : [];
  }

  #forget(upload) {
    upload.line.remove();
    this.#all.delete(upload);
    this.#waiting = this.#waiting.filter((other) => other !== upload);
    this.#box.hidden = !this.#all.size;
  }

  #clear() {
    for (const upload of [...this.#all]) if (upload.state === "done") this.#forget(upload);
  }

  #say() {
    const states = [...this.#all].map((upload) => upload.state);
    const done = states.filter((state) => state === "done").length;
    this.#box.querySelector("[data-uploads-said]").textContent = `${done} of ${states.length} done`;
  }
}

function words(upload) {
  const percent = upload.file.size ? Math.floor((100 * upload.sent) / upload.file.size) : 100;
  const places = {
    sending: `${size(upload.sent)}, ${percent} %`,
    checking: "Comparing checksums",
    waiting: `${upload.sentence} Goes on by itself at ${percent} %.`,
    done: "Uploaded, checksum compared",
  };
  return places[upload.state] ?? upload.sentence;
}

function button(text, label, act) {
  const made = document.createElement("button");
  Object.assign(made, { type: "button", className: "qd-btn small quiet", textContent: text, ariaLabel: label, onclick: act });
  return made;
}
