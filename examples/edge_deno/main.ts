import purser from "../../main.ts";

/**
 * Purser on Deno Deploy, or any platform that serves a module: `main.ts`, and a trigger for scheduled work. It needs
 * PURSER_DB, PURSER_DB_TOKEN and an API key in that database; see README.md.
 */

// Deno Deploy has it; elsewhere it needs --unstable-cron. Deno's types know it in the unstable library only.
const { cron } = Deno as { cron?: (name: string, schedule: string, work: () => Promise<void>) => void };
cron?.("scheduled work", "* * * * *", () => purser.scheduled());

export default purser;
