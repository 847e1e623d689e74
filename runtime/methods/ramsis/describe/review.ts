/** Reviews a batch that a server started in a state against the tables, with the runner-up. */

import type { RamsisBundle } from "../../../bundle/schema.ts";
import { RATIO_GRID } from "../../../core/ratio-tracker.ts";
import { SLACK_ROUNDING_MS } from "../../../core/table-lookup.ts";
import { decidingLevel } from "../../../describe/deciding-level.ts";
import type {
  MadeDecision,
  OtherChoice,
  ReviewedDecision,
} from "../../../describe/made-decision.ts";
import { levelText, short } from "../../../describe/text.ts";
import { fastestServiceMs, rescuesOf } from "../core/policy.ts";
import { kindNamed } from "./class-level-view.ts";
import { type OpenTable, openTable } from "./decision.ts";
import { onlyTask, serviceMsOf } from "./service-ms.ts";
import { briefText, choiceOf, type Decision, decisionIn, isMade } from "./state-view.ts";

/**
 * Uses the table of the level that decided, its mixture's second table, and the rule for late
 * queries.
 * @returns undefined if the bundle does not have the level: it was computed while serving.
 */
export function reviewedByTables(
  bundle: RamsisBundle,
  made: MadeDecision,
): ReviewedDecision | undefined {
  const { level, queued, slackMs, pace } = made;
  const asked = kindNamed(bundle, made.kind);
  const decides = decidingLevel(bundle, level);
  if (decides === undefined || queued < 1 || asked === undefined) return undefined;
  const open = openTable(bundle, level, asked);
  const slackPace = pace / decides.pace;
  const saidAt = (factor: number) =>
    decisionsIn(open, queued, slackMs / (slackPace * factor) + SLACK_ROUNDING_MS);
  const said = saidAt(1);
  const runnerUp = runnerUpOf(open.bundle, made);
  const says = `level ${levelText(decides)}${paceText(pace)}: ${said.map(briefText).join(" or ")}`;
  if (said.some((decision) => isMade(decision, made))) return { agrees: true, says, runnerUp };
  if (made.isNamed) {
    return { agrees: null, says: `${says}; its client named the variant`, runnerUp };
  }
  // The log has only the largest of the corrections, not the one by which a slack was divided.
  const isCorrected = RATIO_GRID.some((factor) => {
    return (
      factor > 1 && factor <= made.correction && saidAt(factor).some((one) => isMade(one, made))
    );
  });
  if (isCorrected) {
    return { agrees: true, says: `${says}, whose batches take longer than profiled`, runnerUp };
  }
  if (slackMs < fastestServiceMs(open.bundle) * pace) {
    const rescue = rescueOf(open.bundle, made);
    const late = `${says}; late, it is run as ${briefText(rescue)}`;
    return { agrees: isMade(rescue, made), says: late, runnerUp };
  }
  return { agrees: false, says, runnerUp };
}

function paceText(pace: number): string {
  return pace === 1 ? "" : ` on a worker at pace ${short(pace)}`;
}

/** Returns the decision, or two if a level chooses between two tables at random. */
function decisionsIn(
  { bundle, table, level }: OpenTable,
  queued: number,
  slackMs: number,
): Decision[] {
  const sides = table.mixtureShare(level) > 0 ? ([0, 1] as const) : ([0] as const);
  return sides.map((side) => decisionIn(bundle, table, level, queued, slackMs, side));
}

function rescueOf(bundle: RamsisBundle, { queued, slackMs }: MadeDecision): Decision {
  const rescues = rescuesOf(bundle);
  const action = rescues[Math.min(queued, rescues.length) - 1] ?? 0;
  const actions = bundle.decisionSpace.actions.data;
  return choiceOf(bundle, actions[2 * action] ?? 0, actions[2 * action + 1] ?? 1, slackMs);
}

/** Returns the most accurate other variant on the same batch that is in time, else the fastest. */
function runnerUpOf(bundle: RamsisBundle, made: MadeDecision): OtherChoice | null {
  const { variants, serviceTimes } = onlyTask(bundle);
  const { batch, slackMs, pace } = made;
  let best: OtherChoice | null = null;
  for (const [variant, { name, accuracy }] of variants.entries()) {
    const serviceMs = serviceMsOf(serviceTimes.decisionMs, variant, batch) * pace;
    if (name === made.variant || Number.isNaN(serviceMs)) continue;
    const other = { variant: name, batch, serviceMs, accuracy, meetsSlack: serviceMs <= slackMs };
    if (best === null || isBetter(other, best)) best = other;
  }
  return best;
}

/** Ties go to the variant listed first. */
function isBetter(one: OtherChoice, other: OtherChoice): boolean {
  if (one.meetsSlack !== other.meetsSlack) return one.meetsSlack;
  if (!one.meetsSlack) return one.serviceMs < other.serviceMs;
  if (one.accuracy !== other.accuracy) return one.accuracy > other.accuracy;
  return one.serviceMs < other.serviceMs;
}
