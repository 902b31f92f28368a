import type { AlertRule } from "../../../contract/alerts/alert_rules.ts";
import type { AlertResend, RuleTest } from "../../../contract/alerts/sent_alerts.ts";
import { plural } from "../../format/number.ts";
import { request, RequestError } from "../../hooks/request.ts";
import { useAccess } from "../../hooks/session.ts";
import { commandOf, type Field, filledIn, textIn } from "../../forms/fields.ts";
import { formFields } from "../../forms/form_field.tsx";
import { ActionButton } from "../../parts/confirm.tsx";
import { Text } from "../../parts/text.tsx";
import { pathOf } from "../../forms/change_shown.ts";
import { RULE } from "../../forms/resources.ts";

type Shown = Pick<AlertRule, "rule_id" | "name">;

/** Sends a test of a rule to every channel. */
export function TestRuleButton({ rule }: { rule: Shown }) {
  if (!useAccess().may("admin")) return null;
  return (
    <ActionButton
      label="Test"
      explanation={
        <p>
          Every channel gets a message of the rule{" "}
          <strong>
            <Text>{rule.name}</Text>
          </strong>, marked as a test. It counts as no spending.
        </p>
      }
      run={async () =>
        `Tested the rule ${rule.name}: ${await sendAll<RuleTest>(`${pathOf(RULE, rule)}/test`)}`}
    />
  );
}

/** Sends an alert of the history once more. */
export function ResendButton({ alertId }: { alertId: string }) {
  if (!useAccess().may("admin")) return null;
  return (
    <ActionButton
      label="Send again"
      explanation={<p>Every channel that this severity reaches gets the alert once more.</p>}
      run={async () =>
        `Sent the alert again: ${await sendAll<AlertResend>(
          `/alerts/history/${encodeURIComponent(alertId)}/resend`,
        )}`}
    />
  );
}

const NOTE: Field = {
  name: "note",
  label: "Note",
  kind: "text",
  hint: "For those that read it later",
  option: { name: "note" },
};

/** Acknowledges an alert that fires. */
export function AcknowledgeButton({ alertId }: { alertId: string }) {
  if (!useAccess().may("admin")) return null;
  return (
    <ActionButton
      label="Acknowledge"
      gone="The alert is acknowledged, or resolved."
      explanation={<p>Its rule doesn't fire again in this window. Channels with send_resolved are told.</p>}
      fields={formFields([NOTE])}
      command={(form) => commandOf("alerts", "ack", alertId, filledIn([NOTE], form))}
      run={async (form) => {
        const note = textIn(NOTE, form);
        await request(`/alerts/history/${encodeURIComponent(alertId)}/ack`, {
          method: "POST",
          body: note === "" ? {} : { note },
        });
        return "Acknowledged the alert";
      }}
    />
  );
}

/** Sends through the channels. Returns a sentence about them. Throws where none has delivered. */
async function sendAll<Sent extends RuleTest | AlertResend>(path: string): Promise<string> {
  const { results } = (await request<Sent>(path, { method: "POST" }).catch(sayUndelivered)).value;
  if (results.length === 0) return "there is no channel";
  const failed = results.filter(({ status }) => status === "failed").map(({ channel }) => channel);
  const delivered = `${plural(results.length - failed.length, "channel")} delivered it`;
  return failed.length === 0 ? delivered : `${delivered}, not ${failed.join(", ")}`;
}

function sayUndelivered(error: unknown): never {
  if (!(error instanceof RequestError) || error.status !== 502) throw error;
  throw new RequestError(
    502,
    error.code,
    "No channel has delivered it: the newest alert of the history has the reasons",
  );
}
