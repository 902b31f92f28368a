import { z } from "@hono/zod-openapi";
import { MachineName } from "./import_files.ts";
import { AgentId, name, orNull, Time, Usd } from "../parts.ts";
import { LABEL_SCHEMA } from "../limits.ts";
import { PLAN_SOURCES } from "../values.ts";

/** The wire schemas of the windows of plans. */

const word = z.string().regex(
  /^[^\p{Cc}\p{Cs}]{1,100}$/u,
  "must be 1 to 100 characters, none of them a control character",
)
  .openapi({ ...LABEL_SCHEMA, maxLength: 100 });
const WindowName = z.string().regex(/^[\w.:-]{1,64}$/, "must be 1 to 64 letters, digits, _, ., : and -")
  .openapi({
    description: "As its source names it; `credits` for what is paid beyond the plan",
    example: "five_hour",
  });
const instant = z.iso.datetime({ offset: true });

const credits = {
  in_use: z.boolean().optional().openapi({ description: "Whether paid credits pay for the calls now" }),
  has_credits: z.boolean().optional(),
  unlimited: z.boolean().optional(),
  balance: word.optional().openapi({ description: "As the source writes it", example: "12.50" }),
  reason: word.optional().openapi({ description: "Why there are none", example: "org_level_disabled" }),
};

/** A window as a client reports it. */
export const PlanWindowInput = z.strictObject({
  window: WindowName,
  used_pct: z.number().min(0).max(100_000).optional(),
  resets_at: instant.optional(),
  length_minutes: z.number().min(1).max(1_000_000).optional(),
  status: word.optional(),
  measured_at: instant.optional().openapi({
    description: "Without it, it was measured at some time before now, and may have been reported before",
  }),
  plan: word.optional(),
  models: word.optional(),
  credits: z.strictObject(credits).optional(),
}).openapi("PlanWindowInput");
export type PlanWindowInput = z.infer<typeof PlanWindowInput>;

export const PlanWindowsBody = z.strictObject({
  agent_id: name("claude-code").openapi({ description: "The agent whose plan it is" }),
  source: z.enum(PLAN_SOURCES).exclude(["gateway"]),
  machine: MachineName,
  account: word.optional().openapi({
    description:
      "The provider's id of the account that the agent is signed in to: machines with the same one share a plan",
  }),
  windows: z.array(PlanWindowInput).max(32),
}).openapi("PlanWindowsBody");
export type PlanWindowsBody = z.infer<typeof PlanWindowsBody>;

const percent = z.number().nonnegative();

/** A window of a plan. */
export const PlanWindow = z.object({
  agent_id: AgentId.openapi({ description: "The agent whose plan it is", example: "claude-code" }),
  // A text, as `state`: generated clients must not fail on one that is added later.
  source: z.string().openapi({
    description: `What has measured it: ${PLAN_SOURCES.join(", ")}`,
    example: "log",
  }),
  machine: z.string().nullable().openapi({
    description: "The machine that has measured it last, of a status line or a log; null of the gateway",
  }),
  machines: z.array(z.string()).openapi({
    description: "The machines that are known to be signed in to that account; none of the gateway",
  }),
  provider: z.string().nullable().openapi({ description: "The provider of the gateway; else null" }),
  account: z.string().nullable().openapi({
    description: "The provider's id of the account, where it is known",
  }),
  key_id: z.string().nullable().openapi({
    description: "The API key that has reported it, or whose call at the gateway has measured it",
  }),
  plan: z.string().nullable().openapi({
    description: "The name of the plan, where it is known",
    example: "pro",
  }),
  window: z.string().openapi({
    description: "As its source names it; `credits` for what is paid beyond the plan",
    example: "five_hour",
  }),
  models: z.string().nullable().openapi({
    description: "The models that it is about, where the source names them",
  }),
  used_pct: percent.nullable().openapi({ description: "Null where it isn't known", example: 42.5 }),
  state: z.string().openapi({
    description:
      "`open`; `ended`: its quota is used up, so that calls are refused or spend credits; `reset`: it has reset since it was " +
      "measured, so that what is used now isn't known; others may follow",
    example: "open",
  }),
  status: z.string().nullable().openapi({
    description: "The word of the source",
    example: "allowed_warning",
  }),
  starts_at: Time.nullable(),
  resets_at: Time.nullable(),
  elapsed_pct: percent.nullable().openapi({
    description: "The share of the window that is gone, in percent",
  }),
  pace: percent.nullable().openapi({
    description:
      "The percentage used, by that of the window that was gone when it was measured: above 1, it runs out before it resets",
    example: 1.4,
  }),
  runs_out_at: Time.nullable().openapi({
    description:
      "When it is used up at that pace; null where it resets before, or is used up, or nothing is used",
  }),
  measured_at: Time.openapi({
    description: "When the figure was measured; of a status line, when it was first seen",
  }),
  plan_usd: Usd.nullable().openapi({
    description:
      "What the calls of the agent on those machines, since the window began, would cost by the API; null where none is known",
  }),
  price_usd_per_month: Usd.nullable().openapi({
    description: "The price of the plan by `import.plans` of the config; null where it has none",
  }),
  credits: orNull(z.object(credits).openapi("PlanCredits")),
}).openapi("PlanWindow");
export type PlanWindow = z.infer<typeof PlanWindow>;
