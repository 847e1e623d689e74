/** `inspect BUNDLE --state STATE` for malleable pipelines: the decision, and why it was chosen. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { counted, explainedTable, rounded, short, wrapped } from "../../../describe/text.ts";
import type { Description } from "../../method.ts";
import { modelLetters } from "./letters.ts";
import { SCHEDULER_WORDS } from "./scheduler-words.ts";
import {
  inspectState,
  type ModelState,
  type PlaceChoice,
  parseState,
  type StateInspection,
} from "./state-view.ts";

/** @param asked text of `--state`. @throws RuntimeError RUNTIME_USAGE for an invalid state. */
export function describeState(bundle: AccordionBundle, asked: string): Description {
  const state = inspectState(bundle, parseState(asked, bundle));
  return { text: stateText(bundle, state), json: state };
}

function stateText(bundle: AccordionBundle, state: StateInspection): string {
  const { batch, free, slackMs, models } = state;
  const { scheduler } = bundle.policy;
  return [
    `a query of ${counted(batch, "instance")}, ${short(slackMs)} ms before its deadline, ` +
      `first in line; places free: ${free.join(" / ")}`,
    wrapped(`the ${scheduler} scheduler decides, at every load: ${SCHEDULER_WORDS[scheduler]}`),
    ...models.flatMap((model) => ["", ...modelLines(bundle, model, state)]),
  ].join("\n");
}

function modelLines(bundle: AccordionBundle, model: ModelState, state: StateInspection): string[] {
  const { decision, alternatives } = model;
  const hasPools = bundle.cluster.pools.length > 1;
  const letter = modelLetters(bundle).get(model.model) ?? "-";
  const chosen = decision.action === "start" ? decision : null;
  return [
    wrapped(`${letter} model ${model.model}: ${decisionText(model, state.slackMs)}`),
    explainedTable([
      ["places", ...(hasPools ? ["of each pool"] : []), "takes ms", "slack left ms", "free", ""],
      ...alternatives.map((choice) => [
        String(choice.executionPlaces),
        ...(hasPools ? [choice.places.join(" / ")] : []),
        short(choice.latencyMs),
        short(state.slackMs - choice.latencyMs),
        choice.isFree ? "yes" : "no",
        whyText(choice, chosen, state),
      ]),
    ]),
  ];
}

/** Explains why the query does not start that way. @param chosen null if it waits. */
function whyText(
  choice: PlaceChoice,
  chosen: PlaceChoice | null,
  { free, slackMs }: StateInspection,
): string {
  if (chosen !== null && String(choice.places) === String(chosen.places)) return "chosen";
  const missing = choice.places.reduce(
    (sum, count, pool) => sum + Math.max(0, count - (free[pool] ?? 0)),
    0,
  );
  const lateMs = choice.latencyMs - slackMs;
  const slowerMs = chosen === null ? 0 : choice.latencyMs - chosen.latencyMs;
  const parts = [
    ...(missing > 0
      ? [`${counted(missing, "place")} more than ${missing === 1 ? "is" : "are"} free`]
      : []),
    ...(lateMs > 0 ? [`${rounded(lateMs)} ms too late`] : []),
    ...(slowerMs > 0 ? [`${rounded(slowerMs)} ms slower than the chosen`] : []),
  ];
  if (parts.length > 0) return parts.join(", ");
  if (chosen === null) return "the scheduler waits for other places";
  return slowerMs === 0
    ? "as fast as the chosen"
    : `${rounded(-slowerMs)} ms faster, but not what the scheduler gives a query`;
}

function decisionText({ decision, need }: ModelState, slackMs: number): string {
  if (decision.action === "start") {
    const { latencyMs } = decision;
    const leftMs = slackMs - latencyMs;
    const side = leftMs >= 0 ? "before" : "after";
    const hopeless = need === null ? "; no number of places would be in time" : "";
    return (
      `start on ${placesText(decision)}, which takes ${rounded(latencyMs)} ms and ends ` +
      `${rounded(Math.abs(leftMs))} ms ${side} the deadline${hopeless}`
    );
  }
  const { missing, untilSlackMs } = decision;
  const meets =
    need === null ? "no number of places is in time" : `${placesText(need)} would be in time`;
  const awaited = counted(missing, "place");
  if (untilSlackMs === null) return `${meets}; wait for ${awaited} more to be free`;
  if (untilSlackMs > slackMs) return `${meets}; wait for any to be free`;
  return (
    `${meets}; start at once if running queries can give ${awaited} up without being late, ` +
    `else wait; below ${short(untilSlackMs)} ms of slack, start on whatever is free`
  );
}

function placesText({ executionPlaces, places }: PlaceChoice): string {
  const count = counted(executionPlaces, "place");
  return places.length === 1 ? count : `${count} (${places.join(" / ")})`;
}
