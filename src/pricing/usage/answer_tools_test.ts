import assert from "node:assert/strict";
import { trackAnswerUsage } from "./answer_usage.ts";

Deno.test("trackAnswerUsage() counts the containers in which OpenAI runs code and shells, and images without tokens", () => {
  const partsOf = (...output: object[]) => {
    const seen = trackAnswerUsage("openai.responses");
    seen.take({ object: "response", output, usage: { input_tokens: 5, output_tokens: 7 } });
    const { details, others } = seen.usage()!;
    return { ...details, ...others };
  };
  const shell = (environment: object | null) => ({ type: "shell_call", status: "completed", environment });
  const hosted = (container_id: string) => shell({ type: "container_reference", container_id });
  const code = { type: "code_interpreter_call", container_id: "one" };
  assert.deepEqual(partsOf(hosted("one"), hosted("one"), code), { code_executions: 1 });
  assert.deepEqual(partsOf(hosted("two"), code), { code_executions: 2 });
  assert.deepEqual(
    partsOf(shell({ type: "local" }), shell(null)),
    {},
    "a shell of the caller's own costs nothing",
  );
  const image = (status: string, result: string | null) => ({
    type: "image_generation_call",
    status,
    result,
  });
  assert.deepEqual(partsOf(image("completed", "AAAA"), image("failed", null)), { image_generation_calls: 1 });
});
