/** `inspect BUNDLE --state STATE` for tables: the decision, and why it was chosen. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { parseState } from "../../../describe/asked-state.ts";
import { percent, rounded, short } from "../../../describe/text.ts";
import type { Description, StateRequest } from "../../method.ts";
import { decidingTable } from "./class-level-view.ts";
import { namedValues } from "./named-values.ts";
import { alternativeLines } from "./state-alternatives.ts";
import { briefText, type Decision, inspectState, type StateInspection } from "./state-view.ts";

/** @throws RuntimeError RUNTIME_USAGE for an invalid state. */
export async function tableState(
  bundle: RamsisBundle,
  { text, loadQps, level, actionValuesOf }: StateRequest,
): Promise<Description> {
  const query = parseState(text);
  const state = inspectState(bundle, { ...query, loadQps, level });
  const table = decidingTable(bundle, state.level.index, query);
  const unknown = noValuesOf(bundle, state);
  const found =
    unknown === null
      ? await actionValuesOf?.(table.bundle, table.level, query.queued, query.slackMs)
      : { reason: unknown };
  const values = found !== undefined && "actions" in found ? namedValues(bundle, found) : null;
  const why = found !== undefined && "reason" in found ? found : null;
  const lines = [
    ...decisionLines(state, loadQps),
    "",
    ...alternativeLines(table.bundle, state, values ?? why),
    "",
    ...neighbourLines(state),
  ];
  return { text: lines.join("\n"), json: { ...state, values } };
}

/** Returns why action values are missing; null if the solver computed them. */
function noValuesOf({ levels }: RamsisBundle, { bucket, level }: StateInspection): string | null {
  if (bucket !== undefined) {
    return "what other buckets take of the workers is weighed where tables are solved";
  }
  return level.index < levels.length ? null : "a level for a slower machine decides";
}

/** Describes the decision, with the state and table it was looked up in. */
function decisionLines(state: StateInspection, loadQps: number | null): string[] {
  const { level, decision, tableState: found, afterWaiting, otherTable } = state;
  const asked = loadQps === null ? "no --level given: the top one" : `for ${short(loadQps)} qps`;
  const kind =
    state.bucket === undefined
      ? state.sloClass && `class ${state.sloClass}`
      : `bucket ${state.bucket}`;
  const whose = kind === undefined ? "" : `, by the table of ${kind}`;
  return [
    `queued ${state.queued}, slack ${short(state.slackMs)} ms: ` +
      decisionText(decision, state.slackMs),
    ...(afterWaiting === undefined ? [] : [`if none comes until then: ${briefText(afterWaiting)}`]),
    `answered by level ${short(level.loadQps)} qps (${asked})${whose}, ` +
      `in its state queued ${found.queued}, slack ${short(found.slackMs)} ms`,
    ...(otherTable === undefined
      ? []
      : [
          `${percent(otherTable.share)} of the decisions, drawn at random, follow a second table ` +
            `instead, here: ${briefText(otherTable.decision)}`,
        ]),
  ];
}

function decisionText(decision: Decision, slackMs: number): string {
  if ("givesUp" in decision) {
    return (
      "give the earliest query up: it will not be in time, and the workers are left to those " +
      "behind it"
    );
  }
  if ("waitUntilSlackMs" in decision) {
    const { waitUntilSlackMs } = decision;
    return (
      `start nothing yet: wait for another query, until the slack is below ` +
      `${short(waitUntilSlackMs)} ms, ${rounded(slackMs - waitUntilSlackMs)} ms from now`
    );
  }
  const { serviceMs } = decision;
  const ends = deadlineText(slackMs - serviceMs);
  return `run ${briefText(decision)}: takes ${rounded(serviceMs)} ms, ends ${ends}`;
}

/** @param leftMs time to the deadline; negative after it. */
function deadlineText(leftMs: number): string {
  const side = leftMs >= 0 ? "before" : "after";
  return `${rounded(Math.abs(leftMs))} ms ${side} the deadline`;
}

/** Describes the decisions in neighbouring states. */
function neighbourLines({ withOneMoreQueued, withOneSlackStepLess: less }: StateInspection) {
  return [
    `one query more: ${briefText(withOneMoreQueued)}`,
    less === null
      ? "one slack step less: no such step"
      : `one slack step less (${short(less.slackMs)} ms): ${briefText(less)}`,
  ];
}
