import type { FilesSync } from "../../kernel/files/files.ts";

/**
 * Returns a function that names the project of a working directory: the root of the git work tree around it, else the
 * folder itself. `home`, which may be a work tree of settings, is no project of the folders below it.
 */
export function createProjectNames(
  files: Pick<FilesSync, "stampOf">,
  home: string,
): (folder: string) => string | undefined {
  const roots = new Map<string, string | undefined>();
  const names = new Map<string, string | undefined>();
  const top = folderOf(home);

  function rootOf(folder: string): string | undefined {
    if (roots.has(folder)) return roots.get(folder);
    const parent = folder.replace(/[\\/][^\\/]*$/, "");
    let root: string | undefined;
    if (folder !== "" && folder !== top) {
      root = hasGit(folder) ? folder : parent === folder ? undefined : rootOf(parent);
    }
    roots.set(folder, root);
    return root;
  }

  function hasGit(folder: string): boolean {
    try {
      files.stampOf(`${folder}/.git`);
      return true;
    } catch {
      return false;
    }
  }

  return (folder) => {
    if (!names.has(folder)) {
      const given = folderOf(folder);
      names.set(folder, (rootOf(given) ?? given).split(/[\\/]/).at(-1) || undefined);
    }
    return names.get(folder);
  };
}

const folderOf = (path: string) => path.replace(/[\\/]+$/, "");
