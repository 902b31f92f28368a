import assert from "node:assert/strict";
import { join } from "node:path";
import { inDirectory } from "../../tests/harness/in_directory.ts";
import { fixedClock } from "../clock.ts";
import type { Core } from "../core.ts";
import { createIds } from "../ids.ts";
import { silentLog } from "../log.ts";
import { noTelemetry } from "../telemetry/mod.ts";
import { createOwnerDoor } from "./owner_door.ts";
import {
  ANNOUNCED_HEADER,
  announcementOf,
  LEFT_HEADER,
  PROOF_PATH,
  proofOf,
  readOwner,
} from "./owner_file.ts";

/** A core whose sleeps last until they are ended by hand, or by their signal. */
function sleepyCore() {
  const clock = fixedClock(0);
  const slept: number[] = [];
  const { promise: woken, resolve: wake } = Promise.withResolvers<void>();
  const warnings: string[] = [];
  const core = {
    clock: {
      ...clock,
      async sleep(delayMs: number, signal?: AbortSignal) {
        slept.push(delayMs);
        const aborted = new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()));
        await Promise.race([woken, aborted]);
      },
    },
    ids: createIds(clock),
    log: { ...silentLog, warn: (message: string) => void warnings.push(message) },
    telemetry: noTelemetry,
    stop() {},
  } as unknown as Core;
  return { core, wake, slept, warnings };
}

const app = { fetch: () => new Response("answered") };

async function opened(path: string): Promise<NonNullable<Awaited<ReturnType<typeof readOwner>>>> {
  for (;;) {
    const owner = await readOwner(path);
    if (owner) return owner;
  }
}

Deno.test("a door that is closed before its time was never open", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    const { core, slept } = sleepyCore();
    const door = createOwnerDoor(core, app, path);
    door.openLater(100);
    await door.close();
    assert.deepEqual(slept, [100]);
    assert.equal(await readOwner(path), undefined);
  }));

Deno.test("a door opens in its time, lets in who has the token, and leaves nothing behind", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    const { core, wake } = sleepyCore();
    const door = createOwnerDoor(core, app, path);
    door.openLater(100);
    assert.equal(await readOwner(path), undefined);
    wake();
    const { url, token } = await opened(path);
    const answer = await fetch(`${url}/agents`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(await answer.text(), "answered");
    const refusal = await fetch(`${url}/agents`);
    assert.equal(refusal.status, 401);
    await refusal.body?.cancel();
    await door.close();
    assert.equal(await readOwner(path), undefined);
    await assert.rejects(fetch(`${url}/agents`));
  }));

Deno.test("a door that was to be opened later can be opened at once", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    const { core } = sleepyCore();
    const door = createOwnerDoor(core, app, path);
    door.openLater(100);
    door.hurry();
    await opened(path);
    await door.close();
    assert.equal(await readOwner(path), undefined);
  }));

Deno.test("a door that retires waits for what was announced by who has the token, and for nobody else", () =>
  inDirectory(async (folder) => {
    const path = join(folder, "purser.db");
    const { core } = sleepyCore();
    const release = Promise.withResolvers<Response>();
    const door = createOwnerDoor(core, { fetch: () => release.promise }, path);
    await door.open();
    const { url, token } = await opened(path);
    const knock = async (nonce: string, announcement: string) =>
      await (await fetch(`${url}${PROOF_PATH}?nonce=${nonce}&announcement=${announcement}`)).text();
    assert.equal(await knock("a", announcementOf(token, "a")), proofOf(token, "a"));
    // Whoever asks for proofs gets none of an announcement.
    await knock("b", proofOf(token, "b"));
    await knock("c", "");

    let isRetired = false;
    const retiring = door.retire().then(() => void (isRetired = true));
    while (await readOwner(path) !== undefined);
    assert.equal(isRetired, false);
    const headers = { authorization: `Bearer ${token}`, [ANNOUNCED_HEADER]: "a" };
    const answer = fetch(`${url}/agents`, { method: "POST", headers });
    await retiring;
    assert.equal(door.count(), 1);
    await door.advertise();
    assert.equal((await opened(path)).token, token);
    release.resolve(new Response("answered"));
    assert.equal(await (await answer).text(), "answered");
    // Nothing is left to do: whoever comes now is sent away, and told that nothing was done.
    await door.retire();
    assert.equal(await readOwner(path), undefined);
    const late = await fetch(`${url}/agents`, { method: "POST", headers });
    assert.deepEqual([late.status, late.headers.has(LEFT_HEADER)], [503, true]);
    assert.notEqual(await knock("d", announcementOf(token, "d")), proofOf(token, "d"));
    await door.close();
  }));

Deno.test("a door that can't be opened later is told of, and is no reason to fail", () =>
  inDirectory(async (folder) => {
    const { core, wake, warnings } = sleepyCore();
    const door = createOwnerDoor(core, app, join(folder, "no such folder", "purser.db"));
    door.openLater(100);
    wake();
    while (warnings.length === 0) await new Promise<void>((resolve) => setTimeout(resolve, 0));
    assert.deepEqual(warnings, ["Other commands can't come in until this one has ended"]);
    await door.close();
    const other = createOwnerDoor(core, app, join(folder, "no such folder", "purser.db"));
    await assert.rejects(other.open(), { code: "unavailable" });
    await other.close();
  }));
