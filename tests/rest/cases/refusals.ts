import assert from "node:assert/strict";
import type { RestCase } from "../rest_case.ts";

export const refusalCases: RestCase[] = [
  {
    name: "an unknown path is a 404, an unsupported method a 405 that names the supported ones",
    async run(api) {
      for (const path of ["/nowhere", "/agents/a/b/c", "/runs"]) {
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
