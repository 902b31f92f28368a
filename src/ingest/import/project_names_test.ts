import assert from "node:assert/strict";
import { createProjectNames } from "./project_names.ts";

Deno.test("a project is named after the git work tree around a folder, else after the folder", () => {
  const asked: string[] = [];
  const projectOf = createProjectNames({
    stampOf(path) {
      asked.push(path);
      if (["/home/ada/.git", "/home/ada/src/shop/.git", "/opt/tool/.git"].includes(path)) {
        return { modifiedAt: 0, size: 0, inode: 1, isFolder: true, isFile: false };
      }
      throw new Error("no such file");
    },
  }, "/home/ada/");
  assert.equal(projectOf("/home/ada/src/shop"), "shop");
  assert.equal(projectOf("/home/ada/src/shop/api/v1/"), "shop");
  assert.equal(projectOf("/home/ada/src/gone"), "gone");
  assert.equal(
    projectOf("/home/ada/notes/2026"),
    "2026",
    "the work tree of the home folder is none of its folders' project",
  );
  assert.equal(projectOf("/opt/tool/x"), "tool");
  assert.equal(projectOf("C:\\Users\\ada\\site"), "site");
  assert.equal(projectOf("/"), undefined);
  const count = asked.length;
  projectOf("/home/ada/src/shop/api/v1");
  assert.equal(asked.length, count, "what was found is remembered");
});
