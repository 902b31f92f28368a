import { openCore } from "../../src/service/mod.ts";
import { createKey } from "../../src/keys/mod.ts";

/** Creates an admin key on a database, as its owner does before the first client connects; returns its text. */
export async function makeFirstKey(dbUrl: string): Promise<string> {
  const core = await openCore({
    config: {
      dbUrl,
      durability: "full",
      remoteTimeoutMs: 10_000,
      maxBodyBytes: 1_000_000,
      environment: "test",
    },
    isReadOnly: true,
  });
  try {
    const { key } = await createKey(core, {
      name: "first",
      scopes: ["admin"],
      agentId: null,
      expiresAt: null,
    });
    return key;
  } finally {
    await core.close();
  }
}
