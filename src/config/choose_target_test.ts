import assert from "node:assert/strict";
import type { ConfigOptions } from "./config.ts";
import { type Config, loadConfig } from "./mod.ts";
import { PurserError } from "../kernel/errors.ts";

const PATH = "/home/ada/.config/purser/purser.json";

const FILE = {
  server: "https://file.example.com",
  api_key: "file-key",
  db_token: "file-token",
  profiles: {
    prod: { server: "https://prod.example.com/", api_key: "${PROD_KEY}" },
    open: { server: "https://open.example.com" },
    keyed: { server: "https://keyed.example.com", api_key_file: "keys/keyed" },
    books: { db: "libsql://books.example.com", db_token: "books-token" },
    local: { db: "books.db" },
  },
};

function load(
  options: ConfigOptions,
  env: Record<string, string> = {},
  file: object = FILE,
): Promise<Config> {
  return loadConfig({
    env: { HOME: "/home/ada", PROD_KEY: "prod-key", ...env },
    options,
    platform: "linux",
    readTextFile: (path) =>
      path === PATH
        ? Promise.resolve(JSON.stringify(file))
        : Promise.reject(Object.assign(new Error("No such file"), { code: "ENOENT" })),
  });
}

/** Returns the target of these settings, and the secret for it. */
async function targetOf(options: ConfigOptions, env: Record<string, string> = {}) {
  const { server, dbUrl, apiKey, apiKeyFile, dbToken, profile } = await load(options, env);
  return Object.fromEntries(
    Object.entries({
      profile,
      target: server ?? dbUrl,
      secret: server === undefined ? dbToken : apiKey ?? apiKeyFile,
    }).filter(([, value]) => value !== undefined),
  );
}

Deno.test("--profile selects a server or a database, with its own secret", async () => {
  assert.deepEqual(await targetOf({ profile: "prod" }), {
    profile: "prod",
    target: "https://prod.example.com",
    secret: "prod-key",
  });
  assert.deepEqual(await targetOf({ profile: "keyed" }), {
    profile: "keyed",
    target: "https://keyed.example.com",
    secret: "/home/ada/.config/purser/keys/keyed",
  });
  assert.deepEqual(await targetOf({ profile: "books" }), {
    profile: "books",
    target: "libsql://books.example.com",
    secret: "books-token",
  });
});

Deno.test("the file's top-level secrets are never sent to the target of a profile", async () => {
  assert.deepEqual(await targetOf({ profile: "open" }), {
    profile: "open",
    target: "https://open.example.com",
  });
  assert.deepEqual(await targetOf({ profile: "local" }), {
    profile: "local",
    target: "/home/ada/.config/purser/books.db",
  });
});

Deno.test("--profile overrides the environment, including its key", async () => {
  const env = {
    PURSER_SERVER: "https://env.example.com",
    PURSER_API_KEY: "env-key",
    PURSER_DB_TOKEN: "env-token",
  };
  assert.deepEqual((await targetOf({ profile: "prod" }, env)).secret, "prod-key");
  assert.deepEqual((await targetOf({ profile: "keyed" }, { ...env, PURSER_DB: "x.db" })).profile, "keyed");
  assert.deepEqual(await targetOf({ profile: "books" }, env), {
    profile: "books",
    target: "libsql://books.example.com",
    secret: "books-token",
  });
  // A profile without a key leaves that to the environment.
  assert.deepEqual((await targetOf({ profile: "open" }, env)).secret, "env-key");
  assert.deepEqual((await targetOf({ profile: "prod", apiKey: "typed" }, env)).secret, "typed");
});

Deno.test("PURSER_PROFILE overrides the file, and is overridden by every explicit target", async () => {
  const env = { PURSER_PROFILE: "prod" };
  assert.deepEqual(await targetOf({}, env), {
    profile: "prod",
    target: "https://prod.example.com",
    secret: "prod-key",
  });
  assert.equal((await targetOf({}, { PURSER_PROFILE: "local" })).target, "/home/ada/.config/purser/books.db");
  // Its key goes nowhere else.
  const elsewhere = { target: "https://other.example.com", secret: "file-key" };
  assert.deepEqual(await targetOf({ server: "https://other.example.com" }, env), elsewhere);
  assert.deepEqual(await targetOf({}, { ...env, PURSER_SERVER: "https://other.example.com" }), elsewhere);
  assert.deepEqual(await targetOf({ dbUrl: "x.db" }, env), { target: "x.db", secret: "file-token" });
  assert.deepEqual(await targetOf({}, { ...env, PURSER_DB: "x.db" }), {
    target: "x.db",
    secret: "file-token",
  });
  assert.equal((await targetOf({}, { ...env, PURSER_API_KEY: "env-key" })).secret, "env-key");
  assert.equal((await targetOf({ profile: "keyed" }, env)).profile, "keyed");
});

Deno.test("an empty --db is refused, such as from an unset variable of a script", () =>
  assert.rejects(load({ dbUrl: "" }, {}, {}), {
    code: "invalid",
    message: "Cannot use --db: it is empty; give a path or a URL",
  }));

Deno.test("two options that each name a target are refused", async () => {
  const one = "Cannot use --profile together with --";
  await assert.rejects(load({ profile: "prod", server: "https://x" }), {
    message: `${one}server: give one of them`,
  });
  await assert.rejects(load({ profile: "prod", dbUrl: "x.db" }), { message: `${one}db: give one of them` });
});

Deno.test("an unknown profile is refused with the nearest name", async () => {
  const message = async (options: ConfigOptions, env: Record<string, string> = {}, file: object = FILE) => {
    const error = await load(options, env, file).then(() => assert.fail(), (error) => error);
    assert.ok(error instanceof PurserError && error.code === "invalid");
    return error.message;
  };
  assert.equal(
    await message({ profile: "prd" }),
    `Cannot use --profile: ${PATH} has no profile prd; did you mean prod?`,
  );
  assert.match(
    await message({}, { PURSER_PROFILE: "somewhere" }),
    /^Cannot use PURSER_PROFILE: .* see purser profiles list$/,
  );
  assert.match(
    await message({ profile: "x" }, {}, {}),
    /has no profiles; create one with purser profiles add$/,
  );
  assert.match(await message({ profile: "toString" }), /has no profile toString/);
});

Deno.test("an unused profile needs neither its variables nor a valid URL", async () => {
  const { server } = await load({ profile: "open" }, { PROD_KEY: undefined as unknown as string });
  assert.equal(server, "https://open.example.com");
  await assert.rejects(load({ profile: "prod" }, { PROD_KEY: undefined as unknown as string }), {
    message: /profiles\.prod\.api_key needs the environment variable PROD_KEY/,
  });
});

Deno.test("an invalid profile is refused, with its path in the file and no value", async () => {
  const message = async (profile: object) =>
    (await load({}, {}, { profiles: { prod: profile } }).then(() => assert.fail(), (error) => error)).message;
  assert.match(await message({}), /profiles\.prod: must name a server or a db, and only one of them$/);
  assert.match(await message({ server: "https://x", db: "x" }), /only one of them$/);
  assert.match(await message({ db: "x", api_key: "s3cr3t" }), /profiles\.prod\.api_key: is for a server/);
  assert.match(
    await message({ server: "https://x", api_key: "s3cr3t", api_key_file: "f" }),
    /cannot be combined with api_key/,
  );
  assert.match(await message({ sever: "https://x" }), /did you mean server\?/);
  assert.doesNotMatch(await message({ db: "x", api_key: "s3cr3t" }), /s3cr3t/);
  await assert.rejects(load({}, {}, { api_key: "a", api_key_file: "b" }), {
    message: /api_key_file: cannot be combined with api_key/,
  });
});
