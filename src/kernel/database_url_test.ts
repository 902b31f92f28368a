import assert from "node:assert/strict";
import { type DatabaseAddress, parseDatabaseUrl } from "./database_url.ts";

Deno.test("parseDatabaseUrl() reads paths, files, memory and servers", () => {
  const cases: [string, DatabaseAddress][] = [
    ["purser.db", { kind: "file", path: "purser.db" }],
    ["/var/lib/purser.db", { kind: "file", path: "/var/lib/purser.db" }],
    ["C:\\data\\purser.db", { kind: "file", path: "C:\\data\\purser.db" }],
    ["file:data/purser.db", { kind: "file", path: "data/purser.db" }],
    ["file:///var/my%20data.db", { kind: "file", path: "/var/my data.db" }],
    ["file://localhost/var/a.db", { kind: "file", path: "/var/a.db" }],
    ["file:///C:/data/a.db", { kind: "file", path: "C:/data/a.db" }],
    [":memory:", { kind: "memory" }],
    ["file::memory:", { kind: "memory" }],
    ["libsql://db-team.turso.io", { kind: "remote", url: "libsql://db-team.turso.io" }],
    ["http://127.0.0.1:8080", { kind: "remote", url: "http://127.0.0.1:8080" }],
    ["https://db.example.com/a", { kind: "remote", url: "https://db.example.com/a" }],
    ["postgres://u@db/a?schema=b", { kind: "remote", url: "postgres://u@db/a?schema=b" }],
  ];
  for (const [text, expected] of cases) assert.deepEqual(parseDatabaseUrl(text), expected);
});

Deno.test("parseDatabaseUrl() names an alternative to what it refuses", () => {
  const cases: [string, RegExp][] = [
    ["", /it is empty/],
    ["  ", /it is empty/],
    ["ws://a", /use http:\/\/ or libsql:\/\//],
    ["wss://a", /use https:\/\/ or libsql:\/\//],
    ["mysql://a/b", /mysql: is not supported; give a path/],
    ["postgres:///b", /not a URL with a host; give postgres:\/\/USER@HOST/],
    ["postgres://user:hunter2@a/b", /set PURSER_DB_TOKEN to the password/],
    ["postgresql://user@a/b?password=hunter2", /set PURSER_DB_TOKEN to the password/],
    ["file:", /names no path/],
    ["file://host/a.db", /needs an absolute path/],
    ["file:a.db?mode=ro", /takes no \? or #/],
    ["file:%E0%A4%A", /percent-encoding/],
    ["libsql://", /not a URL with a host/],
    ["libsql://user:hunter2@a", /set PURSER_DB_TOKEN/],
    ["libsql://a?authToken=hunter2", /set PURSER_DB_TOKEN/],
  ];
  for (const [text, message] of cases) {
    assert.throws(() => parseDatabaseUrl(text), { code: "invalid", message });
  }
});

Deno.test("parseDatabaseUrl() never repeats the setting, which may contain a secret", () => {
  assert.throws(
    () => parseDatabaseUrl("libsql://user:hunter2@a"),
    (error: Error) => !error.message.includes("hunter2"),
  );
});
