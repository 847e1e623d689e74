/** Baselines of bundles with one task, as the command line names them. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import {
  type Baseline,
  PEER_NAMES,
  type SimulatedBaseline,
  TABLES,
} from "./simulate/baseline-names.ts";

/** In the order of the help and of messages. */
export const SINGLE_BASELINES: readonly string[] = ["fixed:VARIANT", ...TABLES, ...PEER_NAMES];

/**
 * @param tuned whether its parameters are chosen in hindsight.
 * @returns null for a text that names no baseline.
 * @throws RuntimeError for a baseline without parameters to tune.
 */
export function singleBaselineNamed(text: string, tuned: boolean): Baseline | null {
  const peer = PEER_NAMES.find((name) => name === text);
  if (peer !== undefined) return { kind: peer, tuned };
  const table = tableNamed(text);
  if (table === null || !tuned) return table;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--tuned: baseline ${text} has nothing to tune; allowed with ${PEER_NAMES.join(", ")}`,
  );
}

function tableNamed(text: string): Baseline | null {
  const [kind = "", variant, ...rest] = text.split(":");
  if (kind === "fixed" && variant && rest.length === 0) return { kind, variant };
  const name = TABLES.find((table) => table === text);
  return name === undefined ? null : { kind: name };
}

/** One line of text. */
export function baselineLine({ name, tuned, parameters }: SimulatedBaseline): string {
  const pairs = Object.entries(parameters).map(([key, value]) => `${key} ${value}`);
  const how = tuned ? ", tuned in hindsight" : "";
  return `baseline ${name}${how}${pairs.length > 0 ? `: ${pairs.join(", ")}` : ""}`;
}
