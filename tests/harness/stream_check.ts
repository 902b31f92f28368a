import { parseFrame } from "./sse_reader.ts";
import type { Schema } from "./openapi_document.ts";
import type { SchemaCheck } from "./schema_check.ts";

/** A response of server-sent events as it came; reading it fails at an event that is not declared. */
export function checkStream(check: SchemaCheck, schema: Schema, response: Response, where: string): Response {
  const decoder = new TextDecoder();
  let text = "";
  const checked = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      text += decoder.decode(chunk, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop()!;
      for (const frame of frames.map(parseFrame)) {
        if (frame.comment === undefined) check(schema, JSON.parse(JSON.stringify(frame)), where);
      }
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body!.pipeThrough(checked), response);
}
