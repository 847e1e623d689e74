/** Options of `simulate` that say which stations of the machine that serves are simulated. */
import type { Cluster } from "stratagem-runtime/internal/bundle/schema";
import { RuntimeError } from "stratagem-runtime/internal/errors";
import type { StationOptions } from "../../simulate/serving/stations.ts";

export interface StationArguments {
  readonly without?: string;
  readonly neighbours?: string;
}

/** More processors than any machine has. */
const MAX_NEIGHBOURS = 65_536;

/** @throws RuntimeError for a name or a number that is none. */
export function parseStations({ without, neighbours }: StationArguments): StationOptions {
  const left = without === undefined ? [] : without.split(",").map((name) => name.trim());
  const unknown = left.find((name) => name !== "path" && name !== "contention");
  if (unknown !== undefined) {
    throw usage(`expected --without path, contention or path,contention, got "${without}"`);
  }
  const contention = !left.includes("contention");
  const others = neighbours === undefined ? 0 : parseNeighbours(neighbours);
  if (others > 0 && !contention) {
    throw usage("--neighbours are contended with, which --without contention leaves out");
  }
  return { path: !left.includes("path"), contention, neighbours: others };
}

/** @throws RuntimeError where neighbours are asked for and nothing says what they take. */
export function checkStations({ neighbours = 0 }: StationOptions, { serving }: Cluster): void {
  if (neighbours === 0 || serving !== undefined) return;
  throw usage(
    "--neighbours needs a bundle whose profile says how workers contend, and this one says " +
      "nothing of serving; profile with --serving and compile again",
  );
}

/** What the latencies of a simulation leave out, and why. */
export interface Omission {
  readonly name: "serving path" | "contention";
  readonly why: "not profiled" | "left out";
}

export function omissionsOf(
  { path = true, contention = true }: StationOptions,
  { serving }: Cluster,
): readonly Omission[] {
  const why = serving === undefined ? "not profiled" : "left out";
  const omissions: Omission[] = [];
  if (!path || serving === undefined) omissions.push({ name: "serving path", why });
  if (!contention || serving === undefined) omissions.push({ name: "contention", why });
  return omissions;
}

/** In one line, such as `latencies without serving path (left out)`. */
export function omissionsText(omissions: readonly Omission[]): string {
  const names = omissions.map(({ name }) => name).join(" and ");
  return `latencies without ${names} (${omissions[0]?.why})`;
}

function parseNeighbours(text: string): number {
  const count = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (count <= MAX_NEIGHBOURS) return count;
  throw usage(
    `expected --neighbours a number of processors from 0 to ${MAX_NEIGHBOURS} such as 1, ` +
      `got "${text}"`,
  );
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", message);
}
