// The player of a recording: play, pause, seek, speed, pauses skipped. What it shows is hostile text like any terminal's.
import { after, parsed } from "./terminal/cast.js";
import { fontsReady, makeScreen, permitStyles } from "./terminal/screen.js";
import { Strip } from "./terminal/strip.js";

const host = document.getElementById("player");
const part = (selector) => host.querySelector(selector);
const [button, range, clock, speed, skip] = ["[data-act=play]", "[type=range]", ".player-time", "select", "[type=checkbox]"].map(part);
const STEP_S = 5;
let cast = { columns: 80, rows: 24, events: [] };
let [position, next, last, playing] = [0, 0, 0, false];

permitStyles(host.nonce);
await fontsReady();
const screen = makeScreen(host, part(".terminal-screen"));
const { terminal } = screen;
host.terminal = terminal; // What the screen shows, for the tests.
terminal.options.disableStdin = true;
const key = () => (skip.checked ? "short" : "at");
const length = () => cast.events.at(-1)?.[key()] ?? 0;
const time = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

// Show everything up to `position`. Neighbouring output is written as one: that is what a long seek consists of.
function show() {
  const until = after(cast.events, key(), position);
  let text = "";
  for (; next < until; next += 1) {
    const { code, data } = cast.events[next];
    if (code === "o") text += data;
    if (code !== "r") continue;
    terminal.write(text);
    text = "";
    const [columns, rows] = data.split("x").map(Number);
    terminal.write("", () => screen.follow(columns, rows));
  }
  terminal.write(text);
  range.value = position;
  range.setAttribute("aria-valuetext", `${time(position)} of ${time(length())}`);
  clock.textContent = `${time(position)} / ${time(length())}`;
}

function seek(to) {
  position = Math.min(length(), Math.max(0, to));
  if (after(cast.events, key(), position) < next) {
    terminal.reset();
    screen.follow(cast.columns, cast.rows);
    next = 0;
  }
  show();
}

function play(on) {
  if (on && position >= length()) seek(0);
  playing = on;
  last = performance.now();
  button.setAttribute("aria-label", on ? "Pause" : "Play");
  button.firstElementChild.className = `ti ti-player-${on ? "pause" : "play"}`;
  if (on) requestAnimationFrame(tick);
}

function tick(now) {
  if (!playing) return;
  position = Math.min(length(), position + (Math.max(0, now - last) / 1000) * Number(speed.value));
  last = now;
  show();
  if (position >= length()) play(false); else requestAnimationFrame(tick);
}

button.addEventListener("click", () => play(!playing));
range.addEventListener("input", () => seek(Number(range.value)));
skip.addEventListener("change", () => {
  const event = cast.events[Math.max(0, next - 1)];
  position = event ? event[key()] : 0;
  range.max = length();
  show();
});
host.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select, button")) return;
  const act = { " ": () => play(!playing), ArrowLeft: () => seek(position - STEP_S), ArrowRight: () => seek(position + STEP_S) }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

try {
  const answer = await fetch(host.dataset.cast);
  if (!answer.ok) throw new Error(`the console answered ${answer.status}`);
  cast = parsed(await answer.text());
  range.max = length();
  screen.fit();
  screen.follow(cast.columns, cast.rows);
  show();
  play(true);
} catch (error) {
  new Strip(part(".terminal-strip")).show("This recording cannot be replayed:", `${error.message}.`, { tone: "bad" });
}
