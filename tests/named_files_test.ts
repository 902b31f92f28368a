import assert from "node:assert/strict";
import { newPlace } from "./harness/cli_process.ts";
import { inProcess as purser } from "./harness/in_process.ts";

/** Every file that a setting names may be a folder, a device or far too large: a command says so, and ends. */

Deno.test("a file that a setting names is refused if it is a folder, has no end, or is far too large", async () => {
  await using place = await newPlace();
  const { folder } = place;
  const large = `${folder}/large`;
  using file = await Deno.open(large, { write: true, create: true });
  await file.truncate(5 * 1024 ** 3); // which takes no room on the disk
  await Deno.mkdir(`${folder}/folder`);
  const config = `${folder}/purser.json`;
  assert.equal((await purser(place, ["agents", "set", "a", "--model", "demo:echo"])).code, 0);
  const isNoFile = /it is not a file/;
  const isTooLarge = /it is larger than \d+ MiB/;
  const isFolder = /is a directory/;
  const settings: [settings: (path: string) => object, args: string[], begins: string, reasons: RegExp[]][] =
    [
      [
        (path) => ({ server: "http://127.0.0.1:9", api_key_file: path }),
        ["cost"],
        "Cannot use the API key file ",
        [isFolder, isTooLarge, isTooLarge],
      ],
      [
        (path) => ({ profiles: { p: { server: "http://127.0.0.1:9", api_key_file: path } } }),
        ["cost", "--profile", "p"],
        "Cannot use the API key file ",
        [isFolder, isTooLarge, isTooLarge],
      ],
      [
        (path) => ({ channels: [{ kind: "slack", url: { file: path } }] }),
        ["channels", "list"],
        "Channel slack can't be used: Cannot read ",
        [isFolder, isTooLarge, isTooLarge],
      ],
      [
        (path) => ({ tools: [path] }),
        ["run", "a", "Hi"],
        "Cannot load tools from ",
        [isNoFile, isNoFile, isTooLarge],
      ],
      [
        (path) => ({ plugins: [path], channels: [{ kind: "none" }] }),
        ["channels", "list"],
        "Channel none can't be used: ",
        [isNoFile, isNoFile, isTooLarge],
      ],
      [(path) => ({ db: path }), ["cost"], "Cannot open database ", [
        isFolder,
        /is a pipe or a device/,
        /is not a database/,
      ]],
    ];
  const paths = [`${folder}/folder`, "/dev/zero", large];
  for (const [make, args, begins, reasons] of settings) {
    for (const [index, path] of paths.entries()) {
      await Deno.writeTextFile(config, JSON.stringify(make(path)));
      const { PURSER_DB, ...others } = place.env;
      const namesTarget = ["db", "server", "profiles"].some((name) => name in make(path));
      const env = namesTarget ? others : { ...others, PURSER_DB: PURSER_DB! };
      const { err } = await purser({ ...place, env }, [...args, "--config", config]);
      assert.ok(err.includes(begins) && reasons[index]!.test(err), `${args} with ${path}: ${err}`);
    }
  }
  for (const [index, path] of paths.entries()) {
    const { code, err } = await purser(place, ["cost", "--config", path]);
    assert.equal(code, 2);
    assert.match(err, new RegExp(`^error: Cannot read the config file ${path}: `));
    assert.match(err, [isFolder, isTooLarge, isTooLarge][index]!);
    const update = await purser(place, ["prices", "update", path]);
    assert.equal(update.code, 1);
    assert.match(update.err, [isFolder, /they have over 16 MB/, /they have over 16 MB/][index]!);
  }
});
