/**
 * Alternatives to the decision in a state, and why they are worse: by verifiable facts (deadlines,
 * accuracies, times) and, with a solver, by right answers.
 */
import type { NoActionValues, RamsisBundle } from "../../../bundle/schema.ts";
import { letterAt, positionsOf } from "../../../describe/letters.ts";
import { pooledWorkers } from "../../../describe/serving-summary.ts";
import {
  counted,
  explainedTable,
  percent,
  rounded,
  short,
  wrapped,
} from "../../../describe/text.ts";
import type { NamedValue, NamedValues } from "./named-values.ts";
import { onlyTask, serviceMsOf } from "./service-ms.ts";
import type { Choice, StateInspection } from "./state-view.ts";

/** Maximum number of batches of other sizes in the table, those with the smallest loss. */
const MAX_OTHER_BATCHES = 3;
/** Smallest difference of right answers that is reported. */
const LEAST_TOLD = 5e-5;

/** Returns the table of alternatives, and the meaning of its numbers. */
export function alternativeLines(
  bundle: RamsisBundle,
  state: StateInspection,
  found: NamedValues | NoActionValues | null,
): string[] {
  const { decision } = state;
  if (!("batch" in decision)) return unservedLines(bundle, state);
  const values = found !== null && "actions" in found ? found : null;
  const rows = rowsOf(bundle, state, decision, values);
  return [
    "what could run now, and why it does not:",
    choiceTable(bundle, rows, values === null ? null : { decision, values }),
    ...(values === null ? [] : meaningLines(values, decision)),
    ...(found !== null && "reason" in found
      ? [`what each would cost later is not known: ${found.reason}`]
      : []),
  ];
}

interface Row {
  readonly choice: Choice;
  readonly why: string;
}

/**
 * Returns every variant at the chosen batch size and the best batches of other sizes, the best
 * last.
 */
function rowsOf(
  bundle: RamsisBundle,
  state: StateInspection,
  chosen: Choice,
  values: NamedValues | null,
): Row[] {
  const others = (values?.actions ?? [])
    .filter(({ batch }) => batch !== chosen.batch)
    .slice(0, MAX_OTHER_BATCHES)
    .map((one) => choiceNamed(bundle, one, state.slackMs));
  return [...byLetter(bundle, state.alternatives), ...others].map((choice) => {
    return { choice, why: whyText(bundle, state, choice, chosen) };
  });
}

function byLetter(bundle: RamsisBundle, choices: readonly Choice[]): Choice[] {
  const positions = positionsOf(onlyTask(bundle).variants);
  return choices
    .map((choice, variant) => ({ choice, position: positions[variant] ?? 0 }))
    .sort((a, b) => a.position - b.position)
    .map(({ choice }) => choice);
}

function choiceNamed(
  bundle: RamsisBundle,
  { variant: name, batch }: Pick<NamedValue, "variant" | "batch">,
  slackMs: number,
): Choice {
  const { variants, serviceTimes } = onlyTask(bundle);
  const variant = variants.findIndex((one) => one.name === name);
  const serviceMs = serviceMsOf(serviceTimes.decisionMs, variant, batch);
  const accuracy = variants[variant]?.accuracy ?? Number.NaN;
  return { variant: name, batch, serviceMs, accuracy, meetsSlack: serviceMs <= slackMs };
}

/** Compares a batch with the chosen one. */
function whyText(
  bundle: RamsisBundle,
  { slackMs, level }: StateInspection,
  choice: Choice,
  chosen: Choice,
): string {
  if (isSame(choice, chosen)) return "chosen";
  if (!choice.meetsSlack) {
    const lateMs = choice.serviceMs - slackMs;
    return `${rounded(lateMs)} ms too late for the earliest query`;
  }
  const points = 100 * (choice.accuracy - chosen.accuracy);
  const longerMs = choice.serviceMs - chosen.serviceMs;
  const parts = [
    ...(Math.abs(points) < 5e-4
      ? []
      : [`${points < 0 ? "-" : "+"}${rounded(Math.abs(points))} points`]),
    ...(longerMs === 0 ? [] : [timeText(bundle, longerMs, level.loadQps)]),
  ];
  return parts.length === 0 ? "as good" : parts.join(", ");
}

/** Describes the effect of a longer batch on queries that arrive meanwhile. */
function timeText(bundle: RamsisBundle, longerMs: number, loadQps: number): string {
  if (longerMs < 0) return `${rounded(-longerMs)} ms sooner`;
  const comers = (loadQps * longerMs) / 1000 / pooledWorkers(bundle);
  return `${rounded(longerMs)} ms longer: ${meanText(comers)} queries per worker come`;
}

function meanText(mean: number): string {
  return mean < 0.01 ? "hardly any" : String(Number(mean.toPrecision(2)));
}

/**
 * Returns the choices with their figures. @param answers values of the solver, and the choice they
 * are relative to.
 */
function choiceTable(
  bundle: RamsisBundle,
  rows: readonly Row[],
  answers: { readonly decision: Choice; readonly values: NamedValues } | null,
): string {
  const { variants } = onlyTask(bundle);
  const positions = positionsOf(variants);
  const letterOf = (name: string): string =>
    letterAt(positions[variants.findIndex((one) => one.name === name)] ?? 0);
  return explainedTable([
    [
      "",
      "variant",
      "batch",
      "takes ms",
      "accuracy",
      ...(answers === null ? [] : ["answers now", "later", "in all"]),
      "",
    ],
    ...rows.map(({ choice, why }) => [
      letterOf(choice.variant),
      choice.variant,
      String(choice.batch),
      rounded(choice.serviceMs),
      percent(choice.accuracy),
      ...(answers === null ? [] : answerCells(choice, answers.decision, answers.values)),
      why,
    ]),
  ]);
}

/** Returns the right answers beyond those of the chosen batch: in this batch, later, in all. */
function answerCells(choice: Choice, chosen: Choice, values: NamedValues): string[] {
  const inAll = differenceOf(choice, chosen, values);
  if (inAll === null) return ["-", "-", "-"];
  const answersOf = ({ batch, accuracy }: Choice): number =>
    values.unit === "decisions" ? accuracy : batch * accuracy;
  if (!choice.meetsSlack || !chosen.meetsSlack) return ["-", "-", signed(inAll)];
  const now = answersOf(choice) - answersOf(chosen);
  return [signed(now), signed(inAll - now), signed(inAll)];
}

function differenceOf(choice: Choice, chosen: Choice, { actions }: NamedValues): number | null {
  const own = actions.find((one) => isSame(one, choice));
  const reference = actions.find((one) => isSame(one, chosen));
  return own === undefined || reference === undefined ? null : own.advantage - reference.advantage;
}

/** Explains the right answers of the table and their limits. */
function meaningLines(values: NamedValues, chosen: Choice): string[] {
  const [best] = values.actions;
  const lead = best === undefined ? null : differenceOf(choiceLike(best, chosen), chosen, values);
  const unit =
    values.unit === "decisions"
      ? "right decisions (the paper's measure: a decision counts with the accuracy of its " +
        "variant, however many queries it serves)"
      : "right answers (a query counts with the accuracy of the variant that answers it)";
  const paragraph =
    `${unit}, more or less than with the chosen batch: now, in this batch; later, since other ` +
    "queries are left and a worker is free sooner or later; in all, as the solver's model " +
    "expects them if only this decision were another, a late query counting against it";
  return [
    wrapped(paragraph),
    ...(best === undefined || lead === null || lead < LEAST_TOLD
      ? []
      : [
          `by that measure ${best.variant} on ${queriesText(best.batch)} would be better by ` +
            `${rounded(lead)}; the table was chosen as a whole, by what it gives in the long run`,
        ]),
  ];
}

function choiceLike({ variant, batch }: NamedValue, chosen: Choice): Choice {
  return { ...chosen, variant, batch };
}

/**
 * Returns, for a decision to start no batch, the largest batch of each variant that ends in time.
 */
function unservedLines(bundle: RamsisBundle, state: StateInspection): string[] {
  const { queued, slackMs, decision } = state;
  const { variants, serviceTimes } = onlyTask(bundle);
  const [, maxBatch = 1] = serviceTimes.decisionMs.shape;
  const positions = positionsOf(variants);
  const choices = variants.map(({ name }) => {
    const inTime = Array.from({ length: Math.min(queued, maxBatch) }, (_, index) =>
      choiceNamed(bundle, { variant: name, batch: index + 1 }, slackMs),
    ).findLast(({ meetsSlack }) => meetsSlack);
    return inTime ?? choiceNamed(bundle, { variant: name, batch: 1 }, slackMs);
  });
  const rows = byLetter(bundle, choices).map((choice) => [
    letterAt(positions[variants.findIndex(({ name }) => name === choice.variant)] ?? 0),
    choice.variant,
    choice.meetsSlack ? String(choice.batch) : "-",
    rounded(choice.serviceMs),
    percent(choice.accuracy),
    unservedText(choice, state),
  ]);
  const waits = "waitUntilSlackMs" in decision;
  return [
    waits
      ? "what could run now instead: the largest batch of each variant that ends in time"
      : "what could still answer it in time: the largest batch of each variant that does",
    explainedTable([["", "variant", "batch", "takes ms", "accuracy", ""], ...rows]),
    waits
      ? "the table waits where the time until then is expected to be worth more to a larger " +
        "batch than to this one"
      : "the table gives a query up where these batches are expected to make more of the queries " +
        "behind it late or less accurate than the one that they save",
  ];
}

/** Describes a batch that does not start: the queries it would leave, or how late it would end. */
function unservedText({ meetsSlack, batch, serviceMs }: Choice, state: StateInspection): string {
  const { queued, slackMs, decision } = state;
  if (!meetsSlack) return `${rounded(serviceMs - slackMs)} ms too late even alone`;
  const perQuery = `${rounded(serviceMs / batch)} ms a query`;
  if ("waitUntilSlackMs" in decision) return perQuery;
  const left = queued - batch;
  return left === 0 ? perQuery : `${perQuery}; leaves ${queriesText(left)} waiting`;
}

function isSame(
  a: Pick<Choice, "variant" | "batch">,
  b: Pick<Choice, "variant" | "batch">,
): boolean {
  return a.variant === b.variant && a.batch === b.batch;
}

/** Formats with four decimals, or three significant digits, and a sign; tiny values become 0. */
function signed(answers: number): string {
  if (Math.abs(answers) < LEAST_TOLD) return "0";
  const digits = Math.abs(answers) < 1 ? answers.toFixed(4) : answers.toPrecision(3);
  return `${answers > 0 ? "+" : ""}${short(Number(digits))}`;
}

function queriesText(count: number): string {
  return counted(count, "query", "queries");
}
