// One terminal on the page: its screen, its socket and its strip, and in words how it stands. Knows no tabs.
import { copy } from "../copy.js";
import { onClipboard } from "./clipboard.js";
import { guardPaste } from "./paste.js";
import { makeScreen } from "./screen.js";
import { Strip } from "./strip.js";
import { plain } from "./titles.js";
import { Wire } from "./wire.js";

// What a terminal says by itself: answers to questions of programs, and whether it has the focus. Of many who look at one
// shell only the owner's may answer (xterm control sequences: DA, DSR, DECRPM, OSC, DCS, focus).
const ANSWER = /^\x1b(\[[?>=]?[\d;]*\$?[cnRyIO]|[\]P_])/;
const encoder = new TextEncoder();

export class Pane extends EventTarget {
  // Events: changed (state, title or session is another), closed (nobody needs it any more), typed (text: what a key gave,
  // which the page may turn into something else, as a held Ctrl does).
  #strip; #wire; #muted = 0; #opening = 0; #news = ""; #mayCopy = false; #counting = "";

  // `share` is the token of another's terminal, empty for one's own.
  constructor(id, host, url, session, share = "") {
    super();
    this.share = share;
    this.audience = null;
    this.compare = () => htmx.ajax("GET", host.dataset.hostKey, { target: "#dialog" });
    this.id = id;
    this.state = "connecting";
    this.title = "";
    this.recorded = false;
    this.element = document.getElementById("terminal-pane").content.firstElementChild.cloneNode(true);
    this.#strip = new Strip(this.element.querySelector(".terminal-strip"));
    this.screen = makeScreen(host, this.element.querySelector(".terminal-screen"));
    this.terminal = this.screen.terminal;
    this.#wire = new Wire(url, () => ({ columns: this.terminal.cols, rows: this.terminal.rows }), session, share);
    this.modified = (text) => text;
    this.#listen();
  }

  get session() { return this.#wire.session; }

  get mayType() { return !this.share || Boolean(this.audience?.watchers.find((each) => each.id === this.audience.you)?.writes); }

  shareOut(on) { this.#wire.shareOut(on); }

  allow(watcher, how) { this.#wire.allow(watcher, how); }

  start() { this.#wire.connect(); }

  focus() { this.terminal.focus(); }

  async copy() {
    if (this.terminal.hasSelection()) await copy(this.terminal.getSelection());
    this.focus();
  }

  type(text) {
    // A screen that is being drawn again answers questions that programs asked long ago: nobody typed those answers.
    if (this.#muted) return;
    if (this.state === "open" && this.mayType) this.#wire.type(encoder.encode(text));
    else if (text === "\r" && (this.state === "ended" || this.state === "refused")) this.#renew();
    if (this.#counting === "idle") this.#quiet();
  }

  // A shell that runs is asked about first: what runs in it ends with it.
  close() {
    if (this.share) { this.#leave(); return; }
    if (this.state !== "open" && this.state !== "waiting") { this.#leave(); return; }
    this.#strip.show("End this terminal?", "What runs in it ends, too.", {
      buttons: [["End it", () => this.#end()], ["Keep it", () => { this.#quiet(); this.focus(); }]],
    });
    this.element.querySelector(".terminal-strip button").focus();
  }

  #listen() {
    const { terminal } = this;
    terminal.onData((text) => (this.share && ANSWER.test(text)) || this.type(this.modified(text)));
    terminal.onKey(() => this.state !== "open" || this.mayType || this.#onlyWatch());
    terminal.onBinary((text) => !this.#muted && this.mayType && this.#wire.type(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    terminal.onResize(() => this.share || this.#wire.resize());
    this.#wire.addEventListener("size", ({ detail }) => this.share && this.screen.follow(detail.columns, detail.rows));
    this.#wire.addEventListener("watchers", ({ detail }) => { this.audience = detail; this.#tell("changed"); });
    terminal.onTitleChange((title) => { this.title = plain(title); this.#tell("changed"); });
    guardPaste(this.element, terminal, (text) => { this.focus(); terminal.paste(text); });
    onClipboard(terminal, (text) => this.#muted || this.share || this.#wanted(text));
    this.#wire.addEventListener("ready", ({ detail }) => this.#ready(detail));
    this.#wire.addEventListener("output", ({ detail }) => this.#printed(detail));
    this.#wire.addEventListener("notice", ({ detail }) => this.#notice(detail));
    // Open is not said before the old screen is drawn: keys typed until then would be lost among the unwanted answers.
    this.#wire.addEventListener("state", ({ detail }) => (detail.state === "open" && this.#muted) || this.#became(detail));
  }

  #ready(said) {
    this.#opening += 1;
    this.#muted = said.fresh ? 0 : said.replay;
    this.recorded = said.recorded;
    if (said.whole) this.terminal.reset();
    this.#tell("changed");
  }

  #printed(bytes) {
    const mine = this.#opening;
    this.terminal.write(bytes, () => {
      if (mine !== this.#opening || !this.#wire.isOpen) return;
      this.#wire.shown(bytes.length);
      if (!this.#muted) return;
      this.#muted = Math.max(0, this.#muted - bytes.length);
      if (!this.#muted) this.#became({ state: "open" });
    });
  }

  // A program wants this in the clipboard.
  async #wanted(text) {
    if (this.#mayCopy && (await copy(text))) { this.focus(); return; }
    const take = (always) => async () => {
      this.#mayCopy = always;
      this.#quiet();
      if (!(await copy(text))) this.#strip.show("This browser does not let the page copy.", "Select the text instead.");
      this.focus();
    };
    const size = [...text].length;
    this.#strip.show("Copy to the clipboard?", `A program in this terminal asks for it, with ${size} character${size > 1 ? "s" : ""}: ${plain(text)}`, {
      buttons: [["Copy", take(false)], ["Always here", take(true)], ["No", () => { this.#quiet(); this.focus(); }]],
    });
  }

  // An end that is near; without a code, that it is not any more.
  #notice({ code, sentence, left_s: left }) {
    if (code) this.#strip.show("", sentence, { until: Date.now() + left * 1000 });
    else if (this.#counting) this.#strip.hide();
    this.#counting = code;
  }

  #became(detail) {
    if (detail.state === "ended" && detail.code === "closed") { this.#leave(); return; }
    const came = this.state;
    this.state = detail.state;
    this.element.dataset.state = detail.state;
    if (detail.state === "open") this.#opened();
    if (detail.state === "waiting" && (detail.sentence || came === "open")) this.#waits(detail);
    if (detail.state === "ended") this.#ended(detail);
    if (detail.state === "refused") this.#refused(detail);
    this.#tell("changed");
  }

  #opened() {
    this.#quiet();
    if (this.#news) this.#strip.show("", `${this.#news} This is a new one.`, { tone: "info", buttons: [["Close", () => this.#quiet()]] });
    this.#news = "";
  }

  #onlyWatch() {
    this.#strip.show("Read-only.", `${this.audience?.owner} has not let you type here.`, { tone: "info", buttons: [["Close", () => this.#quiet()]] });
  }

  #waits({ sentence, hint }) {
    const now = [["Now", () => this.#again()]];
    this.#strip.show("Reconnecting by itself.", `${sentence || "The connection was cut."} ${hint ?? ""}`, { tone: "info", buttons: now });
  }

  #ended({ code, sentence }) {
    if (this.share) { this.#strip.show("You watch no more.", sentence); return; }
    const label = code === "taken" ? "Use it here" : code === "revoked" ? "" : "New terminal";
    const title = code === "taken" ? "" : "This terminal has ended.";
    this.#strip.show(title, sentence, { tone: code === "revoked" ? "bad" : "", buttons: this.#offer(label) });
  }

  #refused({ code, sentence, hint }) {
    if (code === "recorded") { this.#asks(sentence, hint); return; }
    const isGone = code === "gone";
    if (this.share) { this.#strip.show(sentence, hint, { tone: "bad" }); return; }
    if (code === "host-key") { this.#strip.show(sentence, hint, { tone: "bad", buttons: [["Compare the keys", this.compare], ...this.#offer("Try again")] }); return; }
    if (isGone && !this.terminal.buffer.active.baseY && !this.terminal.buffer.active.cursorY) { this.#anew(sentence); return; }
    this.#strip.show(sentence, hint, { tone: isGone ? "" : "bad", buttons: this.#offer(isGone ? "New terminal" : "Try again") });
  }

  // Nothing is opened before the person was told that it is recorded; once is enough for this page.
  #asks(sentence, hint) {
    if (Pane.told) { this.#wire.told = true; this.#renew(); return; }
    const open = () => { Pane.told = true; this.#wire.told = true; this.#again(); };
    this.#strip.show(sentence, hint, { buttons: [["Open it, recorded", open], ["Close", () => this.#leave()]] });
  }

  // A page that was opened again has nothing to show of what ended meanwhile: it says why, over a new terminal.
  #anew(why) {
    this.#news = why;
    this.#wire.renew();
  }

  #offer(label) {
    return label ? [[label, () => this.#again()], ["Close", () => this.#leave()]] : [["Close", () => this.#leave()]];
  }

  #again() {
    this.focus();
    this.#renew();
  }

  #renew() {
    this.#muted = 0;
    if (this.#wire.session) this.#wire.connect(); else this.#wire.renew();
  }

  #end() {
    if (this.#wire.isOpen) this.#wire.close(); else this.#leave();
  }

  #leave() {
    this.#wire.leave();
    this.screen.dispose();
    this.#tell("closed");
  }

  #quiet() {
    this.#counting = "";
    this.#strip.hide();
  }

  #tell(type) {
    this.dispatchEvent(new Event(type));
  }
}
