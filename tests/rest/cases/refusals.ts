import assert from "node:assert/strict";
import type { RestCase } from "../rest_case.ts";

export const refusalCases: RestCase[] = [
  {
    name: "an unknown path is a 404, an unsupported method a 405 that names the supported ones",
    async run(api) {
      for (const path of ["/nowhere", "/agents/a/b/c", "/runs/a/b"]) {
        await api.refused(404, "not_found", "GET", path);
      }
      const { status, headers, body } = await api.send("DELETE", "/agents");
      assert.deepEqual([status, body.code, headers.get("allow")], [405, "method_not_allowed", "GET"]);
    },
  },
  {
    name: "a body that is not JSON is a 400, one without its content type a 415, one too large a 413",
    async run(api) {
      const path = `/agents/${api.prefix}`;
      for (const body of ["{", "nonsense", "null", "[]"]) {
        await api.refused(400, "invalid", "PUT", path, body);
      }
      const text = await api.send("PUT", path, "{}", { "content-type": "text/plain" });
      assert.deepEqual([text.status, text.body.code], [415, "unsupported_media_type"]);
      const large = JSON.stringify({ model: "demo:echo", system_prompt: "x".repeat(300 * 1024) });
      await api.refused(413, "too_large", "PUT", path, large);
      const streamed = new Blob([large]).stream();
      await api.refused(413, "too_large", "PUT", path, streamed);
      await api.refused(404, "not_found", "GET", path);
    },
  },
  {
    name: "a malformed cursor is a 400 on every list",
    async run(api) {
      for (
        const list of [
          "agents",
          "alerts/rules",
          "channels",
          "keys",
          "sessions",
          "costs",
          "anomalies",
          "repricings",
        ]
      ) {
        for (const cursor of ["WzEuNSwieCJd", "WzFlMzA4LCJ4Il0", "x", "bnVsbA", "WzEsIlx1MDAwMCJd", ""]) {
          const { details } = await api.refused(400, "invalid", "GET", `/${list}?cursor=${cursor}`);
          assert.equal(details.issues[0].path, "cursor", list);
        }
      }
    },
  },
  {
    name: "an error has a bounded size, and repeats no key",
    async run(api) {
      const fields = Array.from({ length: 9_000 }, (_, i) => [`k${i}`, 1]);
      const problem = await api.refused(400, "invalid", "POST", "/costs/events", [
        Object.fromEntries(fields),
      ]);
      assert.equal(problem.details.issues.length, 100);
      assert.ok(problem.details.issue_count > 9_000, problem.details.issue_count);
      const key = "psr_01kaj4c0000000000000000000_0123456789abcdefghjkmnpqrstvwxyz3ckawr8";
      const refused = await api.send("GET", `/sessions/${key}`);
      const { code, detail, instance } = refused.body;
      assert.deepEqual([refused.status, code, detail, instance], [
        404,
        "not_found",
        "Cannot find session [redacted:purser_key]",
        "/sessions/[redacted:purser_key]",
      ]);
    },
  },
  {
    name: "ids of any form are taken as ids",
    async run(api) {
      for (const id of ["%00", "constructor", "__proto__", "%F0%9F%92%B8", "'--", "x".repeat(500)]) {
        for (const path of [`/agents/${id}`, `/sessions/${id}`, `/runs/${id}`, `/sessions/${id}/costs`]) {
          await api.refused(404, "not_found", "GET", path);
        }
      }
    },
  },
];
