// Light, dark, or as the reader's system is; links to what is folded unfold it.
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
  function unfold() {
    for (let at = document.getElementById(decodeURIComponent(location.hash.slice(1))); at; at = at.parentElement) {
      if (at.tagName === "DETAILS") at.open = true;
    }
  }
  addEventListener("hashchange", unfold);
  unfold();
  addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("section > details")) part.open = true; });
})();
