import type { ToolKit } from "../src/mod.ts";

/**
 * A module of tools, named in the config as `"tools": ["./tools.ts"]`. Its dependencies are arguments, so it imports
 * only types, and works beside a compiled `purser` too.
 */
export default ({ tool, z }: ToolKit) => ({
  roll_dice: tool({
    description: "Rolls dice and returns the result of each",
    inputSchema: z.object({
      count: z.number().int().min(1).max(20).describe("How many dice"),
      sides: z.number().int().min(2).max(100).default(6),
    }),
    execute: ({ count, sides }) => ({
      rolled: Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides)),
    }),
  }),
  count_words: tool({
    description: "Counts the words of a text",
    inputSchema: z.object({ text: z.string() }),
    execute: ({ text }) => ({ words: text.split(/\s+/).filter(Boolean).length }),
  }),
});
