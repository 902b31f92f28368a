import assert from "node:assert/strict";
import { loadConfig } from "../src/config/mod.ts";
import { keysKnownAt } from "../src/config/file/parse_config_file.ts";
import { REQUEST_LIMITS } from "../src/contract/limits.ts";
import { DEFAULT_LIMITS, maxConnections } from "../src/http/server/connection_limits.ts";
import { readDocument, withoutCode } from "./harness/documents.ts";

/** The limits that docs/security.md names, and their defaults, are those of the code. */

/** The rows of the table below a heading, without its head: their cells. */
async function rowsBelow(heading: string): Promise<string[][]> {
  const [, part = ""] = (await readDocument("docs/security.md")).split(`\n## ${heading}\n`);
  const rows = part.split("\n## ")[0]!.match(/^\|.*\|$/gm) ?? [];
  return rows.slice(2).map((row) => row.split("|").slice(1, -1).map((cell) => cell.trim()));
}

/** The names in a cell, of which a later one may begin with `…` in place of the first word of the one before. */
function namesIn(cell: string): string[] {
  const names: string[] = [];
  for (const [, name] of cell.matchAll(/`([^`]+)`/g)) {
    const [first] = names.at(-1)?.split("_") ?? [];
    names.push(name!.replace("…", first ?? "…"));
  }
  return names;
}

const limitOf = (text: string) => text === "none" ? null : Number(/^`(\d+)`$/.exec(text)?.[1]);

Deno.test("docs/security.md names every limit on requests, with its default", async () => {
  const documented = (await rowsBelow("Limits on requests")).flatMap(([names = "", defaults = ""]) => {
    const values = defaults.split(", ");
    return namesIn(names).map((name, index) => [name, limitOf(values[index]!)]);
  });
  assert.deepEqual(documented, Object.entries(REQUEST_LIMITS));
});

Deno.test("docs/security.md names every limit on connections, with its default", async () => {
  const rows = await rowsBelow("Limits on connections");
  const defaults = Object.fromEntries(rows.map(([name = "", value = ""]) => [namesIn(name)[0]!, value]));
  const { limits } = await loadConfig({ env: { HOME: "/home/ada" } });
  const { connections = "", connections_per_address, ...others } = defaults;
  assert.deepEqual(others, {
    headers_seconds: `${DEFAULT_LIMITS.headersMs / 1_000}`,
    min_body_bytes_per_second: `${DEFAULT_LIMITS.minBodyBytesPerSecond}`,
    idle_seconds: `${DEFAULT_LIMITS.idleMs / 1_000}`,
    unread_seconds: `${DEFAULT_LIMITS.unreadMs / 1_000}`,
    shutdown_seconds: `${limits.shutdownSeconds}`,
  });
  assert.equal(connections_per_address, "half of `connections`"); // shown by tests/connections_test.ts
  assert.deepEqual(
    [...Object.keys(defaults), ...Object.keys(REQUEST_LIMITS)].sort(),
    keysKnownAt(["limits"]).sort(),
  );

  const numbers = /^descriptors less (\d+), or half of them if that is more; at most ([\d,]+)$/.exec(
    connections,
  );
  const [reserved, most] = numbers!.slice(1).map((number) => Number(number.replace(",", ""))) as [
    number,
    number,
  ];
  for (const descriptors of [120, 300, 512, 1_024, 4_000, 20_000]) {
    assert.equal(
      maxConnections(`Max open files            ${descriptors}                 524288               files`),
      Math.min(most, Math.max(descriptors - reserved, descriptors / 2)),
    );
  }
  const [, unknown] = /(\d+) if the limit on descriptors is not known/.exec(rows[0]![2]!)!;
  assert.equal(maxConnections(undefined), Number(unknown));
});

Deno.test("no bullet of the reference pages docs/security.md and docs/api.md has over 60 words", async () => {
  for (const path of ["docs/security.md", "docs/api.md"]) {
    const bullets = withoutCode(await readDocument(path)).match(/^ *- .*(?:\n(?! *- ).+)*/gm)!;
    assert.ok(bullets.length > 20, path);
    for (const bullet of bullets) assert.ok(bullet.split(/\s+/).length <= 60, `${path}: ${bullet}`);
  }
});
