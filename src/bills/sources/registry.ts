import type { BillSourceName } from "../../contract/values.ts";
import type { BillSource } from "./bill_source.ts";

type Load = () => Promise<{ default: BillSource }>;

/** The built-in sources of bills by name, each with a function that imports its module. */
export const BILL_SOURCES: Readonly<Record<string, Load>> = {
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
} satisfies Record<BillSourceName, Load>;
