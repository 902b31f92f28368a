import type { Tags } from "../../contract/tags/tags.ts";
import type { Scope } from "../../contract/values.ts";

/** The company of the demo: its agents, the work that they do and when, and the keys that they use. */

/** A tool call of an answer, and its result. `#` stands for the number of the task. */
export interface ToolUse {
  tool: string;
  input: Record<string, string>;
  result: Record<string, string | number | boolean>;
}

/** A task that an agent is given again and again. */
export interface Task {
  ask: string;
  uses: readonly ToolUse[];
  answer: string;
}

/** An agent of the demo. */
export interface DemoAgent {
  id: string;
  model: string;
  systemPrompt: string;
  tags: Tags;
  /** The name of the key of its calls. */
  key?: string;
  /** The sessions that begin in an hour of the day (UTC), on average. */
  sessionsIn(hour: number, isWeekend: boolean): number;
  /** The share of its sessions that Purser runs itself, in the last days; the calls of the others are reported. */
  runShare: number;
  /** The fewest and most calls of a session. */
  calls: readonly [number, number];
  /** The tokens of the first input, of the growth with each step, and of an answer. */
  input: readonly [number, number];
  growth: readonly [number, number];
  output: readonly [number, number];
  /** The share of reasoning in its answers, and of the input that the step before has cached. */
  reasoning: number;
  cached: number;
  tasks: readonly Task[];
}

const isOffice = (hour: number) => hour >= 7 && hour < 18;

export const AGENTS: readonly DemoAgent[] = [
  {
    id: "coder",
    model: "anthropic:claude-opus-5-5",
    systemPrompt: "You change code in small, tested steps. Run the tests before you answer.",
    tags: { team: "platform", env: "production" },
    key: "laptops",
    sessionsIn: (hour, isWeekend) =>
      isWeekend ? 0.04 : isOffice(hour) ? 2.2 : hour < 22 && hour > 17 ? 0.5 : 0,
    runShare: 0.16,
    calls: [5, 16],
    input: [14_000, 26_000],
    growth: [1_500, 5_000],
    output: [250, 1_400],
    reasoning: 0,
    cached: 0.94,
    tasks: [
      {
        ask: "Fix the failing test in checkout-service, ticket #",
        uses: [
          { tool: "run_tests", input: { suite: "checkout" }, result: { passed: 211, failed: 1 } },
          {
            tool: "read_file",
            input: { path: "src/checkout/totals.ts" },
            result: { lines: 184, text: "export function total(cart) { … }" },
          },
          {
            tool: "edit_file",
            input: { path: "src/checkout/totals.ts", change: "round once, at the end" },
            result: { changed_lines: 3 },
          },
          { tool: "run_tests", input: { suite: "checkout totals" }, result: { passed: 212, failed: 0 } },
        ],
        answer: "Ticket # is fixed: the totals were rounded for each line. All 212 tests pass.",
      },
      {
        ask: "Review pull request # and list what would break",
        uses: [
          { tool: "read_diff", input: { pull_request: "#" }, result: { files: 9, added: 240, removed: 71 } },
          {
            tool: "read_file",
            input: { path: "src/api/orders.ts" },
            result: { lines: 320, text: "router.get('/orders/:id', …)" },
          },
          { tool: "run_tests", input: { suite: "api" }, result: { passed: 640, failed: 2 } },
        ],
        answer: "Pull request # renames a field of the answer of /orders, which two clients read.",
      },
    ],
  },
  {
    id: "support",
    model: "openai:gpt-6.1-terra",
    systemPrompt: "You answer customers of a shop. Look orders up before you promise anything.",
    tags: { team: "support", env: "production" },
    key: "support-web",
    sessionsIn: (hour, isWeekend) => (isWeekend ? 0.5 : 1) * (hour >= 6 && hour < 21 ? 3.4 : 0.5),
    runShare: 0.05,
    calls: [2, 6],
    input: [5_200, 7_400],
    growth: [200, 900],
    output: [90, 420],
    reasoning: 0,
    cached: 0.78,
    tasks: [
      {
        ask: "Where is my order #?",
        uses: [
          { tool: "find_order", input: { order: "#" }, result: { status: "shipped", carrier: "DHL" } },
          { tool: "track_parcel", input: { order: "#" }, result: { place: "Leipzig", due_in_days: 1 } },
        ],
        answer: "Your order # is in Leipzig and arrives tomorrow.",
      },
      {
        ask: "I was charged twice for order #",
        uses: [
          { tool: "find_order", input: { order: "#" }, result: { status: "paid", payments: 2 } },
          { tool: "refund", input: { order: "#", reason: "charged twice" }, result: { refunded: true } },
        ],
        answer: "One of the two payments of order # is on its way back to you; it takes three days.",
      },
    ],
  },
  {
    id: "researcher",
    model: "openai:gpt-6-sol",
    systemPrompt: "You answer with sources. Say what you could not find.",
    tags: { team: "strategy", env: "production" },
    sessionsIn: (hour, isWeekend) => isWeekend ? 0 : isOffice(hour) ? 0.9 : 0,
    runShare: 0.35,
    calls: [4, 9],
    input: [3_000, 6_000],
    growth: [2_500, 7_000],
    output: [700, 2_600],
    reasoning: 0.55,
    cached: 0.5,
    tasks: [
      {
        ask: "Compare the delivery prices of our five largest competitors, week #",
        uses: [
          { tool: "search_web", input: { query: "delivery prices, week #" }, result: { results: 10 } },
          {
            tool: "read_page",
            input: { url: "https://shop.example/delivery" },
            result: { words: 1_240, text: "Delivery is free from 49 EUR …" },
          },
          {
            tool: "read_page",
            input: { url: "https://market.example/help/delivery" },
            result: { words: 830, text: "Standard delivery costs 3.95 EUR …" },
          },
        ],
        answer: "Two of five deliver for nothing from 49 EUR; our limit of 60 EUR is the highest.",
      },
      {
        ask: "Summarize the new packaging rules that apply to us, question #",
        uses: [
          {
            tool: "search_web",
            input: { query: "packaging regulation 2026 retailers" },
            result: { results: 10 },
          },
          {
            tool: "read_page",
            input: { url: "https://law.example/packaging" },
            result: { words: 5_300, text: "From 12 August 2026 …" },
          },
        ],
        answer:
          "From August, parcels may be half empty at most; we must report the share of recycled material.",
      },
    ],
  },
  {
    id: "triage",
    model: "google:gemini-3.8-flash",
    systemPrompt: "You sort mail into queues. Answer with the name of one queue.",
    tags: { team: "support", env: "production" },
    key: "mail-gateway",
    sessionsIn: (_, isWeekend) => isWeekend ? 2 : 4,
    runShare: 0.008,
    calls: [1, 2],
    input: [1_300, 3_600],
    growth: [300, 600],
    output: [20, 160],
    reasoning: 0.3,
    cached: 0,
    tasks: [{
      ask: "Sort the mail #",
      uses: [{ tool: "read_mail", input: { mail: "#" }, result: { words: 96, language: "de" } }],
      answer: "returns",
    }],
  },
  {
    id: "reporter",
    model: "openai:gpt-6-luna",
    systemPrompt: "You write the morning report from the numbers of the day before.",
    tags: { team: "finance", env: "production" },
    sessionsIn: (hour, isWeekend) => hour === 2 ? (isWeekend ? 2 : 6) : 0,
    runShare: 0.3,
    calls: [4, 8],
    input: [9_000, 14_000],
    growth: [2_000, 6_000],
    output: [300, 1_100],
    reasoning: 0.4,
    cached: 0.6,
    tasks: [{
      ask: "Write the report of region #",
      uses: [
        { tool: "run_query", input: { name: "sales by region", region: "#" }, result: { rows: 48 } },
        { tool: "run_query", input: { name: "returns by region", region: "#" }, result: { rows: 31 } },
        { tool: "calculator", input: { expression: "48213 / 44907 - 1" }, result: { result: 0.0736 } },
      ],
      answer: "Region # sold 7.4 % more than a week before; returns are unchanged.",
    }],
  },
  {
    id: "prompt-lab",
    model: "anthropic:claude-opus-5-5",
    systemPrompt: "You write three variants of a prompt, and say which is best.",
    tags: { team: "platform", env: "staging" },
    key: "laptops",
    sessionsIn: (hour, isWeekend) => !isWeekend && hour >= 14 && hour < 20 ? 0.3 : 0,
    runShare: 1,
    calls: [2, 4],
    input: [6_000, 15_000],
    growth: [1_000, 3_000],
    output: [500, 1_800],
    reasoning: 0.2,
    cached: 0.3,
    tasks: [{
      ask: "Shorten the prompt of the support agent, attempt #",
      uses: [{ tool: "rate_prompt", input: { attempt: "#" }, result: { score: 0.81, cases: 40 } }],
      answer: "Variant 2 of attempt # is 38 % shorter and as good in 40 cases.",
    }],
  },
];

/** The model of the calls whose price is not known: it runs on a machine of the company. */
export const UNPRICED = { provider: "lab", model: "qwen3-coder-30b" };

/** The keys, by name. */
export const KEYS: Readonly<Record<string, { scopes: readonly Scope[]; agentId?: string; days?: number }>> = {
  "laptops": { scopes: ["call"] },
  "support-web": { scopes: ["run"], agentId: "support" },
  "mail-gateway": { scopes: ["call"], agentId: "triage", days: 34 },
  "old laptops": { scopes: ["call"] },
};

/** The key that is revoked after a week, when another one has taken its place. */
export const REVOKED_KEY = "old laptops";
