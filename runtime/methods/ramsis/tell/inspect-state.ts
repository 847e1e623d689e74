/** `inspect BUNDLE --state STATE` of tables: the decision, and what others would be worth. */
import type { ActionValues, NoActionValues, RamsisBundle } from "../../../bundle/schema.ts";
import { parseState } from "../../../tell/asked-state.ts";
import { alignColumns, percent, short } from "../../../tell/text.ts";
import type { StateRequest, Told } from "../../method.ts";
import { decidingTable } from "./class-level-view.ts";
import { type Decision, inspectState, type StateInspection } from "./state-view.ts";

/** Action values by the names of the variants. */
interface NamedValues {
  readonly unit: ActionValues["unit"];
  readonly actions: readonly NamedValue[];
}

interface NamedValue {
  readonly variant: string;
  readonly batch: number;
  readonly advantage: number;
}

/** @throws RuntimeError RUNTIME_USAGE if the state is no good. */
export async function tableState(
  bundle: RamsisBundle,
  { text, loadQps, actionValuesOf }: StateRequest,
): Promise<Told> {
  const query = parseState(text);
  const state = inspectState(bundle, { ...query, loadQps });
  const table = decidingTable(bundle, state.level.index, query.sloClass);
  const found = await actionValuesOf?.(table.bundle, table.level, query.queued, query.slackMs);
  const values = found !== undefined && "actions" in found ? named(bundle, found) : null;
  const why = found !== undefined && "reason" in found ? found : null;
  const aboutValues = valueLines(state, values ?? why);
  return { text: stateText(state, loadQps, aboutValues), json: { ...state, values } };
}

function named({ tasks }: RamsisBundle, { unit, actions }: ActionValues): NamedValues {
  const variants = tasks.flatMap((task) => task.variants);
  const nameOf = (variant: number): string => variants[variant]?.name ?? "";
  return {
    unit,
    actions: actions.map(({ variant, ...rest }) => ({ variant: nameOf(variant), ...rest })),
  };
}

/** The best action, the runner-up, and the table's choice where it is neither. */
function valueLines(
  { decision }: StateInspection,
  values: NamedValues | NoActionValues | null,
): readonly string[] {
  if (values === null) return [];
  if ("reason" in values) return [`value: not known, ${values.reason}`, ""];
  const [best, runnerUp] = values.actions;
  if (best === undefined || runnerUp === undefined) {
    return ["value: no other action is admissible here", ""];
  }
  const isChosen = ({ variant, batch }: NamedValue): boolean =>
    "batch" in decision && decision.variant === variant && decision.batch === batch;
  const chosen = values.actions.slice(2).find(isChosen);
  const parts = [
    `${nameOf(best)} best`,
    `runner-up ${nameOf(runnerUp)}, ${lossText(runnerUp, values.unit)}`,
    ...(chosen === undefined ? [] : [`chosen ${nameOf(chosen)}, ${lossText(chosen, values.unit)}`]),
  ];
  return [
    `value${"batch" in decision ? "" : " of what could run now"}: ${parts.join("; ")}`,
    values.unit === "accuracy less price"
      ? "by the price of the workers' time in this state"
      : "over all the future, with the table deciding from the next batch on",
    "",
  ];
}

function nameOf({ variant, batch }: NamedValue): string {
  return `${variant} ×${batch}`;
}

function lossText({ advantage }: NamedValue, unit: NamedValues["unit"]): string {
  if (advantage === 0) return "as good";
  return unit === "accuracy less price"
    ? `${short(-100 * advantage)} points of accuracy per query less`
    : `${short(-advantage)} accuracy-weighted ${unit} less`;
}

function stateText(
  state: StateInspection,
  loadQps: number | null,
  aboutValues: readonly string[],
): string {
  const { level, decision, tableState, withOneMoreQueued, withOneSlackStepLess } = state;
  const asked = loadQps === null ? "no --level given: the top one" : `for ${short(loadQps)} qps`;
  const whose = state.sloClass === undefined ? "" : `, by the table of class ${state.sloClass}`;
  return [
    `queued ${state.queued}, slack ${short(state.slackMs)} ms: ${choiceText(decision)}`,
    `answered by level ${short(level.loadQps)} qps (${asked})${whose}, in the state queued ${tableState.queued}, slack ${short(tableState.slackMs)} ms`,
    "",
    alignColumns([
      [
        `variant, batch ${state.alternatives[0]?.batch ?? ""}`,
        "service ms",
        "accuracy",
        "meets slack",
        "",
      ],
      ...state.alternatives.map((choice) => [
        choice.variant,
        short(choice.serviceMs),
        percent(choice.accuracy),
        choice.meetsSlack ? "yes" : "no",
        "variant" in decision && choice.variant === decision.variant ? "chosen" : "",
      ]),
    ]),
    "",
    ...aboutValues,
    `one query more: ${choiceText(withOneMoreQueued)}`,
    withOneSlackStepLess === null
      ? "one slack step less: there is none"
      : `one slack step less (${short(withOneSlackStepLess.slackMs)} ms): ${choiceText(withOneSlackStepLess)}`,
  ].join("\n");
}

function choiceText(choice: Decision): string {
  if ("givesUp" in choice)
    return "give the earliest query up: in time it costs more than it is worth";
  if ("waitUntilSlackMs" in choice) {
    return `wait for another query, until the slack is below ${short(choice.waitUntilSlackMs)} ms`;
  }
  const { variant, batch, serviceMs, meetsSlack } = choice;
  const outcome = meetsSlack ? "meets the slack" : "misses the slack";
  return `${variant} ×${batch}, ${short(serviceMs)} ms, ${outcome}`;
}
