// What a program calls its window is hostile text: no control characters, nothing that turns the reading direction or
// hides, and not much of it.
const UNWANTED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]+/gu;
const MOST = 60;

export function plain(title) {
  const characters = [...title.replace(UNWANTED, " ").replace(/\s+/gu, " ").trim()];
  return characters.length > MOST ? `${characters.slice(0, MOST - 1).join("")}…` : characters.join("");
}
