import { toUsd } from "../../src/kernel/money.ts";
import { meter } from "../../src/runner/mod.ts";
import { createBooking, type TestBooking } from "./booking.ts";
import { RUN } from "./budget_settings.ts";
import type { TestDatabase } from "./databases.ts";
import { type AnswerCall, callOptions, type FakeModel, fakeModel } from "./fake_model.ts";

/** A model whose calls a budget of their run meters. */
export interface Metered extends FakeModel {
  ctx: TestBooking;
  limit: bigint;
  call(options?: { maxOutputTokens?: number; abortSignal?: AbortSignal; text?: string }): Promise<unknown>;
}

/** Opens a metered model of a run with a budget. */
export async function openMetered(
  database: TestDatabase,
  { limit, mode, answer }: { limit: bigint; mode: "stop" | "strict"; answer: AnswerCall },
): Promise<Metered> {
  const ctx = await createBooking(await database.open());
  const fake = fakeModel(answer);
  const model = meter(ctx, fake.model, {
    agentId: "agent",
    runId: RUN,
    provider: "local",
    costBudgetUsd: toUsd(limit),
    budgetMode: mode,
  });
  return {
    ...fake,
    ctx,
    limit,
    call: ({ text = "hello", ...options } = {}) =>
      Promise.resolve(model.doGenerate(callOptions(text, { maxOutputTokens: 100, ...options }))),
  };
}
