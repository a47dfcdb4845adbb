// One file on its way to the login node: chunks with an offset, gone on with after any cut, its SHA-256 compared at the
// end. Knows the API (slurm/api/files.py), not the page.
const BACKOFF_MS = [500, 1000, 2000, 4000, 8000];
const SILENCE_MS = 60_000;
const LEAST = 256 * 1024;

// Percent-encoded as the server writes paths; the name's bytes are its UTF-8.
export const joined = (folder, name) => `${folder.replace(/\/$/, "")}/${encodeURIComponent(name)}`;

export class Upload extends EventTarget {
  // Events: changed. state: sending, checking, waiting, asks (there is such a file), failed, done, given-up.
  #api; #path; #token; #request = null; #offset = 0; #id = ""; #most = LEAST; #chunk = LEAST; #tries = 0; #timer = 0; #replace = false; #sum = null;

  constructor(api, folder, file, token) {
    super();
    Object.assign(this, { file, folder, state: "sending", sentence: "", sent: 0 });
    this.#api = api;
    this.#path = joined(folder, file.name);
    this.#token = token;
    addEventListener("online", () => this.state === "waiting" && this.start());
  }

  get isOver() { return ["done", "failed", "given-up"].includes(this.state); }
  get isMoving() { return ["sending", "checking", "waiting"].includes(this.state); }

  async start() {
    clearTimeout(this.#timer);
    this.#become("sending");
    try {
      this.#sum ??= sumOf(this.file);
      await this.#begin();
      while (this.#offset < this.file.size) await this.#next();
      await this.#finish();
      this.#become("done");
    } catch (problem) {
      this.#stopped(problem);
    }
  }

  replace() {
    this.#replace = true;
    this.#tries = 0;
    this.start();
  }

  again() {
    this.#tries = 0;
    this.#sum = null;
    this.start();
  }

  async giveUp() {
    clearTimeout(this.#timer);
    this.#become("given-up");
    this.#request?.abort();
    if (this.#id) await this.#ask("DELETE", `/uploads/${this.#id}`).catch(() => {});
  }

  async #begin() {
    const mark = String(this.file.lastModified);
    const begun = await this.#ask("POST", "/uploads", { size: this.file.size, mark, replace: this.#replace });
    this.#id = begun.upload;
    this.#most = begun.chunk;
    this.#arrived(begun.offset);
  }

  // One chunk, about a second long: what a cut costs is small, and a fast line is still used.
  async #next() {
    const began = performance.now();
    const end = Math.min(this.file.size, this.#offset + this.#chunk);
    const said = await this.#ask("PUT", `/uploads/${this.#id}`, this.file.slice(this.#offset, end), { offset: this.#offset });
    const speed = (said.offset - this.#offset) / Math.max(1, performance.now() - began);
    this.#chunk = Math.min(this.#most, Math.max(LEAST, Math.round(speed * 1000)));
    this.#tries = 0;
    this.#arrived(said.offset);
  }

  async #finish() {
    this.#become("checking");
    const sha256 = await this.#sum;
    await this.#ask("POST", `/uploads/${this.#id}/finish`, { size: this.file.size, sha256, replace: this.#replace });
  }

  #arrived(offset) {
    this.#offset = offset;
    this.#moved(offset);
  }

  #moved(sent) {
    this.sent = Math.min(sent, this.file.size);
    this.#tell();
  }

  #stopped(problem) {
    if (this.state === "given-up") return;
    if (problem.title === "already-there") this.#become("asks", problem.detail);
    else if (problem.retryable || problem.title === "other-offset") this.#wait(problem);
    else this.#become("failed", `${problem.detail ?? problem.message} ${problem.hint ?? ""}`);
  }

  #wait(problem) {
    this.#become("waiting", problem.detail ?? "");
    this.#timer = setTimeout(() => this.start(), BACKOFF_MS[Math.min(this.#tries++, BACKOFF_MS.length - 1)]);
  }

  // Resolves with what the API said. Rejects with its problem document, or with one of ours when nobody answered.
  #ask(method, route, body, query = {}) {
    return new Promise((resolve, reject) => {
      const request = (this.#request = new XMLHttpRequest());
      const isBytes = body instanceof Blob;
      const more = Object.entries(query).map(([name, value]) => `&${name}=${value}`).join("");
      request.open(method, `${this.#api}${route}?path=${this.#path}${more}`);
      request.setRequestHeader("X-CSRFToken", this.#token);
      request.setRequestHeader("Accept", "application/json");
      if (body) request.setRequestHeader("Content-Type", isBytes ? "application/octet-stream" : "application/json");
      let silence = 0;
      const heard = () => {
        clearTimeout(silence);
        silence = setTimeout(() => request.abort(), method === "POST" ? 5 * SILENCE_MS : SILENCE_MS);
      };
      const from = this.#offset;
      if (isBytes) request.upload.onprogress = ({ loaded }) => { heard(); this.#moved(from + loaded); };
      request.onloadend = () => {
        clearTimeout(silence);
        if (request.status >= 200 && request.status < 300) resolve(request.response ? JSON.parse(request.response) : {});
        else reject(problemOf(request));
      };
      heard();
      request.send(isBytes ? body : body && JSON.stringify(body));
    });
  }

  #become(state, sentence = "") {
    if (this.state === "given-up") return;
    this.state = state;
    this.sentence = sentence.trim();
    this.#tell();
  }

  #tell() {
    this.dispatchEvent(new Event("changed"));
  }
}

function problemOf(request) {
  // No answer, or a proxy's that is down: the console itself says it in a problem document.
  const away = { retryable: true, detail: "The console does not answer." };
  if (!request.status || [502, 504].includes(request.status)) return away;
  try {
    const said = JSON.parse(request.response);
    return { retryable: request.status === 429 || request.status >= 502, ...said };
  } catch {
    return request.status >= 502 ? away : { detail: `The console answered ${request.status}.` };
  }
}

function sumOf(file) {
  const worker = new Worker(new URL("./sha256.js", import.meta.url), { type: "module" });
  return new Promise((resolve, reject) => {
    worker.onerror = () => reject({ detail: "The file's checksum could not be computed." });
    worker.onmessage = ({ data }) => {
      if (data.problem) reject({ detail: `The file could not be read: ${data.problem}` });
      if (data.sha256) resolve(data.sha256);
      if (data.problem || data.sha256) worker.terminate();
    };
    worker.postMessage(file);
  });
}
