/** `stratagem simulate BUNDLE`: the bundle's decisions on a virtual clock. */
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { RuntimeError } from "stratagem-runtime/internal/errors";
import { loadBundle } from "stratagem-runtime/internal/load-bundle";
import type { CompilerMethod, NamedBaseline } from "../methods/method.ts";
import { allMethods, methodOf } from "../methods/registry.ts";
import { usualServiceTimes } from "../methods/usual-service-times.ts";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import {
  type ArrivalArguments,
  parseArrivals,
  parseDurationMs,
  parseSeed,
} from "./load-arguments.ts";
import {
  checkStations,
  omissionsOf,
  omissionsText,
  parseStations,
  type StationArguments,
} from "./station-arguments.ts";

/** As given on the command line. */
export interface SimulateOptions extends ArrivalArguments, StationArguments {
  readonly bundle: string;
  readonly duration?: string;
  readonly seed: string;
  /** Left out, drawn where the bundle says what serving takes and how times spread. */
  readonly serviceTimes?: ServiceTimeMode;
  readonly baseline?: string;
  /** Of a baseline of one task: with the parameters that hindsight gives it. */
  readonly tuned?: boolean;
  readonly fanout: "rounded" | "poisson";
}

/**
 * @throws RuntimeError for an option, InputError for a trace, BundleError for a bundle that is no
 * good.
 */
export async function simulateCommand(
  options: SimulateOptions,
  watch: SimulateWatch,
): Promise<CommandResult> {
  const arrivals = parseArrivals(options);
  const steady = {
    arrivals,
    durationMs: parseDurationMs(options.duration, arrivals),
    seed: parseSeed(options.seed),
    fanout: options.fanout,
    stations: parseStations(options),
  };
  const { tuned = false } = options;
  const baseline = await parseBaseline(options.baseline, tuned);
  const { bundle } = await loadBundle(options.bundle);
  const method = await methodOf(bundle);
  if (tuned && !method.baselines.tunable) throw await notTunable(method);
  checkStations(steady.stations, bundle.cluster);
  const serviceTimes = options.serviceTimes ?? usualServiceTimes(bundle, method);
  const result = await method.simulate(bundle, { ...steady, serviceTimes, baseline }, watch);
  const omissions = omissionsOf(steady.stations, bundle.cluster);
  const latenciesWithout = omissions.map(({ name }) => name);
  return {
    ...result,
    text: omissions.length === 0 ? result.text : `${result.text}\n\n${omissionsText(omissions)}`,
    json: { ...result.json, serviceTimes, latenciesWithout },
  };
}

/** A name that several methods have stays a name: what it stands for is the bundle's to say. */
async function parseBaseline(
  text: string | undefined,
  tuned: boolean,
): Promise<NamedBaseline | null> {
  if (text === undefined) {
    if (!tuned) return null;
    throw usage("--tuned needs a --baseline, whose parameters it tunes");
  }
  const methods = await allMethods();
  const from = methods.find(({ baselines }) => baselines.has(text, tuned));
  if (from !== undefined) return { text, name: text.replace(/:.*/, ""), tuned, from };
  throw usage(`expected --baseline ${knownBaselines(methods)}; got "${text}"`);
}

/** Of one task first, then by what they stand in for. */
function knownBaselines(methods: readonly CompilerMethod[]): string {
  const known = methods
    .filter(({ baselines }) => baselines.names.length > 0)
    .map(({ baselines: { of, names } }) => {
      const list = `one of ${names.join(", ")}`;
      return of === null ? list : `for ${of} ${list}`;
    });
  return `${known.slice(0, -1).join(", ")}, or ${known.at(-1)}`;
}

async function notTunable({ name }: CompilerMethod): Promise<RuntimeError> {
  const methods = await allMethods();
  const tunable = methods.filter(({ baselines }) => baselines.tunable);
  const allowed = tunable.map((method) => method.name).join(" or ");
  return usage(
    `--tuned is for the baselines of bundles of method ${allowed}, and this one is of ` +
      `method ${name}`,
  );
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", message);
}
