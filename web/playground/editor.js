// The editor: CodeMirror where the site was built with it, else a plain text area with keys that make
// it one for programs: Tab, Shift+Tab, Enter keeps the indent, and Escape lets Tab leave. Undo knows of
// all of it.

import codemirror from "./codemirror.js";

const INDENT = "    ";

/** Put text in place of what is from..to; as if it were typed, so that it can be undone. */
function put(area, from, to, text) {
  area.setSelectionRange(from, to);
  document.execCommand(text ? "insertText" : "delete", false, text);
}

const startOf = (area) => area.value.lastIndexOf("\n", area.selectionStart - 1) + 1;

function indent(area) {
  if (area.selectionStart === area.selectionEnd) put(area, area.selectionStart, area.selectionStart, INDENT);
  else overLines(area, (line) => line && INDENT + line);
}

const outdent = (area) => overLines(area, (line) => line.replace(/^ {1,4}/, ""));

/** Change the lines of the selection, and select them. */
function overLines(area, change) {
  const start = startOf(area), end = area.selectionEnd;
  const before = area.value.slice(start, end);
  const after = before.split("\n").map(change).join("\n");
  if (after === before) return;
  put(area, start, end, after);
  area.setSelectionRange(start, start + after.length);
}

/** A new line begins where the last one did; four further after a colon. */
function newLine(area) {
  const line = area.value.slice(startOf(area), area.selectionStart);
  const more = line.trimEnd().endsWith(":") ? INDENT : "";
  put(area, area.selectionStart, area.selectionEnd, `\n${line.match(/^ */)[0]}${more}`);
}

/** What edits programs, with a `value`. run: what Ctrl+Enter does. */
export function editor(area, run) {
  if (codemirror) return codemirror(area, run);
  editable(area, run);
  return area;
}

function editable(area, run) {
  let leaving = false;
  area.addEventListener("keydown", (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing;
    const does = event.key === "Enter" && (event.ctrlKey || event.metaKey) ? run
      : event.key === "Tab" && plain && !leaving ? () => (event.shiftKey ? outdent : indent)(area)
      : event.key === "Enter" && plain && !event.shiftKey ? () => newLine(area) : null;
    leaving = event.key === "Escape" || (leaving && event.key === "Shift");
    if (!does) return;
    event.preventDefault();
    does();
  });
}
