import assert from "node:assert/strict";
import type { ApiAnswer, TestPurser } from "./test_purser.ts";

/** Sends a request and fails unless the response is this problem; `path` is among the issues that it names. */
export async function assertProblem(
  purser: TestPurser,
  method: string,
  path: string,
  body: unknown,
  expected: {
    status: number;
    code: string;
    path?: string;
    detail?: RegExp;
  },
  headers?: HeadersInit,
): Promise<ApiAnswer> {
  const answer = await purser.api(method, path, body, headers);
  const where = `${method} ${path} ${JSON.stringify(body)?.slice(0, 200)} -> ${JSON.stringify(answer.body)}`;
  assert.equal(answer.status, expected.status, where);
  assert.equal(answer.headers.get("content-type"), "application/problem+json", where);
  assert.equal(answer.body.code, expected.code, where);
  assert.equal(answer.body.status, expected.status, where);
  assert.equal(answer.body.instance, path.split("?")[0], where);
  if (expected.detail) assert.match(answer.body.detail, expected.detail);
  if (expected.path !== undefined) {
    const paths = answer.body.details.issues.map((issue: { path: string }) => issue.path);
    assert.ok(paths.includes(expected.path), `${expected.path} is not among ${paths}: ${where}`);
  }
  return answer;
}
