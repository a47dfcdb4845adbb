// The socket of one terminal: opens it, comes back to it after any cut, and keeps both directions within their credit.
// Nothing here knows the screen. The protocol is described in slurm/consumers.py.
const WINDOW = 256 * 1024;
const ACK_EVERY = 32 * 1024;
const PING_MS = 10_000;
const DEAD_MS = 25_000;
const BACKOFF_MS = [300, 1000, 2000, 4000, 8000];

export class Wire extends EventTarget {
  // Events: state {state, sentence, hint, code, inMs}, ready {whole, fresh, replay}, output (bytes), notice {sentence, left_s},
  // size {columns, rows}, watchers {watchers, away, token | owner, you}.
  #url; #size; #socket = null; #timer = 0; #tries = 0; #heard = 0; #pinging = 0;
  #outbox = []; #owed = 0; #unread = 0; #seen = 0; #opened = false; #share; #left = new AbortController();

  // `share` is the token of another's terminal, which has no session of ours.
  constructor(url, size, session, share = "") {
    super();
    this.#share = share;
    this.told = false; // the person knows that what is shown is recorded
    this.#url = url;
    this.#size = size;
    this.session = session;
    const options = { signal: this.#left.signal };
    addEventListener("online", () => this.#timer && this.connect(), options);
    addEventListener("pagehide", () => this.#drop(), options);
    addEventListener("pageshow", (event) => event.persisted && this.connect(), options);
  }

  get isOpen() { return this.#opened; }

  connect() {
    this.#drop();
    this.#tell("state", { state: "connecting" });
    const socket = (this.#socket = new WebSocket(this.#url));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.#say({ kind: "open", ...this.#size(), ...(this.session ? { session: this.session } : {}), ...(this.#seen ? { seen: this.#seen } : {}), ...(this.#share ? { share: this.#share } : {}), told: this.told });
    socket.onmessage = (event) => this.#take(event.data);
    socket.onclose = (event) => this.#closed(event);
    this.#heard = Date.now();
    this.#pinging = setInterval(() => this.#ping(), PING_MS);
  }

  renew() {
    this.session = "";
    this.#seen = 0;
    this.#tries = 0;
    this.connect();
  }

  // End the shell. What comes back is `ended`, with the code `closed`.
  close() {
    this.#say({ kind: "close" });
  }

  // Share it by a link, or no more.
  shareOut(on) {
    this.#say({ kind: "share", on });
  }

  allow(watcher, how) {
    this.#say({ kind: "allow", watcher, ...how });
  }

  // Nobody needs this socket any more.
  leave() {
    this.#drop();
    this.#left.abort();
  }

  resize() {
    if (this.#opened) this.#say({ kind: "resize", ...this.#size() });
  }

  type(bytes) {
    if (!this.#opened) return;
    // Ctrl-C means now: what was pasted before it and has not left yet is not wanted any more.
    if (bytes.length === 1 && bytes[0] === 3) this.#outbox = [];
    for (let at = 0; at < bytes.length; at += 16384) this.#outbox.push(bytes.subarray(at, at + 16384));
    this.#flush();
  }

  // The screen has shown this many bytes.
  shown(count) {
    this.#unread += count;
    if (this.#unread < ACK_EVERY) return;
    this.#say({ kind: "ack", bytes: this.#unread });
    this.#unread = 0;
  }

  #flush() {
    while (this.#outbox.length && this.#owed + this.#outbox[0].length <= WINDOW) {
      const bytes = this.#outbox.shift();
      this.#owed += bytes.length;
      this.#socket.send(bytes);
    }
  }

  #take(data) {
    this.#heard = Date.now();
    if (typeof data !== "string") {
      this.#seen += data.byteLength;
      this.#tell("output", new Uint8Array(data));
      return;
    }
    const said = JSON.parse(data);
    this.#acts[said.kind]?.(said);
  }

  #acts = {
    ready: (said) => {
      this.session = said.session;
      this.#seen = said.total - said.replay;
      this.#opened = true;
      this.#tries = 0;
      this.#tell("ready", said);
      this.#tell("state", { state: "open" });
    },
    taken: (said) => {
      this.#owed = Math.max(0, this.#owed - said.bytes);
      this.#flush();
    },
    size: (said) => this.#tell("size", said),
    watchers: (said) => this.#tell("watchers", said),
    notice: (said) => this.#tell("notice", said),
    ended: (said) => {
      if (said.code !== "taken") this.session = "";
      this.#final({ state: "ended", ...said });
    },
    refused: (said) => {
      if (said.retry) return this.#wait({ sentence: said.sentence, hint: said.hint }, 3000);
      if (said.code === "gone") this.session = "";
      return this.#final({ state: "refused", ...said });
    },
  };

  #closed(event) {
    if (event.target !== this.#socket) return;
    if (event.code === 4400) this.#final({ state: "refused", sentence: event.reason, hint: "" });
    else this.#wait({ sentence: event.reason }, BACKOFF_MS[Math.min(this.#tries++, BACKOFF_MS.length - 1)]);
  }

  #ping() {
    if (Date.now() - this.#heard > DEAD_MS) this.#wait({ sentence: "The console does not answer." }, 0);
    else if (this.#opened) this.#say({ kind: "ping" });
  }

  #wait(why, ms) {
    this.#drop();
    this.#tell("state", { state: "waiting", inMs: ms, ...why });
    this.#timer = setTimeout(() => this.connect(), ms);
  }

  #final(state) {
    this.#drop();
    this.#seen = 0;
    this.#tell("state", state);
  }

  #drop() {
    clearTimeout(this.#timer);
    clearInterval(this.#pinging);
    this.#timer = 0;
    const socket = this.#socket;
    this.#socket = null;
    this.#opened = false;
    this.#outbox = [];
    this.#owed = this.#unread = 0;
    socket?.close();
  }

  #say(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
