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

Deno.test("toIssues() says in plain words what is wrong and what is expected, unless a schema has words of its own", () => {
  const schema = z.object({
    text: z.string(),
    long: z.string().min(2).max(3),
    full: z.string().min(1),
    whole: z.int().min(1).max(9),
    above: z.number().gt(0),
    list: z.array(z.string()).max(1),
    choice: z.enum(["a", "b"]),
    fixed: z.literal(1),
    record: z.record(z.string(), z.string()),
    flag: z.boolean(),
    either: z.union([z.string(), z.number()]),
    time: z.iso.datetime(),
    own: z.string("must be a name"),
  });
  const messages = (value: unknown, reportInput = false) =>
    Object.fromEntries(
      toIssues(schema.safeParse(value, { reportInput }).error!.issues).map((
        { path, message },
      ) => [path, message]),
    );
  const wrong = {
    text: 5,
    long: "abcd",
    full: "",
    whole: 1.5,
    above: 0,
    list: ["a", "b"],
    choice: 5,
    fixed: "1",
    record: [],
    flag: null,
    either: [],
    time: "yesterday",
    own: 5,
  };
  const expected = {
    text: "is a number, must be a text",
    long: "must have at most 3 characters",
    full: "must not be empty",
    whole: "must be a whole number",
    above: "must be greater than 0",
    list: "must have at most 1 item",
    choice: "must be one of a, b",
    fixed: "must be 1",
    record: "is a list, must be an object",
    flag: "is null, must be true or false",
    either: "has none of the possible forms",
    time: "must be an ISO 8601 time, such as 2026-11-21T09:30:00.000Z",
    own: "must be a name",
  };
  assert.deepEqual(messages(wrong), expected);
  assert.deepEqual(messages(wrong, true), {
    ...expected,
    choice: "is a number, must be one of a, b",
    fixed: "is a text, must be 1",
  });
  const missing = messages({}, true);
  assert.deepEqual(
    [missing.text, missing.whole, missing.choice],
    ["is missing, must be a text", "is missing, must be a number", "is missing, must be one of a, b"],
  );
  const { long, whole } = messages({ ...wrong, long: "a", whole: 10 });
  assert.deepEqual([long, whole], ["must have at least 2 characters", "must be at most 9"]);
});
