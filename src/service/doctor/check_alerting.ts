import { isAtLeast, type Severity } from "../../contract/values.ts";
import type { ConfiguredChannel } from "../../delivery/channels/mod.ts";
import type { GivenUp, WaitingFor } from "../../delivery/mod.ts";
import { toIso } from "../../kernel/clock.ts";
import type { Core } from "../core.ts";
import { failed, type Finding, ok, warning } from "./finding.ts";

/** Checks that a channel's plugin loads and its settings are valid. */
export async function checkChannel(channel: ConfiguredChannel): Promise<Finding> {
  const problem = await channel.check();
  if (problem === undefined) {
    const from = channel.minSeverity === "info" ? "" : `, from ${channel.minSeverity} on`;
    return ok(`${channel.kind}${from}; its settings are right`);
  }
  return failed(
    `${channel.kind}: ${problem}`,
    `Correct its settings and restart; then: purser channels test ${channel.name}`,
  );
}

/** Counts the alert rules, and those whose severity no channel but the log delivers. */
export async function checkRules({ store, channels }: Pick<Core, "store" | "channels">): Promise<Finding> {
  const { rows } = await store.read({
    sql: "SELECT enabled, severity, count(*) FROM alert_rules GROUP BY enabled, severity",
  });
  const groups = rows.map(([enabled, severity, count]) => ({
    isEnabled: Number(enabled) !== 0,
    severity: severity as Severity,
    count: Number(count),
  }));
  const sum = (some: typeof groups) => some.reduce((total, { count }) => total + count, 0);
  const enabledGroups = groups.filter(({ isEnabled }) => isEnabled);
  const [all, enabled] = [sum(groups), sum(enabledGroups)];
  if (all === 0) return ok("none yet; purser alerts add makes one");
  const state = `${enabled} enabled, ${all - enabled} disabled`;
  const others = channels.list.filter(({ kind }) => kind !== "log");
  const logOnly = sum(
    enabledGroups.filter(({ severity }) =>
      !others.some(({ minSeverity }) => isAtLeast(severity, minSeverity))
    ),
  );
  if (logOnly === 0) return ok(state);
  return warning(
    `${state}; ${logOnly === enabled ? "all" : logOnly} of the enabled ones go to the log only`,
    others.length === 0 ? "Name a channel in the config file" : "Lower the min_severity of a channel",
  );
}

/** Reports deliveries that are late, and those for channels that this process doesn't have. */
export function checkWaitingDeliveries(
  { channels }: Pick<Core, "channels">,
  waiting: readonly WaitingFor[],
): Finding {
  const orphans = waiting.filter(({ channel }) => channels.get(channel) === undefined);
  const late = waiting.filter((each) => each.stuck > 0 && !orphans.includes(each));
  const details = [
    ...late.map((each) => `${each.stuck} for ${each.channel}, due since ${toIso(each.oldestDueAt)}`),
    ...orphans.map(({ channel, count }) => `${count} for ${channel}, which the config doesn't name`),
  ].join("; ");
  if (late.some(({ isBeingDelivered }) => !isBeingDelivered)) {
    return failed(
      details,
      "No process is delivering these: look into the log, and restart the process that delivers",
    );
  }
  if (late.length > 0) {
    return warning(details, "They are being delivered; a slow channel delays the others of its queue");
  }
  if (orphans.length > 0) {
    return warning(
      details,
      "Name the channel in the config again, and they are delivered; unless another instance has it",
    );
  }
  const count = waiting.reduce((sum, each) => sum + each.count, 0);
  return ok(count === 0 ? "none" : `${count}, none of them late`);
}

/** Reports the deliveries that are not retried any more, by channel. */
export function checkFailedDeliveries(givenUp: readonly GivenUp[]): Finding {
  const [newest] = givenUp;
  if (newest === undefined) return ok("none in the history that is kept");
  const detail = givenUp.map(({ channel, count, newestAt, newestError }) =>
    `${count} through ${channel}, the last at ${toIso(newestAt)}: ${newestError}`
  ).join("; ");
  if (!newest.isRecent) return ok(`none in the last 7 days; before that ${detail}`);
  return warning(
    detail,
    `They are not retried; see purser alerts history, and try purser channels test ${newest.channel}`,
  );
}
