import assert from "node:assert/strict";
import { argumentsFor, commandEnvironment, providersIn } from "./capture_variables.ts";

const URL = "http://127.0.0.1:8421";

function environmentOf(env: Record<string, string>, program = "node") {
  return commandEnvironment(env, { url: URL, key: "psr_own", providers: providersIn(env), program });
}

Deno.test("commandEnvironment() leaves no key of a captured provider to a command", () => {
  const env = environmentOf({
    GOOGLE_GENERATIVE_AI_API_KEY: "real",
    GEMINI_API_KEY: "real",
    GOOGLE_API_KEY: "real",
    OPENAI_API_KEY: "real",
    PATH: "/bin",
  });
  assert.deepEqual(Object.entries(env).filter(([, value]) => value === "real"), []);
  assert.deepEqual([env.GOOGLE_GENERATIVE_AI_API_KEY, env.GEMINI_API_KEY, env.PATH], [
    "psr_own",
    "psr_own",
    "/bin",
  ]);
  // The client of Google prefers it.
  assert.equal(env.GOOGLE_API_KEY, undefined);
  assert.equal(environmentOf({ ANTHROPIC_API_KEY: "real" }, "claude").ANTHROPIC_API_KEY, undefined);
});

Deno.test("argumentsFor() points Codex to the server, to the gateway only where it has a key", () => {
  assert.deepEqual(argumentsFor("node", { url: URL, providers: ["openai"] }), []);
  const telemetry = argumentsFor("codex", { url: URL, providers: [] });
  assert.deepEqual(telemetry.slice(-4), [
    "-c",
    `otel.exporter.otlp-http.endpoint="${URL}/v1/logs"`,
    "-c",
    'otel.exporter.otlp-http.protocol="binary"',
  ]);
  assert.deepEqual(argumentsFor("codex", { url: URL, providers: ["openai"] }), [
    ...["-c", 'model_provider="purser"'],
    ...["-c", 'model_providers.purser.name="Purser"'],
    ...["-c", `model_providers.purser.base_url="${URL}/openai/v1"`],
    ...["-c", 'model_providers.purser.env_key="PURSER_API_KEY"'],
    ...["-c", 'model_providers.purser.wire_api="responses"'],
    ...telemetry,
  ]);
  assert.equal(environmentOf({ OPENAI_API_KEY: "real" }, "codex").PURSER_API_KEY, "psr_own");
});
