import type { Paint, Style } from "../terminal/style.ts";

/** The colour of a session's or a run's status. */
export function paintStatus({ status }: { status: string }, style: Style): Paint | undefined {
  switch (status) {
    case "completed":
      return style.green;
    case "failed":
      return style.red;
    case "budget_exceeded":
    case "interrupted":
    case "cancelled":
      return style.yellow;
    case "running":
      return style.cyan;
    default:
      return undefined;
  }
}
