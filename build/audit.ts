/**
 * `deno task audit`: asks npm's registry for advisories on the packages that Purser ships. Exit code 1 for one that is high or
 * critical; 0 with a reason where the registry has no such service or can't be reached.
 */
import { auditPackages } from "./npm_lock.ts";

const found = await auditPackages();
if (found.skipped !== undefined) console.log(`Skipped the audit of packages: ${found.skipped}`);
else {
  for (const { name, severity, title, url } of found.advisories) {
    console.log(`${severity}: ${name}: ${title} (${url})`);
  }
  const severe = found.advisories.filter(({ severity }) => severity === "high" || severity === "critical");
  console.log(
    `${found.advisories.length} advisories on the packages that Purser ships, ${severe.length} of them severe`,
  );
  if (severe.length > 0) Deno.exit(1);
}
