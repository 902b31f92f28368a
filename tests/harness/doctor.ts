import assert from "node:assert/strict";
import { createAlertEvaluator, createDispatcher } from "../../src/alerts/mod.ts";
import { migrations } from "../../src/store/migrations/migrations.ts";
import { openTestPurser, type TestOptions, type TestPurser } from "./test_purser.ts";

/** The version of a database that this program creates. */
export const SCHEMA = migrations.at(-1)!.version;

/** One check of the doctor. */
export interface Check {
  name: string;
  status: "ok" | "warning" | "failed";
  detail: string;
  advice: string | null;
}

/** Returns one check of a Purser's doctor by its name. */
export async function check(purser: TestPurser, name: string): Promise<Check> {
  const { status, body } = await purser.api("GET", "/doctor");
  assert.equal(status, 200);
  return body.find((each: Check) => each.name === name) ?? assert.fail(`no check of ${name}`);
}

/** A check without findings. */
export const WELL = { status: "ok", advice: null };

/** Opens a Purser whose rules reach channels of the test. */
export function withChannels(
  channels: Parameters<typeof createDispatcher>[0],
  options: TestOptions = {},
): Promise<TestPurser> {
  const alerts = createAlertEvaluator({ rules: [], dispatcher: createDispatcher(channels) });
  return openTestPurser({ alerts, ...options });
}
