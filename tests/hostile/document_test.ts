import assert from "node:assert/strict";
import fc from "#dev/fast_check.ts";
import { anyRequest } from "./any_request.ts";
import { openHostileService } from "./service.ts";

/** So many requests are made of the OpenAPI document; the same seed makes the same ones. */
const REQUESTS = Number(Deno.env.get("PURSER_HOSTILE") ?? 1_500);
const SEED = Number(Deno.env.get("PURSER_SEED") ?? 20_261_123);

/** Requests to one service, before the next gets a new database. */
const PER_SERVICE = 1_500;

Deno.test(`${REQUESTS} requests that the document allows, or nearly, get answers that it declares`, async () => {
  const statuses: Record<string, number> = {};
  const succeeded = new Set<string>();
  let operations = 0;
  for (let start = 0; start < REQUESTS; start += PER_SERVICE) {
    await using service = await openHostileService();
    operations = service.operations.length;
    const numRuns = Math.min(PER_SERVICE, REQUESTS - start);
    const seed = SEED + start / PER_SERVICE;
    for (const request of fc.sample(anyRequest(service), { seed, numRuns })) {
      try {
        const { status } = await service.send(request);
        statuses[status] = (statuses[status] ?? 0) + 1;
      } catch (error) {
        throw new Error(
          `PURSER_SEED=${seed} PURSER_HOSTILE=${numRuns}: ${JSON.stringify(request).slice(0, 3_000)}`,
          {
            cause: error,
          },
        );
      }
    }
    for (const name of service.succeeded) succeeded.add(name);
    service.checkLog();
  }
  // Neither all nor nothing is refused, and nearly every operation has succeeded.
  const count = (first: string) =>
    Object.entries(statuses).reduce(
      (sum, [status, count]) => sum + (status.startsWith(first) ? count : 0),
      0,
    );
  assert.ok(count("2") > REQUESTS / 5 && count("4") > REQUESTS / 5, JSON.stringify(statuses));
  assert.ok(succeeded.size > operations * 0.8, `${[...succeeded]}`);
});
