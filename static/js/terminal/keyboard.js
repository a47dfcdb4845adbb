// On a phone the keyboard covers the page without resizing it: the terminal then takes what is left to see.
const COVERED = 0.75; // a keyboard leaves less than this of the window's height

export function followKeyboard() {
  const root = document.documentElement;
  const look = () => {
    root.style.setProperty("--seen-height", `${visualViewport.height}px`);
    root.style.setProperty("--seen-top", `${visualViewport.offsetTop}px`);
    root.toggleAttribute("data-keyboard", visualViewport.height * visualViewport.scale < innerHeight * COVERED);
  };
  for (const event of ["resize", "scroll"]) visualViewport?.addEventListener(event, look);
}
