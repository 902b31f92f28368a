import assert from "node:assert/strict";
import type { openTestBooks } from "./test_books.ts";
import { createApp } from "../../src/http/mod.ts";
import { EVENT } from "./bodies.ts";

/** The options of a rule on the spending of a day. */
export const DAILY = "--threshold-usd $10 --threshold-type per_day_usd --severity warning";

/** Adds three rules by commands, and books a call that fires two of them. */
export async function fireRules(books: Awaited<ReturnType<typeof openTestBooks>>): Promise<void> {
  await books.purser(`alerts add --name "Daily limit" ${DAILY}`);
  const over = "--threshold-usd 3 --severity critical --threshold-type";
  await books.purser(
    `alerts add --name Sessions ${over} per_session_usd --cooldown 5400 --agent elsewhere`,
  );
  await books.purser(`alerts add --name Runaway ${over} per_run_usd --repeat once_per_window --cooldown 0`);
  const at = "2026-11-21T09:29:00.000Z";
  const call = { ...EVENT, at, session_id: "ses_1", run_id: "run_1", cost_usd: 3.2 };
  const answer = await (await createApp(books.core)).request("/costs/events", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify([call]),
  });
  assert.equal(answer.status, 201);
}
