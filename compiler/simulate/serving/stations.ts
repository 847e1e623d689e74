/** Path of a request through the serving machine, as simulated. */
import type { Cluster, ServingPath } from "stratagem-runtime/internal/bundle/schema";
import type { PaceMonitor } from "stratagem-runtime/internal/core/pace";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { Contention } from "./contention.ts";
import { type MachinePaces, type MachineState, machinePaces } from "./machine-state.ts";
import { NeighbourBursts } from "./neighbour-bursts.ts";
import { ServerStation } from "./server-station.ts";
import { SpreadDraws } from "./spread-draws.ts";
import { Stalls } from "./stalls.ts";
import { WorkerEvents } from "./worker-events.ts";

/** Parts of the machine to simulate. */
export interface StationOptions {
  /** Whether requests pass the server's process; default: true. */
  readonly path?: boolean;
  /** Whether workers contend for processors; default: true. */
  readonly contention?: boolean;
  /** Processors that others keep busy, such as a load generator; default: 0. */
  readonly neighbours?: number;
  /** How the machine differs from its profile; default: not at all. */
  readonly machine?: MachineState;
  /** Called with what measures the pace of the workers, before the run. */
  readonly onPace?: (pace: Pick<PaceMonitor, "ranMs" | "expectedMs">) => void;
  /** Number of the draw of path and stalls, the rest being the same; default: 0. */
  readonly draw?: number;
}

/** Random streams of one seed go up to 3; the path never changes other draws. */
export const PATH_STREAM = 4;
/** Stream within a seed that the path's stream gives. */
const STALL_STREAM = 7;
const NEIGHBOUR_STREAM = 12;
/** The spells of a machine are the same for every policy that is compared on it. */
const MACHINE_SEED = 1;
const MACHINE_STREAM = 11;

/** Returns the paces of a machine; null if all workers are as profiled. */
export function pacesOfMachine(
  { machine, draw = 0 }: StationOptions,
  workerCount: number,
): MachinePaces | null {
  return machinePaces(machine, workerCount, new Rng(MACHINE_SEED + draw, MACHINE_STREAM));
}

export interface Stations {
  readonly workers: WorkerEvents;
  /** Null if requests reach their decision at once. */
  readonly server: ServerStation | null;
  /** Time from a client to the server, constant, so that requests keep their order; ms. */
  readonly toServerMs: number;
  /** Draws the time from the server to a client for an answer, ms. */
  toClientMs(): number;
  /** Draws the wake-up delay of a sleeping process, ms. */
  wakeMs(): number;
}

/**
 * Returns the stations of a cluster. Without a serving path in the profiles they are workers that
 * do not contend, and the simulation equals one without stations, bit for bit.
 * @param workersWake whether a sleeping worker takes longer; false if the caller adds the delay.
 */
export function stationsOf(
  { serving }: Pick<Cluster, "serving">,
  workerCount: number,
  seeded: Rng,
  { path = true, contention = true, neighbours = 0, draw = 0, machine }: StationOptions = {},
  workersWake = true,
): Stations {
  const paces = pacesOfMachine({ ...(machine && { machine }), draw }, workerCount);
  if (serving === undefined || !(path || contention)) return modelsAlone(workerCount, paces);
  const rng = draw === 0 ? seeded : new Rng(Math.floor(seeded.nextFloat() * 2 ** 32), draw);
  const drawsOf = (row: "requestMs" | "batchMs" | "answerMs" | "wakeMs" | "wireMs") =>
    new SpreadDraws(serving[row], rng);
  const wake = drawsOf("wakeMs");
  const workers = new WorkerEvents(
    workerCount,
    contention ? new Contention(serving) : null,
    path && workersWake ? wake : null,
    contention ? burstsOf(neighbours, rng) : null,
    contention ? stallsOf(serving, rng) : null,
    paces,
  );
  if (!path) return { workers, ...NO_PATH };
  const request = drawsOf("requestMs");
  const times = { request, batch: drawsOf("batchMs"), answer: drawsOf("answerMs"), wake };
  const wire = drawsOf("wireMs");
  const toServerMs = serving.wireMs.p50 / 2;
  return {
    workers,
    server: new ServerStation(times, workers),
    toServerMs,
    toClientMs: () => Math.max(0, wire.nextMs() - toServerMs),
    wakeMs: () => wake.nextMs(),
  };
}

function stallsOf({ stalls }: ServingPath, rng: Rng): Stalls | null {
  if (stalls === undefined) return null;
  return new Stalls(stalls, new Rng(Math.floor(rng.nextFloat() * 2 ** 32), STALL_STREAM));
}

function burstsOf(neighbours: number, rng: Rng): NeighbourBursts | null {
  if (neighbours === 0) return null;
  const own = new Rng(Math.floor(rng.nextFloat() * 2 ** 32), NEIGHBOUR_STREAM);
  return new NeighbourBursts(neighbours, own);
}

/** Returns stations in which only models take time. */
export function modelsAlone(workerCount: number, paces: MachinePaces | null = null): Stations {
  const workers = new WorkerEvents(workerCount, null, null, null, null, paces);
  return { workers, ...NO_PATH };
}

const NO_PATH = { server: null, toServerMs: 0, toClientMs: () => 0, wakeMs: () => 0 } as const;
