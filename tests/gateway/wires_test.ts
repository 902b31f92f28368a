import assert from "node:assert/strict";
import { type Fixture, providerFixtures } from "../fixtures/providers/mod.ts";
import { startFakeProvider } from "../harness/fake_provider.ts";
import { openTestPurser } from "../harness/test_purser.ts";
import { allEnded, readCalls, requestFor, sendTo } from "./requests.ts";

/** The frames that a client sees which did not ask for the usage of a chat stream. */
function visible(fixture: Fixture, frames: readonly string[]): string {
  return frames.filter((frame) => !(isChat(fixture) && /"choices":\[\],.*"usage":\{/.test(frame))).join("");
}

const isChat = ({ api }: Fixture) => api === "openai-chat" || api === "openai-compatible";

for (const fixture of providerFixtures) {
  const [first] = fixture.rounds;
  const { answer, usage, costNanoUsd } = first!;

  for (const way of ["whole", "streamed", "streamed with usage"] as const) {
    if (way === "streamed with usage" && !isChat(fixture)) continue; // the usage is in every stream
    const isStreamed = way !== "whole";
    Deno.test(`${fixture.name}, ${way}, passes the gateway byte for byte and is booked to the nano-USD`, async () => {
      await using fake = await startFakeProvider();
      await using purser = await openTestPurser({ fake });
      fake.enqueue({ answer });
      const asksForUsage = way === "streamed with usage";
      const request = requestFor(fixture, { isStreamed, asksForUsage });
      const response = await sendTo(purser, request);
      const text = await response.text();
      assert.equal(response.status, 200, text);
      const { frames, body } = answer;
      const expected = !isStreamed
        ? JSON.stringify(body)
        : asksForUsage
        ? frames.join("")
        : visible(fixture, frames);
      assert.equal(text, expected);
      assert.match(response.headers.get("x-purser-call-id")!, /^call_/);
      const [call, ...more] = await readCalls(purser);
      assert.deepEqual(more, []);
      assert.deepEqual(
        { input: call!.input, output: call!.output, cost: call!.cost, estimated: call!.isEstimated },
        { input: usage.inputTokens, output: usage.outputTokens, cost: costNanoUsd, estimated: false },
      );
      assert.equal(call!.source, "gateway");
      assert.equal(call!.model, fixture.model);
      const sent = fake.requests[0]!.body;
      const { stream_options, ...rest } = sent;
      assert.deepEqual(stream_options, isChat(fixture) && isStreamed ? { include_usage: true } : undefined);
      const { stream_options: _asked, ...asked } = request.body;
      assert.deepEqual(rest, asked);
    });
  }

  Deno.test(`${fixture.name}: a stream that breaks off or is aborted after any event is booked once`, async () => {
    await using fake = await startFakeProvider();
    await using purser = await openTestPurser({ fake });
    const { frames } = answer;
    let rows = 0;
    for (let cut = 0; cut < frames.length; cut++) {
      const request = requestFor(fixture, { isStreamed: true, asksForUsage: true });
      fake.enqueue({ brokenAfter: frames.slice(0, cut) });
      const response = await sendTo(purser, request);
      await response.text().catch(() => {});
      await allEnded(purser);
      const broken = await readCalls(purser);
      assert.equal(broken.length, ++rows, `cut after ${cut} of ${frames.length}`);

      const { promise: never, resolve } = Promise.withResolvers<void>();
      fake.enqueue({ paced: [...frames.slice(0, cut), never] });
      const aborted = await sendTo(purser, request);
      const reader = aborted.body!.getReader();
      let text = "";
      // The last event of an answer without an end of its own waits for what follows.
      const seen = frames.slice(0, fixture.api === "google" ? Math.min(cut, frames.length - 1) : cut).join(
        "",
      );
      while (text.length < seen.length) text += new TextDecoder().decode((await reader.read()).value);
      await reader.cancel();
      resolve();
      await allEnded(purser);
      const left = await readCalls(purser);
      assert.equal(left.length, ++rows, `aborted after ${cut} of ${frames.length}`);
      for (const call of [broken.at(-1)!, left.at(-1)!]) {
        if (!call.isEstimated) assert.equal(call.cost, costNanoUsd);
        else assert.ok(call.input > 0 && call.output * 4 >= writtenIn(frames.slice(0, cut)));
      }
    }
  });
}

/** The bytes of text in frames, read without the gateway: of the strings that a model's words are in. */
function writtenIn(frames: readonly string[]): number {
  return frames.flatMap((frame) =>
    [...frame.matchAll(/"(?:content|text|delta|thinking|partial_json)":"((?:[^"\\]|\\.)*)"/g)].map((
      [, text],
    ) => /"type":"response\.(?!output_text\.delta)/.test(frame) ? 0 : text!.length)
  ).reduce((sum, length) => sum + length, 0);
}
