import assert from "node:assert/strict";
import { systemClock } from "../../src/kernel/clock.ts";
import { newPlace, start, startServer, untilItAnswers } from "../harness/cli_process.ts";
import { encodeOtlp } from "../harness/otlp_messages.ts";
import { callSpan, spansOf } from "../harness/otlp_requests.ts";

Deno.test("the calls of a request whose server is killed before its answer are each booked once when it is sent again", async () => {
  await using place = await newPlace();
  const at = systemClock.now() - 60_000;
  const spans = Array.from({ length: 3_000 }, (_, index) => callSpan(index.toString(16), { at }));
  const body = encodeOtlp("traces", spansOf(spans));
  const post = (url: string) =>
    fetch(`${url}/v1/traces`, {
      method: "POST",
      headers: { "content-type": "application/x-protobuf" },
      body,
    });
  const booked = async (url: string): Promise<number> =>
    (await (await fetch(`${url}/costs/total`)).json()).model_calls;

  const child = start(place, ["serve", "--port", "0"]);
  const killed = await untilItAnswers(child);
  const answer = post(killed.url).then((response) => response.body?.cancel(), () => {});
  // Some of it is committed, and, as a rule, the rest is not.
  while (await booked(killed.url) === 0);
  child.kill("SIGKILL");
  await Promise.all([answer, killed.drained, child.stdout.cancel(), child.status]);

  await using server = await startServer(place);
  assert.ok(await booked(server.url) > 0);
  const response = await post(server.url);
  assert.equal(response.status, 200);
  assert.equal((await response.arrayBuffer()).byteLength, 0);
  assert.equal(await booked(server.url), spans.length);
});
