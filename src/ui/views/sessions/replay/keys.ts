/** The moves of a replay by keys, as in the terminal. */
export type Move = "next" | "back" | "first" | "last" | "page_down" | "page_up";

const MOVES: Readonly<Record<string, Move | undefined>> = {
  ArrowRight: "next",
  ArrowDown: "next",
  l: "next",
  n: "next",
  j: "next",
  ArrowLeft: "back",
  ArrowUp: "back",
  h: "back",
  p: "back",
  k: "back",
  Home: "first",
  g: "first",
  End: "last",
  G: "last",
  PageDown: "page_down",
  PageUp: "page_up",
};

/** Returns the move of a key; undefined for any other, and for those of a control that uses them itself. */
export function moveOf(event: KeyboardEvent): Move | undefined {
  if (event.metaKey || event.ctrlKey || event.altKey) return undefined;
  const target = event.target as Element;
  if (target.closest("input, select, textarea, svg, summary, dialog")) return undefined;
  const scrolls = /^(ArrowUp|ArrowDown|Page|Home|End)/.test(event.key);
  if (scrolls && target.closest(".block, .table-scroll")) return undefined;
  return MOVES[event.key];
}
