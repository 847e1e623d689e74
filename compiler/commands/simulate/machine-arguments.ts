/** Parses the options of `simulate` that change the machine relative to its profile. */
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { parseTimeMs } from "../../load/load-arguments.ts";
import type { MachineState } from "../../simulate/serving/machine-state.ts";

export interface MachineArguments {
  /** Factors of all workers, or of one by its number. */
  readonly pace?: readonly string[];
  readonly slow?: string;
  readonly lose?: string;
}

/** Range of service times relative to the profile. */
const LEAST_PACE = 0.01;
const MOST_PACE = 100;
/** In place of a worker's number. */
const ALL = -1;

/**
 * Returns the simulated machine; undefined for one as profiled.
 * @throws RuntimeError RUNTIME_USAGE for an invalid value.
 */
export function parseMachine(
  { pace = [], slow, lose }: MachineArguments,
  workerCount: number,
): MachineState | undefined {
  if (pace.length === 0 && slow === undefined && lose === undefined) return undefined;
  const paces = pace.map((text) => parsePace(text, workerCount));
  return {
    pace: paces.findLast(([worker]) => worker === ALL)?.[1] ?? 1,
    slow: slow === undefined ? null : parseSlow(slow),
    workerPaces: new Map(paces.filter(([worker]) => worker !== ALL)),
    lost: lose === undefined ? null : parseLoss(lose, workerCount),
  };
}

function parseSlow(text: string): MachineState["slow"] {
  const [share = "", factor = "", spell = "", ...rest] = text.split(",").map((one) => one.trim());
  const form = `--slow SHARE,FACTOR,SPELL such as 0.5,1.5,200ms, got "${text}"`;
  if (rest.length > 0 || spell === "") throw expected(form);
  const spellMs = parseTimeMs("--slow SPELL", spell);
  const part = numberIn(share);
  if (!(part > 0 && part < 1)) throw expected(`${form}: SHARE must be between 0 and 1, exclusive`);
  return { share: part, factor: paceIn(factor, form), spellMs };
}

/** A worker, or all of them, and its factor. */
function parsePace(text: string, workerCount: number): readonly [number, number] {
  const form = `--pace FACTOR or WORKER=FACTOR such as 1.5 or 3=2.0, got "${text}"`;
  const [worker = "", pace, ...rest] = text.split("=");
  if (pace === undefined) return [ALL, paceIn(text, form)];
  if (rest.length > 0 || !/^\d+$/.test(worker)) throw expected(form);
  if (Number(worker) >= workerCount) {
    throw expected(`${form}: workers are 0 to ${workerCount - 1}`);
  }
  return [Number(worker), paceIn(pace, form)];
}

function parseLoss(text: string, workerCount: number): MachineState["lost"] {
  const [workers = "", at = "", ...rest] = text.split("@");
  const form = `--lose N@TIME such as 4@10s, got "${text}"`;
  if (rest.length > 0 || !/^\d+$/.test(workers) || at === "") throw expected(form);
  const atMs = parseTimeMs("--lose TIME", at);
  const count = Number(workers);
  if (count < 1 || count > workerCount) throw expected(`${form}: N is 1 to ${workerCount}`);
  return { workers: count, atMs };
}

function paceIn(text: string, form: string): number {
  const pace = numberIn(text);
  if (pace >= LEAST_PACE && pace <= MOST_PACE) return pace;
  throw expected(`${form}; a factor must be between ${LEAST_PACE} and ${MOST_PACE}`);
}

function numberIn(text: string): number {
  return /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
}

function expected(form: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", `expected ${form}`);
}
