/** Describes a batch that a server ran, from a bundle of decision tables. */

import type { RamsisBundle, ServiceTimes } from "stratagem-runtime/internal/bundle/schema";
import { decidingLevel } from "stratagem-runtime/internal/describe/deciding-level";
import { levelText, percent } from "stratagem-runtime/internal/describe/text";
import { kindNamed } from "stratagem-runtime/internal/methods/ramsis/describe/class-level-view";
import {
  briefText,
  type Decision,
  inspectState,
  isMade,
} from "stratagem-runtime/internal/methods/ramsis/describe/state-view";
import { type BatchFacts, profiledBatch, type RanBatch } from "../../model/batch-facts.ts";

/** Rounding error of a logged slack: logs round to the microsecond. */
const ROUNDED_MS = 0.0006;

export function batchFacts(bundle: RamsisBundle, ran: RanBatch): BatchFacts {
  const [task] = bundle.tasks;
  const variant = task?.variants.findIndex(({ name }) => name === ran.variant) ?? -1;
  const times = timesOf(bundle, ran.kind);
  return {
    profiled: times === undefined ? null : profiledBatch(times, variant, ran.batch),
    state: stateOf(bundle, ran),
    rule: ruleOf(bundle, ran),
  };
}

function timesOf({ tasks, buckets }: RamsisBundle, kind: string | null): ServiceTimes | undefined {
  const bucket = buckets?.find(({ name }) => name === kind);
  return bucket?.serviceTimes ?? tasks[0]?.serviceTimes;
}

function stateOf(bundle: RamsisBundle, ran: RanBatch): string | null {
  const { queued } = ran;
  const slackMs = tableSlackMs(bundle, ran);
  if (queued === null || queued < 1 || slackMs === null) return null;
  const { sloClass, bucket } = kindNamed(bundle, ran.kind ?? "") ?? {};
  const whose = sloClass !== undefined ? `,class=${sloClass}` : "";
  const padded = bucket !== undefined ? `,bucket=${bucket}` : "";
  // No exponent, which `--state` does not accept.
  return `queued=${queued},slack=${Number(slackMs.toFixed(3))}ms${whose}${padded}`;
}

/** Slack that was looked up; less than logged on a slower worker. */
function tableSlackMs(bundle: RamsisBundle, { level, slackMs, pace }: RanBatch): number | null {
  if (slackMs === null) return null;
  const solvedFor = level === null ? undefined : decidingLevel(bundle, level)?.pace;
  return (slackMs * (solvedFor ?? 1)) / pace;
}

/**
 * Returns the rule by which the level's table made the decision; otherwise, the possible reasons.
 */
function ruleOf(bundle: RamsisBundle, ran: RanBatch): string | null {
  const { queued, slackMs, level } = ran;
  if (queued === null || queued < 1 || slackMs === null || level === null) return null;
  const decides = decidingLevel(bundle, level);
  if (decides === undefined) return null;
  const whose = `the table of level ${levelText(decides)}`;
  const asked = {
    queued,
    level,
    loadQps: decides.loadQps,
    ...(kindNamed(bundle, ran.kind ?? "") ?? {}),
  };
  const tableMs = tableSlackMs(bundle, ran) ?? slackMs;
  const looks = [0, ROUNDED_MS, -ROUNDED_MS].map((offMs) => {
    return inspectState(bundle, { ...asked, slackMs: tableMs + offMs });
  });
  if (looks.some(({ decision }) => isWhatRan(decision, ran))) return `${whose} says so`;
  const other = looks.find(({ otherTable }) => {
    return otherTable !== undefined && isWhatRan(otherTable.decision, ran);
  })?.otherTable;
  if (other !== undefined) {
    return `a second table, which makes ${percent(other.share)} of the level's decisions, says so`;
  }
  const [look] = looks;
  const said = look === undefined ? "something else" : decisionText(look.decision);
  if (slackMs < fastestMs(bundle, ran) * ran.pace) {
    const why = "certain to be late, it was run with the highest throughput";
    return `${why}; ${whose} says ${said}`;
  }
  return (
    `${whose} says ${said}: a client named the variant, the queue was dropped as late, or ` +
    "another table decided"
  );
}

function isWhatRan(decision: Decision, { queued, ...ran }: RanBatch): boolean {
  return isMade(decision, { ...ran, queued: queued ?? Number.POSITIVE_INFINITY });
}

function decisionText(decision: Decision): string {
  if ("givesUp" in decision) return "to drop the earliest query";
  if ("waitUntilSlackMs" in decision) return "to wait for another query";
  return briefText(decision);
}

/** Time of the fastest variant for one query. */
function fastestMs(bundle: RamsisBundle, { kind }: RanBatch): number {
  const times = timesOf(bundle, kind);
  const variants = bundle.tasks[0]?.variants ?? [];
  const single = variants.map((_, variant) => {
    return times === undefined ? null : profiledBatch(times, variant, 1);
  });
  return Math.min(...single.map((one) => one?.decisionMs ?? Number.POSITIVE_INFINITY));
}
