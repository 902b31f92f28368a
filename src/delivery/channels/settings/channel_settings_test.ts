import assert from "node:assert/strict";
import { z } from "zod";
import { hideSecrets, listSecrets, readSecretFiles } from "./channel_settings.ts";

const secret = z.string().min(3).meta({ secret: true });

const Settings = z.object({
  plain: z.string(),
  count: z.number(),
  isOn: z.boolean(),
  url: z.string().meta({ secret: "url" }),
  one: secret.optional(),
  many: z.array(secret),
  either: z.union([z.number(), secret]),
  headers: z.record(z.string(), secret),
  nested: z.object({ inner: secret.nullable().default(null), name: z.string() }),
  piped: z.preprocess((value) => value, secret),
  pair: z.tuple([z.string(), secret]),
  whole: z.object({ user: z.string(), pin: z.number() }).meta({ secret: true }),
  certificate: z.string().meta({ fromFile: true }),
}).partial();

const SETTINGS = {
  plain: "shown",
  count: 7,
  isOn: true,
  url: "https://hooks.example:8443/path-secret?query-secret",
  one: "one-secret",
  many: ["many-secret-1", "many-secret-2"],
  either: "either-secret",
  headers: { authorization: "header-secret" },
  nested: { inner: "inner-secret", name: "shown" },
  piped: "piped-secret",
  pair: ["shown", "pair-secret"],
  whole: { user: "whole-secret", pin: 123456 },
  certificate: "shown",
};

Deno.test("hideSecrets() hides every secret in any kind of schema, and shows the rest", () => {
  assert.deepEqual(hideSecrets(SETTINGS, Settings), {
    ...SETTINGS,
    url: "https://hooks.example:8443/***",
    one: "***",
    many: ["***", "***"],
    either: "***",
    headers: { authorization: "***" },
    nested: { inner: "***", name: "shown" },
    piped: "***",
    pair: ["shown", "***"],
    whole: { user: "***", pin: "***" },
  });
});

Deno.test("hideSecrets() hides unknown settings, unexpected values, and everything without a schema", () => {
  assert.deepEqual(hideSecrets({ pasword: "x", nested: { other: ["x"] } }, Settings), {
    pasword: "***",
    nested: { other: ["***"] },
  });
  assert.deepEqual(hideSecrets({ url: "no url", one: 5, many: "x" }, Settings), {
    url: "***",
    one: "***",
    many: "***",
  });
  assert.deepEqual(hideSecrets({ url: "https://a/b", isOn: true }, undefined), { url: "***", isOn: true });
  const file = { one: { file: "/run/secrets/one" } };
  assert.deepEqual(hideSecrets(file, Settings), file, "where a secret is, is none");
});

Deno.test("listSecrets() lists every secret; of a URL the parts after the host", () => {
  const secrets = listSecrets(SETTINGS, Settings);
  assert.deepEqual(secrets.sort(), [
    ...["/path-secret", "123456", "?query-secret", "either-secret", "header-secret", "inner-secret"],
    ...["many-secret-1", "many-secret-2", "one-secret", "pair-secret", "piped-secret", "whole-secret"],
  ]);
  assert.deepEqual(listSecrets({ url: "https://a.example/" }, Settings), []);
  assert.deepEqual(listSecrets({ many: "misplaced-secret", unknown: "unknown-secret" }, Settings), [
    "misplaced-secret",
    "unknown-secret",
  ]);
  assert.deepEqual(listSecrets({ url: "not-a-url-but-secret" }, Settings), ["not-a-url-but-secret"]);
});

Deno.test("readSecretFiles() reads files for secrets, and for settings with fromFile", async () => {
  const files: Record<string, string> = { "/one": " one-secret\n", "/url": "https://a/b", "/ca": "PEM" };
  const read = (path: string) => Promise.resolve(files[path]!);
  const settings = {
    plain: { file: "/plain" },
    one: { file: "/one" },
    many: [{ file: "/one" }, "two"],
    url: { file: "/url" },
    headers: { a: { file: "/one" } },
    certificate: { file: "/ca" },
  };
  assert.deepEqual(await readSecretFiles(settings, Settings, read), {
    plain: { file: "/plain" },
    one: "one-secret",
    many: ["one-secret", "two"],
    url: "https://a/b",
    headers: { a: "one-secret" },
    certificate: "PEM",
  });
});

Deno.test("readSecretFiles() names a file that is missing, empty or unreadable", async () => {
  const one = { one: { file: "/one" } };
  const missing = Object.assign(new Error("os error 2"), { code: "ENOENT" });
  const cases: [() => Promise<string>, string][] = [
    [() => Promise.reject(missing), "Cannot read /one: no such file or directory"],
    [() => Promise.reject(new Error("permission denied")), "Cannot read /one: permission denied"],
    [() => Promise.resolve(" \n"), "Cannot read /one: the file is empty"],
  ];
  for (const [read, message] of cases) {
    await assert.rejects(readSecretFiles(one, Settings, read), { code: "invalid", message });
  }
});
