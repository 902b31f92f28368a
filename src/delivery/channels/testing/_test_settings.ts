import assert from "node:assert/strict";
import { registerTest } from "./_test_runner.ts";
import { addressOf, assertFailure, assertNoSecret, openBench, type Subject } from "./_test_bench.ts";

/** Settings are validated before a send, and no secret of theirs is ever shown. */
export function testSettings(subject: Subject): void {
  const { kind } = subject;
  const right = () => subject.settings(addressOf(1));

  registerTest(`${kind}: valid settings pass, and describe() shows them without a secret`, async () => {
    await using bench = openBench(subject, { settings: right() });
    assert.equal(await bench.channel.check(), undefined);
    const described = await bench.channel.describe();
    assert.deepEqual(Object.keys(described), Object.keys(right()));
    assertNoSecret(subject, described);
  });

  registerTest(`${kind}: an unknown setting is refused by its name`, async () => {
    await using bench = openBench(subject, { settings: { ...right(), nonsense: "nonsense-value" } });
    const fault = await bench.channel.check();
    assert.match(fault ?? "", /nonsense is not a setting/);
    assert.ok(!fault?.includes("nonsense-value"));
    assertFailure(await bench.attempt(), { retry: true, says: /nonsense is not a setting/ });
    assert.equal((await bench.channel.describe()).nonsense, "***");
  });

  for (const { settings, says } of subject.wrongSettings) {
    registerTest(`${kind}: wrong settings are refused: ${says.source}`, async () => {
      await using bench = openBench(subject, { settings });
      const fault = await bench.channel.check();
      assert.match(fault ?? "it was not refused", says);
      assertNoSecret(subject, fault);
      assertFailure(await bench.attempt(), { retry: true, says });
    });
  }

  if (subject.reaches === "nothing") return;
  registerTest(
    `${kind}: a private address is refused permanently unless the config names its network`,
    async () => {
      await using bench = openBench(subject, { settings: right(), allowPrivateNetworks: [] });
      assertFailure(await bench.attempt(), { retry: false, says: /127\.0\.0\.1.*allow_private_networks/ });
    },
  );
}
