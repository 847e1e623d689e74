/** Formats an explained span of time as the document of `--json`. */
import { type ExplainedSpan, type SecondSummary, worstSecond } from "./explained-span.ts";
import { happenings, slowText } from "./span-text.ts";
import { latencyMs, stepsOf } from "./steps.ts";

/** @param sloMs for requests whose line has no SLO. */
export function spanJson(summary: ExplainedSpan, sloMs: number): object {
  const { span, seconds, stillness, slowest, ...counts } = summary;
  const worst = worstSecond(seconds);
  return {
    from: timeText(span.fromMs),
    to: timeText(span.toMs),
    ...counts,
    happenings: happenings(summary),
    worst: worst === undefined ? null : timed(worst),
    seconds: seconds.map(timed),
    stillness: stillness.map(({ fromMs, ...rest }) => ({ from: timeText(fromMs), ...rest })),
    slowest: slowest.map((request) => ({
      ...{ id: request.id, time: timeText(request.timeMs), variant: request.variant },
      ...{ latencyMs: latencyMs(request), steps: stepsOf(request) },
      sentence: slowText(request, sloMs),
    })),
  };
}

function timed({ fromMs, ...rest }: SecondSummary): object {
  return { time: timeText(fromMs), ...rest };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
