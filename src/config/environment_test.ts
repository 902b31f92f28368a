import assert from "node:assert/strict";
import { findConfigFile, findDataFile } from "./environment.ts";

Deno.test("findConfigFile() and findDataFile() follow each platform's convention", () => {
  const mac = "/Users/ada/Library/Application Support/purser";
  const windows = {
    APPDATA: "C:\\Users\\ada\\AppData\\Roaming",
    LOCALAPPDATA: "C:\\Users\\ada\\AppData\\Local",
  };
  const cases = [
    [
      "linux",
      { HOME: "/home/ada" },
      "/home/ada/.config/purser/purser.json",
      "/home/ada/.local/share/purser/purser.db",
    ],
    ["linux", { HOME: "/" }, "/.config/purser/purser.json", "/.local/share/purser/purser.db"],
    [
      "linux",
      { HOME: "/home/ada", XDG_CONFIG_HOME: "/c", XDG_DATA_HOME: "/d/" },
      "/c/purser/purser.json",
      "/d/purser/purser.db",
    ],
    ["darwin", { HOME: "/Users/ada" }, `${mac}/purser.json`, `${mac}/purser.db`],
    [
      "windows",
      windows,
      `${windows.APPDATA}\\purser\\purser.json`,
      `${windows.LOCALAPPDATA}\\purser\\purser.db`,
    ],
  ] as const;
  for (const [platform, env, config, data] of cases) {
    assert.equal(findConfigFile(env, platform), config);
    assert.equal(findDataFile(env, platform), data);
  }
});

Deno.test("findConfigFile() ignores relative folders, so nothing comes from the working directory", () => {
  assert.equal(findConfigFile({ XDG_CONFIG_HOME: "." }, "linux"), undefined);
  assert.equal(findConfigFile({ HOME: "." }, "linux"), undefined);
  assert.equal(findDataFile({ XDG_DATA_HOME: "data" }, "linux"), undefined);
});
