// Gives a page the colours of the explorables.

import { COLOURS } from "../explorables/colours.js";

const sheet = new CSSStyleSheet();
sheet.replaceSync(`:root { ${COLOURS} }`);
document.adoptedStyleSheets.push(sheet);
