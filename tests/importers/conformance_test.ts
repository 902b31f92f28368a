import { IMPORTERS } from "../../src/ingest/logs/mod.ts";
import { testImporter } from "../../src/ingest/logs/testing/conformance.ts";
import { cases } from "../harness/thorough.ts";

/** The conformance suite over all built-in importers. A thorough run tries 10,000 changed records of each. */

for (const [name, load] of Object.entries(IMPORTERS)) {
  testImporter(async () => (await load()).default, {
    name,
    fixtures: new URL(`../fixtures/logs/${name}`, import.meta.url).pathname,
    mutations: cases(400),
  });
}
