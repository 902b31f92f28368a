import { makeJsonSchema } from "./json_schema.ts";

/** Regenerates the committed schema: `deno task schema`. */
const path = new URL("./snapshot_v1.schema.json", import.meta.url);
await Deno.writeTextFile(path, JSON.stringify(makeJsonSchema(), null, 2) + "\n");
