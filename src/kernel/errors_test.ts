import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory } from "../../tests/harness/in_directory.ts";
import { BudgetExceededError, messageOf, PurserError, STATUS } from "./errors.ts";
import { systemReason } from "./system_errors.ts";
import { denoFiles, nodeFiles } from "./files/files.ts";

Deno.test("every code has the status of an HTTP error", () => {
  for (const [code, status] of Object.entries(STATUS)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/);
    assert.ok(status >= 400 && status < 600, code);
  }
  assert.equal(STATUS.budget_exceeded, 402);
});

Deno.test("a PurserError keeps its code, its facts and its cause", () => {
  const cause = new Error("disk full");
  const error = new PurserError("internal", "Cannot write", { details: { path: "x" }, cause });
  assert.ok(error instanceof Error);
  assert.equal(error.name, "PurserError");
  assert.equal(error.code, "internal");
  assert.deepEqual(error.details, { path: "x" });
  assert.equal(error.cause, cause);
});

Deno.test("a PurserError without a cause has none, not an undefined one", () => {
  assert.equal(Object.hasOwn(new PurserError("invalid", "Cannot read"), "cause"), false);
});

Deno.test("a BudgetExceededError has the spend and the budget", () => {
  const error = new BudgetExceededError("Cannot call", { cost_usd_so_far: 1.5, budget_usd: 1 });
  assert.ok(error instanceof PurserError);
  assert.equal(error.name, "BudgetExceededError");
  assert.equal(error.code, "budget_exceeded");
  assert.deepEqual(error.details, { cost_usd_so_far: 1.5, budget_usd: 1 });
});

Deno.test("messageOf() accepts any thrown value", () => {
  assert.equal(messageOf(new TypeError("no")), "no");
  assert.equal(messageOf("no"), "no");
  assert.equal(messageOf(undefined), "undefined");
});

Deno.test("systemReason() returns the same for errors of Deno and Node", () =>
  inDirectory(async (folder) => {
    const file = join(folder, "file");
    await Deno.writeTextFile(file, "");
    await Deno.symlink(join(folder, "round"), join(folder, "round"));
    const cases: [path: string, reason: string][] = [
      [join(folder, "none"), "no such file or directory"],
      [folder, "is a directory"],
      [join(file, "below"), "not a directory"],
      [join(folder, "round"), "too many levels of symbolic links"],
      [join(folder, "n".repeat(300)), "file name too long"],
    ];
    for (const { readText } of [denoFiles(Deno), nodeFiles]) {
      for (const [path, reason] of cases) {
        assert.equal(await readText(path).then(() => "it was read", systemReason), reason);
      }
    }
  }));

Deno.test("systemReason() returns the message of an error without a system code", () => {
  assert.equal(systemReason(new Error("it is broken")), "it is broken");
  assert.equal(systemReason("text"), "text");
});
