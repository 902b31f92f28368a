import assert from "node:assert/strict";
import { encodeOtlp } from "../../harness/otlp_messages.ts";
import { callSpan, spansOf } from "../../harness/otlp_requests.ts";
import type { RestCase } from "../rest_case.ts";

export const otlpCases: RestCase[] = [
  {
    name: "spans that are calls are booked once, as protobuf, as JSON and compressed",
    async run(api) {
      const at = Date.now() - 60_000;
      const request = spansOf([callSpan("e1", { at, agent: api.prefix }), callSpan("e2", { at: 0 })]);
      const bytes = encodeOtlp("traces", request);
      const gzip = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
      const json = { "content-type": "application/json" };
      const protobuf = { "content-type": "application/x-protobuf" };
      for (
        const [body, headers] of [
          [JSON.stringify(request), json],
          [bytes, protobuf],
          [
            new Uint8Array(await new Response(gzip).arrayBuffer()),
            { ...protobuf, "content-encoding": "gzip" },
          ],
        ] as const
      ) {
        const response = await api.fetch("POST", "/v1/traces", { body, headers, isUndeclared: true });
        const text = await response.text();
        assert.equal(response.status, 200, text);
        assert.equal(response.headers.get("content-type"), headers["content-type"]);
        assert.match(text, /rejected: 1 \(/);
        const [row] = await api.expect(200, "GET", `/costs?agent_id=${api.prefix}`);
        assert.deepEqual([row.model_calls, row.input_tokens, row.output_tokens], [1, 1_000, 20]);
      }
      const refused = await api.fetch("POST", "/v1/logs", {
        body: "x",
        headers: json,
        isUndeclared: true,
      });
      assert.equal(refused.status, 400);
      assert.deepEqual(await refused.json(), { code: 3, message: "Cannot read the body: it is not JSON" });
    },
  },
];
