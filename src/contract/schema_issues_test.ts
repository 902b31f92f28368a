import assert from "node:assert/strict";
import { z } from "zod";
import { toIssues } from "./schema_issues.ts";

const Call = z.strictObject({ at: z.number(), tools: z.array(z.strictObject({ name: z.string() })) });

const issuesOf = (value: unknown) => toIssues(z.array(Call).safeParse(value).error?.issues ?? []);

Deno.test("toIssues() names a wrong value by its path", () => {
  assert.deepEqual(issuesOf([{ at: 1, tools: [] }]), []);
  const [issue, ...others] = issuesOf([{ at: 1, tools: [] }, { at: "1", tools: [] }]);
  assert.equal(issue!.path, "[1].at");
  assert.match(issue!.message, /number/);
  assert.deepEqual(others, []);
  assert.deepEqual(toIssues(z.string("must be a text").safeParse(1).error!.issues), [
    { path: "", message: "must be a text" },
  ]);
});

Deno.test("toIssues() names every field that is not known by its own path", () => {
  const deep = JSON.parse('[{"at": 1, "tools": [{"name": "x", "odd": 1}], "__proto__": 1, "more": 2}]');
  assert.deepEqual(issuesOf(deep), [
    { path: "[0].tools[0].odd", message: "is not known" },
    { path: "[0].__proto__", message: "is not known" },
    { path: "[0].more", message: "is not known" },
  ]);
});
