// The colours of all elements and pages, for light and dark.

export const COLOURS = `color-scheme: light dark;
  --ink: light-dark(#1f2328, #e6edf3); --muted: light-dark(#59636e, #9aa4b0);
  --paper: light-dark(#ffffff, #161b22); --edge: light-dark(#8b929a, #6b7480);
  --soft: light-dark(#f1f3f6, #1d232b); --good: light-dark(#0072b2, #4aa5e3);
  --bad: light-dark(#b34700, #f5803b); --third: light-dark(#00795a, #2dbb91);`;
