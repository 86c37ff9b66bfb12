// Light, dark, or as the reader's system is, or the notebook around; links unfold what is folded.
(() => {
  "use strict";
  const root = document.querySelector(".minifp"), button = document.querySelector(".theme");
  const WAYS = ["auto", "light", "dark"];
  function set(way) {
    if (way === "auto") delete root.dataset.theme; else root.dataset.theme = way;
    if (button) button.textContent = `Colours: ${way}`;
    root.dispatchEvent(new Event("themechange"));
  }
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => set(WAYS[(WAYS.indexOf(root.dataset.theme ?? "auto") + 1) % 3]));
  }
  function follow() { // the notebook's theme, seen by what lies behind the frame
    for (let at = frameElement; at; at = at.parentElement) {
      const [r, g, b, alpha = 1] = (parent.getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
      if (alpha) return set(0.3 * r + 0.6 * g + 0.1 * b < 128 ? "dark" : "light");
    }
    set("light");
  }
  try {
    if (frameElement) {
      follow();
      const watch = new MutationObserver(follow), host = parent.document;
      for (const at of [host.documentElement, host.body]) watch.observe(at, {attributes: true});
    }
  } catch { /* a frame of another origin: as the reader's system is */ }
  function unfold() {
    for (let at = document.getElementById(decodeURIComponent(location.hash.slice(1))); at; at = at.parentElement) {
      if (at.tagName === "DETAILS") at.open = true;
    }
  }
  addEventListener("hashchange", unfold);
  unfold();
  let way; // of the screen; paper is light
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("section > details:first-child")) part.open = true;
    way = root.dataset.theme ?? "auto";
    set("light");
  });
  addEventListener("afterprint", () => set(way));
})();
