/**
 * Makes `existsSync` return false where Deno refuses to look without all permissions, as Node does for a file that it can't
 * reach. Playwright looks in `/proc` for Windows when it is loaded.
 */
import fs from "node:fs";

const { existsSync } = fs;

fs.existsSync = (path) => {
  try {
    return existsSync(path);
  } catch {
    return false;
  }
};
