// The playground's editor, made of CodeMirror 6: see editor.js of the playground, which has a plain
// text area where this was not bundled.

import { defaultKeymap, history, historyKeymap, indentLess, indentMore } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--good)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--third)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--bad)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--soft)", border: "1px solid var(--edge)", borderRadius: "6px",
    height: "23rem", minHeight: "8rem", resize: "vertical", overflow: "hidden", fontSize: "0.9rem" },
  "&.cm-focused": { outline: "3px solid var(--good)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: "ui-monospace, 'SF Mono', Menlo, Consolas, monospace", lineHeight: "1.45" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { color: "var(--muted)", backgroundColor: "var(--soft)", borderRight: "1px solid var(--edge)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "color-mix(in srgb, var(--good) 30%, transparent)" },
});

/** Tab: indents a selection, else inserts spaces up to the next stop. */
function tab(view) {
  const { state } = view, { main } = state.selection;
  if (!main.empty) return indentMore(view);
  const column = main.head - state.doc.lineAt(main.head).from;
  view.dispatch(state.replaceSelection(" ".repeat(4 - (column % 4))));
  return true;
}

/** An editor in the place of a text area: its `value` is read and set as that of the area. run: what
 * Ctrl+Enter does. */
export default function codemirror(area, run) {
  const attributes = { id: area.id, "aria-label": "Program", "aria-describedby": area.getAttribute("aria-describedby"), spellcheck: "false", tabindex: "0" };
  const extensions = [
    keymap.of([{ key: "Mod-Enter", run: () => (run(), true) }, { key: "Tab", run: tab, shift: indentLess },
      ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"), ...historyKeymap]),
    lineNumbers(), history(), drawSelection(), highlightSpecialChars(), highlightActiveLine(), bracketMatching(), indentOnInput(),
    indentUnit.of("    "), EditorState.tabSize.of(4), python(), syntaxHighlighting(colours), theme,
    EditorView.contentAttributes.of(attributes),
  ];
  const view = new EditorView({ state: EditorState.create({ doc: area.value, extensions }) });
  area.replaceWith(view.dom);
  return {
    get value() { return view.state.doc.toString(); },
    set value(text) { view.setState(EditorState.create({ doc: text, extensions })); },
  };
}
