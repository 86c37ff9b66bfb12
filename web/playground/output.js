// What a program printed and showed.

import { node } from "../explorables/element.js";

const MOST = 2000; // pieces that are kept: a program that prints for ever does not fill the memory
const DARK = matchMedia("(prefers-color-scheme: dark)");
const RESET = "<meta name=color-scheme content='light dark'><style>body { margin: 0.5rem; font: 15px/1.5 system-ui, sans-serif; }</style>";

export class Output {
  constructor(root) {
    this.root = root;
    DARK.addEventListener("change", () => root.querySelectorAll("iframe").forEach(colour));
  }

  clear() {
    this.root.replaceChildren();
    this.pre = null;
  }

  /** Text of a stream ("out" or "err"); a carriage return begins the line anew, as bars do. */
  text(text, stream) {
    this.pre ??= this.root.appendChild(node("pre"));
    for (const part of text.split(/(\r(?!\n)|\n)/).filter(Boolean)) {
      if (part === "\r") this.lineAgain();
      else this.pre.append(node("span", { className: stream === "err" ? "bad" : "" }, part));
    }
    while (this.pre.childNodes.length > MOST) this.pre.firstChild.remove();
  }

  lineAgain() {
    while (this.pre.lastChild && this.pre.lastChild.textContent !== "\n") this.pre.lastChild.remove();
  }

  /** HTML in a frame of its own, in which no script runs. */
  html(html) {
    this.pre = null;
    const frame = node("iframe", { title: "A result", sandbox: "allow-same-origin", srcdoc: RESET + inert(html) });
    frame.addEventListener("load", () => {
      const { body, documentElement } = frame.contentDocument;
      colour(frame);
      frame.height = Math.min(documentElement.scrollHeight, 900);
      body.tabIndex = 0; // to be scrolled with keys
    });
    this.root.append(frame);
  }
}

/** What results ask of the notebook around them: whether it is dark. */
function colour(frame) {
  frame.contentDocument.documentElement.setAttribute("theme", DARK.matches ? "dark" : "light");
}

/** HTML without its scripts, which the frame would refuse aloud. */
function inert(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const script of page.querySelectorAll("script")) script.remove();
  return page.head.innerHTML + page.body.innerHTML;
}
