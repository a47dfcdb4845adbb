// The screen: xterm with the page's colours and font, fitted to its box. Knows no socket.
import { Terminal } from "../../vendor/xterm/xterm.mjs";
import { FitAddon } from "../../vendor/xterm-addon-fit/addon-fit.mjs";
import { SearchAddon } from "../../vendor/xterm-addon-search/addon-search.mjs";
import { Unicode11Addon } from "../../vendor/xterm-addon-unicode11/addon-unicode11.mjs";
import { WebLinksAddon } from "../../vendor/xterm-addon-web-links/addon-web-links.mjs";

const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const FONT = '"JetBrains Mono Variable", "JetBrains Mono", ui-monospace, monospace';
const SIZE_KEY = "quarterdeck.terminal.size";
const SIZES = { least: 9, usual: 13, most: 28 };

// xterm makes <style> elements for its colours and sizes; the page's policy wants the nonce on each.
export function permitStyles(nonce) {
  const create = document.createElement.bind(document);
  document.createElement = (name, ...rest) => {
    const element = create(name, ...rest);
    if (name === "style") element.nonce = nonce;
    return element;
  };
}

// What a custom property with light-dark() comes to, as rgb.
function colours(host) {
  const probe = document.createElement("i");
  probe.hidden = true;
  host.append(probe);
  const read = (name) => {
    probe.style.color = `var(--term-${name})`;
    return getComputedStyle(probe).color;
  };
  const theme = { background: read("bg"), foreground: read("fg"), cursor: read("fg"), cursorAccent: read("bg"), selectionBackground: read("selection") };
  for (const name of COLOURS) {
    theme[name] = read(name);
    theme[`bright${name[0].toUpperCase()}${name.slice(1)}`] = read(`bright-${name}`);
  }
  probe.remove();
  return theme;
}

function storedSize() {
  try { return Number(localStorage.getItem(SIZE_KEY)) || SIZES.usual; } catch { return SIZES.usual; }
}

function openLink(event, address) {
  if (/^https?:\/\//i.test(address)) open(address, "_blank", "noopener,noreferrer");
}

// A link whose text is not its address: a program may print any, so the person sees where it leads first.
function openHidden(event, address) {
  if (/^https?:\/\//i.test(address) && confirm(`A program in the terminal made this link. It leads to\n\n${address}\n\nOpen it?`)) openLink(event, address);
}

// Cells are measured once, when a screen opens: the font must be there by then.
export function fontsReady() {
  return document.fonts.load(`${SIZES.usual}px "JetBrains Mono Variable"`).catch(() => {});
}

export function makeScreen(host, box) {
  const terminal = new Terminal({
    allowProposedApi: true,
    cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches,
    fontFamily: FONT,
    fontSize: storedSize(),
    lineHeight: 1.2,
    linkHandler: { activate: openHidden },
    macOptionIsMeta: true,
    scrollback: 50_000,
    theme: colours(host),
  });
  const [fit, finder] = [new FitAddon(), new SearchAddon({ highlightLimit: 2000 })];
  for (const addon of [fit, finder, new WebLinksAddon(openLink), new Unicode11Addon()]) terminal.loadAddon(addon);
  terminal.unicode.activeVersion = "11"; // as wide as the login node's C library takes them
  let asked = 0;
  let followed = null;
  const fitted = () => {
    if (!box.clientHeight) return;
    if (!terminal.element) open();
    else if (followed) shrink();
    else fit.fit();
  };
  const shrink = () => {
    terminal.options.fontSize = SIZES.usual;
    const room = fit.proposeDimensions();
    const share = room ? Math.min(1, room.cols / followed.columns, room.rows / followed.rows) : 1;
    terminal.options.fontSize = Math.max(5, Math.floor(SIZES.usual * share));
    terminal.resize(followed.columns, followed.rows);
  };
  // A box that is not shown has no size to fit to: opened when it gets one.
  const open = () => {
    terminal.open(box);
    fit.fit();
  };
  const watch = new ResizeObserver(() => {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(fitted);
  });
  watch.observe(box);
  const recolour = () => { terminal.options.theme = colours(host); };
  document.addEventListener("theme:changed", recolour);

  function grow(by) {
    const size = by ? Math.min(SIZES.most, Math.max(SIZES.least, terminal.options.fontSize + by)) : SIZES.usual;
    terminal.options.fontSize = size;
    try { localStorage.setItem(SIZE_KEY, size); } catch { /* private window: holds for this page only */ }
    fitted();
  }

  // As large as another's screen, in letters small enough for ours.
  function follow(columns, rows) {
    followed = { columns, rows };
    fitted();
  }

  function dispose() {
    watch.disconnect();
    cancelAnimationFrame(asked);
    document.removeEventListener("theme:changed", recolour);
    terminal.dispose();
  }
  return { terminal, finder, grow, fit: fitted, follow, dispose };
}
