// Follows the system unless the reader chose otherwise. A classic script in <head>, so that no page flashes.
(() => {
  const KEY = "quarterdeck.theme";
  const system = matchMedia("(prefers-color-scheme: dark)");
  const CHOICES = ["auto", "light", "dark"];
  const ICONS = { auto: "device-desktop", light: "sun", dark: "moon" };
  const SAYS = { auto: "follows the system", light: "light", dark: "dark" };

  const stored = () => {
    try { return localStorage.getItem(KEY) ?? "auto"; } catch { return "auto"; }
  };
  const keep = (choice) => {
    try { localStorage.setItem(KEY, choice); } catch { /* private window: holds for this page only */ }
  };

  let choice = stored();
  function apply() {
    const theme = choice === "auto" ? (system.matches ? "dark" : "light") : choice;
    document.documentElement.dataset.bsTheme = theme;
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.title = `Theme: ${SAYS[choice]}`;
      button.setAttribute("aria-label", button.title);
      button.firstElementChild.className = `ti ti-${ICONS[choice]}`;
    }
    document.dispatchEvent(new CustomEvent("theme:changed", { detail: theme }));
  }

  apply();
  system.addEventListener("change", apply);
  addEventListener("storage", (event) => { if (event.key === KEY) { choice = stored(); apply(); } });
  addEventListener("DOMContentLoaded", apply);
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
    keep(choice);
    apply();
  });
})();
