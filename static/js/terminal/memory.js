// What a reload of this browser tab brings back. A page without storage begins anew.
export function memory(name) {
  return {
    read() {
      try { return sessionStorage.getItem(name) ?? ""; } catch { return ""; }
    },
    write(text) {
      try { sessionStorage.setItem(name, text); } catch { /* private window: nothing is kept */ }
    },
  };
}
