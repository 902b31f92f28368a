import type { BillSource } from "./bill_source.ts";

/** The built-in sources of bills by name, each with a function that imports its module. */
export const BILL_SOURCES: Readonly<Record<string, () => Promise<{ default: BillSource }>>> = {
  anthropic: () => import("./anthropic.ts"),
  "anthropic-claude-code": () => import("./anthropic_claude_code.ts"),
  "anthropic-legacy": () => import("./anthropic_legacy.ts"),
  copilot: () => import("./copilot.ts"),
  csv: () => import("./csv.ts"),
  cursor: () => import("./cursor.ts"),
  focus: () => import("./focus.ts"),
  openai: () => import("./openai.ts"),
  openrouter: () => import("./openrouter.ts"),
  "openrouter-activity": () => import("./openrouter_activity.ts"),
  vercel: () => import("./vercel.ts"),
};
