import assert from "node:assert/strict";
import type { UsageApi } from "../../src/pricing/usage/mod.ts";
import { type FakeProvider, type ProviderRequest, startFakeProvider } from "../harness/fake_provider.ts";
import type { DatabaseKind } from "../harness/databases.ts";
import type { LogLine } from "../harness/test_purser.ts";
import { type RecordingTelemetry, recordingTelemetry } from "../harness/recording_telemetry.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "../harness/test_purser.ts";

/** The API of a fake provider's answer for each of the AI SDK's. */
export const API_OF = {
  "openai-chat": "openai-chat",
  "openai-responses": "openai-responses",
  "anthropic": "anthropic",
  "google": "google",
  "openai-compatible": "openai-chat",
} as const satisfies Record<UsageApi, ProviderRequest["api"]>;

/** The model that every provider has here: $1 per million tokens in and $4 out, by a row of the config. */
export const MODEL = "priced";

/** Returns rows of the config that price a model of every provider. */
export const pricesOf = (model: string, more: Record<string, unknown> = {}) =>
  ["openai", "anthropic", "google", "local"].map((provider) => ({
    provider,
    model,
    input_usd_per_million: 1,
    output_usd_per_million: 4,
    ...more,
  }));

export const PRICES = pricesOf(MODEL);

/** The scopes of every call. */
export const SCOPES = { agentId: "tester", sessionId: "tester:1" } as const;

/** A Purser over a fake provider, whose reply to each call is the case's. */
export interface World extends AsyncDisposable {
  fake: FakeProvider;
  purser: TestPurser;
  telemetry: RecordingTelemetry;
}

/** Opens a world; `openaiUrl` is the address of another provider in the place of the fake one of OpenAI. */
export type OpenWorld = (options?: TestOptions, openaiUrl?: string) => Promise<World>;

/** Returns the function that opens worlds over a kind of database: in memory, or one with an address. */
export function worldsOver({ create }: Pick<DatabaseKind, "create">): OpenWorld {
  return async (options = {}, openaiUrl) => {
    const stack = new AsyncDisposableStack();
    const fake = await startFakeProvider();
    stack.defer(() => fake.close());
    if (openaiUrl !== undefined) fake.baseUrls.openai = openaiUrl;
    const telemetry = recordingTelemetry();
    const dbUrl = await stack.use(await create()).address?.();
    const config = { prices: PRICES, ...(dbUrl !== undefined && { dbUrl }), ...options.config };
    const purser = stack.use(await openTestPurser({ fake, telemetry, ...options, config }));
    return { fake, purser, telemetry, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  };
}

/** Reads the database. */
export async function readRows({ purser }: World, sql: string): Promise<unknown[][]> {
  return (await purser.core.store.read({ sql })).rows;
}

export async function addBudget({ purser }: World, budget: Record<string, unknown>): Promise<string> {
  const { status, body } = await purser.api("POST", "/budgets", { name: "Day", per: "day", ...budget });
  assert.equal(status, 201, JSON.stringify(body));
  return body.budget_id;
}

export async function assertNothingReserved(world: World): Promise<void> {
  assert.deepEqual(
    await readRows(
      world,
      "SELECT * FROM reservations WHERE estimate_nano_usd > 0 OR worst_nano_usd > 0",
    ),
    [],
    "nothing stays reserved",
  );
}

/** Asserts that one call was refused, for a reason and of a model. */
export async function assertRefused({ purser }: World, reason: string, model = MODEL): Promise<void> {
  const { status, body } = await purser.api("GET", "/budgets/refusals");
  assert.equal(status, 200);
  assert.equal(body.length, 1, JSON.stringify(body));
  assert.equal(body[0].model, model);
  assert.match(JSON.stringify(body[0]), new RegExp(reason));
}

/** Returns the warnings that a call was booked as an estimate. */
export function estimateWarnings({ purser }: World): LogLine[] {
  return purser.logs.filter(({ level, message }) =>
    level === "warn" && /booked as an estimate/.test(message)
  );
}
