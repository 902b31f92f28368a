import { shortUsd } from "../../format/money.ts";
import { useState } from "preact/hooks";
import type { AlertRule } from "../../../contract/alerts/alert_rules.ts";
import type { Alert } from "../../../contract/alerts/alerts.ts";
import { escapeText } from "../../../kernel/text.ts";
import { span } from "../../format/time.ts";
import { useNow } from "../../hooks/clock.ts";
import { useData } from "../../hooks/data.ts";
import { Badge, Card, Stat, Stats } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty, Loaded } from "../../parts/loaded.tsx";
import { Money } from "../../parts/money.tsx";
import { Table } from "../../parts/table.tsx";
import { Id, Text } from "../../parts/text.tsx";
import { Time } from "../../parts/time.tsx";
import { budgetsHref } from "../links.ts";
import { SEVERITY_TONES } from "../tones.ts";
import { ALERT_COLUMNS, HISTORY } from "./alerts_page.tsx";
import type { Limit } from "./limit.ts";
import { isOfSpending, limitOfRule, namePlainRule } from "./limit_of_rule.ts";
import { LimitMeter, LimitState, ReachedAt, ResetsAt } from "./limit_cells.tsx";
import { EditButton, EnableButton, RemoveButton } from "../../forms/resource_buttons.tsx";
import { RULE } from "../../forms/resources.ts";
import { navigate } from "../../hooks/route.ts";
import { TestRuleButton } from "./rule_actions.tsx";
import { ChangesLink } from "../keys/audit.tsx";
import { SectionPage } from "./section_page.tsx";

const SHOWN = 20;

/** One alert rule: its present value, and the alerts that it has fired. */
export function RulePage({ ruleId }: { ruleId: string }) {
  const rule = useData<AlertRule>(`/alerts/rules/${encodeURIComponent(ruleId)}`, { refreshMs: 10_000 });
  const history = useData<Alert[]>(HISTORY, { refreshMs: 10_000 });
  const now = useNow();
  const [shown, setShown] = useState(SHOWN);
  const fired = history.value?.filter(({ rule_id }) => rule_id === ruleId) ?? [];
  if (rule.error?.status === 404 && !rule.value) {
    return (
      <SectionPage title="Rule">
        <Empty title="No rule has this address" command="purser alerts list">
          It may have been deleted: <Link href={budgetsHref()}>see all limits</Link>
        </Empty>
      </SectionPage>
    );
  }
  return (
    <SectionPage title={rule.value ? `Rule: ${escapeText(rule.value.name)}` : "Rule"}>
      <Loaded data={rule}>
        {(value) =>
          isOfSpending(value)
            ? <RuleCard rule={value} limit={limitOfRule(value, now)} />
            : <PlanRuleCard rule={value} />}
      </Loaded>
      <Card title="Alerts of this rule">
        <Loaded
          data={history}
          isEmpty={() => fired.length === 0}
          empty={<Empty title="It has not fired">Test it above to see what the channels get.</Empty>}
        >
          {() => (
            <Table
              caption="Alerts of the rule"
              columns={ALERT_COLUMNS}
              rows={fired.slice(0, shown)}
              keyOf={({ alert_id }) => alert_id}
              more={fired.length > shown ? () => setShown(shown + SHOWN) : undefined}
              source={{ path: HISTORY, name: "alerts", keep: { rule_id: ruleId } }}
            />
          )}
        </Loaded>
      </Card>
    </SectionPage>
  );
}

function RuleButtons({ rule }: { rule: AlertRule }) {
  return (
    <>
      <TestRuleButton rule={rule} />
      <EditButton resource={RULE} of={rule} />
      <EnableButton resource={RULE} of={rule} />
      <RemoveButton resource={RULE} of={rule} onRemoved={() => navigate(budgetsHref())} />
    </>
  );
}

function PlanRuleCard({ rule }: { rule: AlertRule }) {
  return (
    <Card
      title="State"
      aside={<RuleButtons rule={rule} />}
    >
      <p class="answer">
        <Text>
          {rule.threshold_usd !== null
            ? `${namePlainRule(rule)}; now ${rule.value_usd === null ? "unknown" : shortUsd(rule.value_usd)}`
            : `${
              rule.value_pct == null ? "Nothing is known" : `${rule.value_pct}% is used`
            } of the fullest window of ${
              rule.agent_id === null ? "any plan" : `the plan ${rule.agent_id}`
            }; it fires at ${rule.threshold_pct}%, once per window.`}
        </Text>
      </p>
    </Card>
  );
}

function RuleCard({ rule, limit }: { rule: AlertRule; limit: Limit }) {
  return (
    <Card
      title="State"
      aside={<RuleButtons rule={rule} />}
    >
      <Stats>
        <Stat
          label="Value"
          note={rule.counter
            ? (
              <>
                the newest {rule.counter.kind}{" "}
                <Link href={limit.spentHref}>
                  <Id>{rule.counter.id}</Id>
                </Link>
              </>
            )
            : <Text>{limit.scope}</Text>}
        >
          {limit.spent === null ? <span class="muted">none yet</span> : (
            <Link href={limit.spentHref}>
              <Money usd={limit.spent} />
            </Link>
          )}
        </Stat>
        <Stat label="Threshold" note={limit.period}>
          <Money usd={limit.limit} />
        </Stat>
        <Stat label="Reached">
          <ReachedAt limit={limit} />
        </Stat>
        <Stat label="Resets">
          <ResetsAt limit={limit} />
        </Stat>
      </Stats>
      <LimitMeter limit={limit} />
      <p class="facts">
        <span>
          <LimitState limit={limit} /> <Badge tone={SEVERITY_TONES[rule.severity]}>{rule.severity}</Badge>
        </span>
        <span>
          {rule.repeat === "cooldown"
            ? rule.cooldown_seconds === 0
              ? "Fires at every call while the threshold is reached"
              : `Fires again after ${span(rule.cooldown_seconds * 1000)}, while the threshold is reached`
            : "Fires once per window"}
        </span>
        <span>
          Last fired: <Time at={rule.last_fired_at} />
        </span>
        <ChangesLink of={rule.rule_id} />
      </p>
    </Card>
  );
}
