/** What tables say of a batch that a server started in a state, and what came second. */

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
 * By the table of the level that decided, its mixture's other one, and the rule for late queries.
 * @returns undefined of a level that the bundle has not: it was made while it was served.
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
  // The log has the largest of the corrections, and not by which of them a slack was divided.
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

/** One, or two where a level follows two tables by chance. */
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

/** Of the other variants on the same batch the most accurate in time, or else the fastest. */
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

/** Ties go to the variant that is named first. */
function isBetter(one: OtherChoice, other: OtherChoice): boolean {
  if (one.meetsSlack !== other.meetsSlack) return one.meetsSlack;
  if (!one.meetsSlack) return one.serviceMs < other.serviceMs;
  if (one.accuracy !== other.accuracy) return one.accuracy > other.accuracy;
  return one.serviceMs < other.serviceMs;
}
