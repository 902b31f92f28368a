/** The position of a viewer: its step, and the scroll offset of the body in lines. */
export interface ViewPosition {
  index: number;
  scroll: number;
}

/** The bounds of a viewer's position. */
export interface ViewExtent {
  /** The number of steps. */
  count: number;
  /** The number of lines of the body that are visible. */
  bodyRows: number;
  /** The maximum scroll offset. */
  maxScroll: number;
}

type Action =
  | "next"
  | "back"
  | "first"
  | "last"
  | "up"
  | "down"
  | "page_up"
  | "page_down"
  | "quit"
  | "interrupt";

const ACTIONS = new Map<string, Action>([
  ...["right", "l", "n", " "].map((key) => [key, "next"] as const),
  ...["left", "h", "p"].map((key) => [key, "back"] as const),
  ...["home", "g"].map((key) => [key, "first"] as const),
  ...["end", "G"].map((key) => [key, "last"] as const),
  ...["up", "k"].map((key) => [key, "up"] as const),
  ...["down", "j"].map((key) => [key, "down"] as const),
  ["page_up", "page_up"],
  ["page_down", "page_down"],
  ["q", "quit"],
  ["escape", "quit"],
  ["ctrl-c", "interrupt"],
]);

/** Returns the position after a key. Unknown keys change nothing. */
export function moveView(
  position: ViewPosition,
  key: string,
  { count, bodyRows, maxScroll }: ViewExtent,
): ViewPosition | "quit" | "interrupt" {
  const toStep = (index: number): ViewPosition => {
    const wanted = Math.max(0, Math.min(count - 1, index));
    return wanted === position.index ? position : { index: wanted, scroll: 0 };
  };
  const toLine = (scroll: number): ViewPosition => ({
    ...position,
    scroll: Math.max(0, Math.min(maxScroll, scroll)),
  });
  // One line of the previous page stays visible.
  const page = Math.max(1, bodyRows - 1);
  const action = ACTIONS.get(key);
  switch (action) {
    case "next":
      return toStep(position.index + 1);
    case "back":
      return toStep(position.index - 1);
    case "first":
      return toStep(0);
    case "last":
      return toStep(count - 1);
    case "up":
      return toLine(position.scroll - 1);
    case "down":
      return toLine(position.scroll + 1);
    case "page_up":
      return toLine(position.scroll - page);
    case "page_down":
      return toLine(position.scroll + page);
    case undefined:
      return position;
    default:
      return action;
  }
}
