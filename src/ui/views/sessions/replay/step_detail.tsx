import { countOf, formatCount } from "../../../../kernel/counts.ts";
import {
  describeStep,
  formatGap,
  formatInstant,
  formatTokens,
  formatTotalCost,
  jsonOfStep,
  MESSAGE,
  payloadOf,
  readCount,
  readText,
  type ReplayStep,
  type Section,
  textOf,
} from "../../../../contract/replay/mod.ts";
import { formatUsd } from "../../../../kernel/money.ts";
import { escapeText } from "../../../../kernel/text.ts";
import { NO_PRICE } from "../../../format/money.ts";
import { Badge } from "../../../parts/card.tsx";
import { Block, Id, Text } from "../../../parts/text.tsx";
import { StatedCost, UnpricedParts } from "../call_notes.tsx";
import { costOf, isBad } from "./steps.ts";

/** The limit of one text, more than a person reads. */
const MAX_CHARACTERS = 200_000;

/** All of a step: its place in the log, its figures, and its texts, which are those of models and tools. */
export function StepDetail({ step, asJson }: { step: ReplayStep; asJson: boolean }) {
  const { event, soFar, sincePreviousMs } = step;
  if (asJson) {
    return (
      <div class="step-detail">
        <Block value={jsonOfStep(step)} label="The step as JSON" />
      </div>
    );
  }
  const { facts: all, sections } = describeStep(step);
  const facts = all.filter((fact) => fact !== event.run_id);
  return (
    <div class="step-detail">
      <p class="step-title">
        <strong>
          <Text>{event.type}</Text>
        </strong>
        {isBad(step) && <Badge tone="bad">needs attention</Badge>}
      </p>
      <p class="muted">
        {[`#${event.seq ?? "-"}`, `${formatInstant(event.at)} UTC`, formatGap(sincePreviousMs)]
          .filter(Boolean).join(" · ")}
        {event.run_id !== null && (
          <>
            {" · "}
            <Id>{event.run_id}</Id>
          </>
        )}
      </p>
      <Figures step={step} />
      {costOf(step) === undefined && facts.length > 0 && <p>{facts.map(escapeText).join(" · ")}</p>}
      {sections.map((section, index) => <Part key={index} {...section} />)}
      {event.type !== MESSAGE && (
        <p class="muted step-so-far">
          So far {formatTotalCost(soFar)} · {formatTokens(soFar.inputTokens, soFar.outputTokens)} ·{" "}
          {countOf(soFar.calls, "call")}
        </p>
      )}
    </div>
  );
}

/** The ids by which a provider finds a call, by the fields of a cost event. */
const OF_THE_PROVIDER = [["Request", "request_id"], ["Answer", "response_id"], [
  "Paid with",
  "upstream_id",
]] as const;

/** Cost and tokens of the call of a step. */
function Figures({ step }: { step: ReplayStep }) {
  const cost = costOf(step);
  if (cost === undefined) return null;
  const call = payloadOf(step.costRecorded ?? step.event);
  const { model, provider } = payloadOf(step.event);
  const figures: [string, string][] = [
    ["Cost", cost === null ? NO_PRICE : `$${formatUsd(cost)}`],
    ["Input", formatCount(readCount(call.input_tokens))],
    ["Cached", formatCount(readCount(call.cache_read_tokens))],
    ["Output", formatCount(readCount(call.output_tokens))],
    ["Reasoning", formatCount(readCount(call.reasoning_tokens))],
    ...OF_THE_PROVIDER.flatMap(([name, field]): [string, string][] => {
      const value = readText(call[field]);
      return value === undefined ? [] : [[name, value]];
    }),
  ];
  return (
    <>
      <p>
        <Text>{[provider, model].filter(Boolean).join(":")}</Text>
        {call.estimated === true && (
          <>
            <Badge tone="warning">tokens estimated</Badge>
          </>
        )}
        {readText(call.outcome) && <Badge tone="warning">{readText(call.outcome)}</Badge>}
      </p>
      <dl class="figures">
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {Array.isArray(call.unpriced_parts) && (
        <UnpricedParts unpriced_parts={call.unpriced_parts.map(String)} />
      )}
      <StatedCost
        stated_cost_usd={call.stated_cost_usd as number | undefined}
        stated_cost_reason={readText(call.stated_cost_reason)}
      />
    </>
  );
}

function Part({ title, value, tone, isDetail }: Section) {
  const whole = textOf(value, 2);
  const text = whole.slice(0, MAX_CHARACTERS).toWellFormed();
  const left = whole.length - text.length;
  const body = (
    <>
      <Block value={text} label={escapeText(title)} />
      {left > 0 && <p class="muted">{formatCount(left)} more characters, with purser state replay --json</p>}
    </>
  );
  if (isDetail) {
    return (
      <details class="step-part">
        <summary>{escapeText(title)}</summary>
        {body}
      </details>
    );
  }
  return (
    <section class={tone === "error" ? "step-part bad" : "step-part"}>
      <h3>{escapeText(title)}</h3>
      {body}
    </section>
  );
}
