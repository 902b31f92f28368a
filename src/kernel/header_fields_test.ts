import assert from "node:assert/strict";
import { joinHeaders } from "./header_fields.ts";

Deno.test("joinHeaders() reads as Headers do: names without their case, repeated ones joined", () => {
  const sent = [
    "Accept",
    "a/b",
    "X-One",
    "1",
    "accept",
    "c/d",
    "x-empty",
    "",
    "X-ONE",
    "2",
    "x-empty",
    "b",
    "x-last",
    "c",
    "x-last",
    "",
  ];
  const headers = new Headers();
  for (let at = 0; at < sent.length; at += 2) headers.append(sent[at]!, sent[at + 1]!);
  const joined = joinHeaders(sent);
  const read: [string, string][] = [];
  joined.forEach((value, name) => read.push([name, value]));
  assert.deepEqual(read.sort(), [...headers]);
  for (const name of ["accept", "x-one", "x-last", "x-none"]) {
    assert.equal(joined.get(name), headers.get(name));
  }
});
