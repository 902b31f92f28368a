import assert from "node:assert/strict";
import { toConventionName, toProviderName } from "../../src/contract/costs/provider_names.ts";
import { dialectOf, DIALECTS } from "../../src/ingest/otlp/dialects/registry.ts";
import { readRecordings, recordsOf } from "../harness/otlp_recordings.ts";

/** The tables of dialects, and the names of providers. */

const recordings = readRecordings();

Deno.test("each dialect is dated, and its recording, where there is one, has its scope", () => {
  for (const { name, seen, shownBy, scope } of DIALECTS) {
    assert.match(seen, /20\d\d-\d\d/, name);
    for (const path of shownBy.split(", ").filter((one) => /^[a-z0-9-]+\/(?:\d\d-|\*)/.test(one))) {
      const recording = recordings.find((one) => one.name.startsWith(path.replace("*", "")));
      if (!recording) continue; // It is described, and not kept here.
      const scopes = recordsOf(recording).flat().map((record) => record.scope.name);
      assert.ok(scopes.some((one) => scope.test(one)), `${name}: ${path}`);
    }
  }
});

Deno.test("each scope of a recording that tells calls has a dialect of its own", () => {
  const others = recordings.flatMap((recording) => recordsOf(recording).flat()).filter((record) =>
    dialectOf(record.scope)?.name === "conventions" &&
    [...record.attributes.keys()].some((name) => /token_count|usage\.\w*tokens/.test(name))
  );
  assert.deepEqual([...new Set(others.map(({ scope }) => scope.name))], []);
});

Deno.test("a dialect is found by its scope, the more special one first", () => {
  const of = (name: string) => dialectOf({ name, version: "" })?.name;
  assert.equal(of("opentelemetry.instrumentation.google_generativeai"), "openllmetry-google");
  assert.equal(of("opentelemetry.instrumentation.google_genai"), "otel-google-genai");
  assert.equal(of("opentelemetry.instrumentation.genai.openai"), "otel-genai");
  assert.equal(of("opentelemetry.instrumentation.bedrock"), "openllmetry");
  assert.equal(of("@arizeai/openinference-instrumentation-langchain"), "openinference-langchain");
  assert.equal(of("openinference.instrumentation.crewai"), "openinference");
  assert.equal(of("acme"), "conventions");
  assert.equal(of("purser"), undefined);
});

Deno.test("providers have one name, whatever a program calls them, and that of the conventions when they are exported", () => {
  const names = {
    google: ["gcp.gemini", "gcp.gen_ai", "gemini", "google.generative-ai", "Google"],
    vertex: ["gcp.vertex_ai", "vertex_ai", "google.vertex.chat"],
    bedrock: ["aws.bedrock", "amazon-bedrock"],
    azure: ["azure.ai.openai", "az.ai.openai", "azure"],
    azure_ai: ["azure.ai.inference"],
    openai: ["openai.responses", "openai.chat", "OpenAI"],
    anthropic: ["anthropic.messages", "anthropic"],
    mistral: ["mistral_ai"],
    xai: ["x_ai", "xai.chat"],
    "acme.internal": ["acme.internal"],
  };
  for (const [own, others] of Object.entries(names)) {
    for (const other of others) assert.equal(toProviderName(other), own, other);
    assert.equal(toProviderName(toConventionName(own)), own);
  }
  assert.equal(toConventionName("bedrock"), "aws.bedrock");
});
