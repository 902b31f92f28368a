import assert from "node:assert/strict";
import { readSse, type SseFrame } from "../../harness/sse_reader.ts";
import type { RestCase } from "../rest_case.ts";

export const eventCases: RestCase[] = [
  {
    name: "the event log is tailed from the reader's position, without a gap and without a repeat",
    async run(api) {
      await api.expect(201, "PUT", `/agents/${api.prefix}`, { model: "demo:echo" });
      const session = `${api.prefix}:s`;
      const run = { input: "Hi", session_id: session };
      await api.expect(200, "POST", `/agents/${api.prefix}/runs`, run);
      const kept = await api.expect(200, "GET", `/sessions/${session}/events`);
      const [first] = kept;
      const leaving = new AbortController();
      const response = await api.fetch("GET", "/events", {
        headers: { "last-event-id": String(first.event_id) },
        signal: leaving.signal,
      });
      assert.match(response.headers.get("content-type")!, /^text\/event-stream/);
      const stream = readSse(response);
      for (const event of kept.slice(1)) {
        const frame = await stream.next();
        assert.deepEqual([frame!.id, frame!.event], [String(event.event_id), event.type]);
        assert.deepEqual(frame!.data, event);
      }
      // Events while the stream is open.
      await api.expect(200, "POST", `/agents/${api.prefix}/runs`, run);
      let frame: SseFrame | undefined;
      do frame = await stream.next(); while (frame?.comment !== undefined);
      assert.deepEqual([frame!.event, frame!.data.session_id], ["run.started", session]);
      leaving.abort();
    },
  },
  {
    name: "an invalid position in the event log is refused",
    async run(api) {
      const { status, body } = await api.send("GET", "/events", undefined, { "last-event-id": "x" });
      assert.deepEqual([status, body.code], [400, "invalid"]);
      await api.refused(400, "invalid", "GET", "/events?after=-1");
    },
  },
];
