// The strip over a pane's screen: what happened or is about to, and what one can do about it.
export class Strip {
  #box; #ticking = 0;

  constructor(box) {
    this.#box = box;
  }

  get isShown() { return !this.#box.hidden; }

  // `buttons` are [label, act] pairs. `until` (ms, as Date.now) adds a countdown, which is not read out each second.
  show(title, sentence = "", { tone = "", buttons = [], until = 0 } = {}) {
    clearInterval(this.#ticking);
    this.#box.dataset.tone = tone;
    this.#box.querySelector("b").textContent = title;
    this.#box.querySelector("span").textContent = sentence;
    this.#box.querySelector(".acts").replaceChildren(...buttons.map(([label, act]) => made(label, act)));
    const clock = this.#box.querySelector("time");
    clock.hidden = !until;
    if (until) {
      const tick = () => { clock.textContent = left(until - Date.now()); };
      tick();
      this.#ticking = setInterval(tick, 250);
    }
    this.#box.hidden = false;
  }

  hide() {
    clearInterval(this.#ticking);
    this.#box.hidden = true;
  }
}

function made(label, act) {
  const button = document.createElement("button");
  Object.assign(button, { type: "button", className: "qd-btn small", textContent: label });
  button.addEventListener("click", act);
  return button;
}

// `4:05`, `0:09`.
function left(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
