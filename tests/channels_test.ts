import assert from "node:assert/strict";
import { builtInChannels } from "../plugins/mod.ts";
import { type ConformanceOptions, testChannel } from "../src/delivery/channels/testing/conformance.ts";
import { SERVICES } from "./channels/services.ts";

/** Every registered channel passes the one conformance suite; none opts out. */
for (const [kind, load] of Object.entries(builtInChannels)) {
  const { conformance }: { conformance: ConformanceOptions } = await import(
    `../plugins/${kind}/conformance.ts`
  );
  assert.equal(conformance.kind, kind);
  const { receive } = SERVICES[kind] ?? {};
  testChannel((await load()).default, { ...conformance, ...(receive && { receive }) });
}
