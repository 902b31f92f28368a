import assert from "node:assert/strict";
import { acceptsCsv } from "./csv.ts";

Deno.test("a client gets CSV if it names it, and doesn't prefer JSON", () => {
  const csv = ["text/csv", "Text/CSV", "text/csv;q=0.5", "text/csv; charset=utf-8, */*;q=0.1"];
  const both = ["application/json;q=0.4, text/csv;q=0.5", "application/json, text/csv"];
  for (const accept of [...csv, ...both]) assert.equal(acceptsCsv(accept), true, accept);
  const json = ["text/csv;q=0", "text/csv ; Q=0.0", "application/json, text/csv;q=0.1"];
  const other = [undefined, "", "*/*", "text/*", "text/csvx", "application/json", "text/csv;q=x"];
  for (const accept of [...json, ...other]) assert.equal(acceptsCsv(accept), false, accept);
});
