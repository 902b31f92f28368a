import { render } from "preact";
import { shortUsd } from "../../../src/ui/format/money.ts";
import { LiveProvider, LiveSign, useLive } from "../../../src/ui/live/live.tsx";

/** The live figures alone, for tests of their connection. */

function Figures() {
  const { state, at } = useLive();
  return (
    <>
      <output>{state && `${shortUsd(state.spend.cost_usd ?? 0)}, ${state.agents.length} agents`}</output>
      <p class="heard">{at}</p>
    </>
  );
}

render(
  <LiveProvider keyId={new URLSearchParams(location.search).get("key")}>
    <LiveSign />
    <Figures />
  </LiveProvider>,
  document.getElementById("app")!,
);
