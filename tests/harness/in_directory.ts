/** Runs a test in an empty folder, which is removed afterwards. */
export async function inDirectory(test: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "purser-test-" });
  try {
    await test(directory);
  } finally {
    await removeDirectory(directory);
  }
}

const REMOVAL_TRIES = 20;

/** Removes a folder with a database: the retention sweep of a Purser that is closed may still test a lock file there. */
export async function removeDirectory(directory: string): Promise<void> {
  for (let attempt = 1;; attempt++) {
    try {
      return await Deno.remove(directory, { recursive: true });
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOTEMPTY" || attempt === REMOVAL_TRIES) throw error;
    }
  }
}
