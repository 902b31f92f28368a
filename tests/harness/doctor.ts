import assert from "node:assert/strict";
import { createAlertEvaluator, createDispatcher } from "../../src/alerts/mod.ts";
import { migrations } from "../../src/store/migrations/mod.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "./test_purser.ts";

/** The version of a database that this program makes. */
export const SCHEMA = migrations.at(-1)!.version;

/** What the doctor says of one thing. */
export interface Check {
  name: string;
  status: "ok" | "warning" | "failed";
  detail: string;
  advice: string | null;
}

/** What the doctor of a Purser says of one thing. */
export async function check(purser: TestPurser, name: string): Promise<Check> {
  const { status, body } = await purser.api("GET", "/doctor");
  assert.equal(status, 200);
  return body.find((each: Check) => each.name === name) ?? assert.fail(`no check of ${name}`);
}

/** A check that found nothing. */
export const WELL = { status: "ok", advice: null };

/** A Purser whose rules reach channels of the test. */
export function withChannels(
  channels: Parameters<typeof createDispatcher>[0],
  options: TestOptions = {},
): Promise<TestPurser> {
  const alerts = createAlertEvaluator({ rules: [], dispatcher: createDispatcher(channels) });
  return openTestPurser({ alerts, ...options });
}
