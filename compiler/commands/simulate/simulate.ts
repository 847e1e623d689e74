/** Implements `stratagem simulate BUNDLE`: runs the bundle's decisions on a virtual clock. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { type Bundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { percent } from "stratagem-runtime/internal/describe/text";
import { parseArrivals, parseDurationMs, parseSeed, spreadOf } from "../../load/load-arguments.ts";
import type { CompilerMethod, NamedBaseline } from "../../methods/method.ts";
import { allMethods, methodOf } from "../../methods/registry.ts";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import {
  longestDelayMs,
  parseScalerDelay,
  SCALER_DELAY_FORM,
  type ScalerDelay,
  scalerDelayText,
} from "../../simulate/graph/scaler-clock.ts";
import type { ServiceTimeMode } from "../../simulate/service-times.ts";
import { arrivalsJson, arrivalsOf, arrivalsText, writeTrace } from "./logged-traffic.ts";
import { type MachineArguments, parseMachine } from "./machine-arguments.ts";
import { machineJson, machineText, promisedAtPace, promisedText } from "./simulated-machine.ts";
import { omissionsOf, omissionsText, parseStations } from "./station-arguments.ts";

/** Arrivals that a server logged. */
const LOG = "log:";

export interface SimulateOptions extends MachineArguments {
  /** Stations of the server that are left out. */
  readonly without?: string;
  /** False for a policy that decides as if the machine were as profiled. */
  readonly adapt?: boolean;
  readonly bundle: string;
  /** A process or a trace, or `log:` and where a decision log or an access log is. */
  readonly arrivals: string;
  /** Trace file to write with the arrivals of the log. */
  readonly writeTrace?: string;
  readonly duration?: string;
  readonly seed: string;
  /** Default: sampled if the bundle has quantiles and a serving path. */
  readonly serviceTimes?: ServiceTimeMode;
  readonly baseline?: string;
  /** Tunes the baseline's parameters in hindsight. */
  readonly tuned?: boolean;
  /** How queries that a query sends on are drawn; default: the mean, rounded at random. */
  readonly fanout?: "rounded" | "poisson";
  /** Scaler that starts the replicas of a plan; left out, they start at once. */
  readonly scalingDelay?: string;
}

/**
 * @throws RuntimeError for an option, InputError for a trace, BundleError for an invalid bundle.
 */
export async function simulateCommand(
  options: SimulateOptions,
  watch: SimulateWatch,
): Promise<CommandResult> {
  const { arrivals: asked, writeTrace: traceFile } = options;
  const log = asked.startsWith(LOG) ? asked.slice(LOG.length) : undefined;
  if (log === undefined && traceFile !== undefined) {
    throw usage(`expected --arrivals ${LOG}PLACE with --write-trace, got ${asked}`);
  }
  const seed = parseSeed(options.seed);
  const stated = log ?? parseArrivals(asked, seed);
  const parts = parseStations(options.without);
  const { tuned = false, fanout = "rounded" } = options;
  const baseline = await parseBaseline(options.baseline, tuned);
  const { bundle } = await loadBundle(options.bundle);
  const method = await methodOf(bundle);
  if (tuned && !method.baselines.tunable) throw await notTunable(method);
  const workers = bundle.cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  const machine = parseMachine(options, workers);
  const stations = { ...parts, ...(machine === undefined ? {} : { machine }) };
  const scalerDelay = parseScaling(options.scalingDelay, method);
  const [arrivals, logged] = await arrivalsOf(stated, bundle, method, watch.signal);
  if (traceFile !== undefined && logged !== null) await writeTrace(traceFile, logged);
  const durationMs = parseDurationMs(options.duration, arrivals);
  const scaled = scalerDelay === null ? {} : { scalerDelay };
  const adapts = options.adapt !== false && baseline === null;
  const paced = promisedAtPace(bundle, arrivals, { machine, adapts });
  const steady = { arrivals, durationMs, seed, fanout, stations, adapts, ...scaled };
  const serviceTimes = options.serviceTimes ?? defaultServiceTimes(bundle, method);
  const simulated = { ...steady, serviceTimes, baseline };
  const result = await method.simulate(bundle, simulated, watch);
  // Simulates replicas without delay for comparison.
  const { scalerDelay: _, ...prompt } = { scalerDelay, ...simulated };
  const atOnce = scalerDelay === null ? result : await method.simulate(bundle, prompt, watch);
  const omissions = omissionsOf(stations, bundle.cluster);
  const latenciesWithout = omissions.map(({ name }) => name);
  const [notices, spread] = spreadOf(asked, arrivals);
  const text = [
    ...notices,
    ...(logged === null ? [] : [arrivalsText(logged), ""]),
    ...(machine === undefined ? [] : [machineText(machine, adapts)]),
    result.text,
    ...(paced === undefined ? [] : ["", promisedText(paced)]),
    ...(scalerDelay === null
      ? []
      : ["", verdictText(scalerDelay, result.json, atOnce.json, bundle)]),
    ...(omissions.length === 0 ? [] : ["", omissionsText(omissions)]),
  ];
  return {
    ...result,
    text: text.join("\n"),
    json: {
      ...result.json,
      ...{ serviceTimes, latenciesWithout },
      ...machineJson({ machine, adapts }),
      ...(paced === undefined ? {} : { expectedAtPace: paced.figures ?? null }),
      ...scaled,
      ...spread,
      ...(logged === null ? {} : { arrivals: arrivalsJson(logged) }),
    },
  };
}

/**
 * Samples service times if the bundle has quantiles and a serving path, so that latencies are
 * comparable with measured ones; otherwise uses percentiles, like the promises.
 */
export function defaultServiceTimes(bundle: Bundle, method: CompilerMethod): ServiceTimeMode {
  const isDrawn = method.promisesQuantiles(bundle) && method.hasServiceTimeQuantiles(bundle);
  return isDrawn ? "sampled" : "p95";
}

/** @throws RuntimeError RUNTIME_USAGE, also for a method with a fixed number of workers. */
function parseScaling(text: string | undefined, method: CompilerMethod): ScalerDelay | null {
  if (text === undefined) return null;
  const delay = parseScalerDelay(text);
  if (delay === null) throw usage(`expected --scaling-delay ${SCALER_DELAY_FORM}; got "${text}"`);
  if (method.scales) return delay;
  throw usage(
    `--scaling-delay needs a bundle whose replicas follow the load, but method ${method.name} ` +
      "has a fixed number of workers",
  );
}

/** States whether the SLO is kept despite the delay of replicas. */
function verdictText(delay: ScalerDelay, json: object, atOnce: object, { slo }: Bundle): string {
  const rateOf = (result: object) =>
    "violationRate" in result ? Number(result.violationRate) : Number.NaN;
  const ceiling = violationCeiling(slo);
  const [late, prompt] = [rateOf(json), rateOf(atOnce)];
  const verdict = (rate: number) => (rate <= ceiling ? "holds" : "does not hold");
  const latest = `replicas start up to ${longestDelayMs(delay) / 1000} s later`;
  const found = `violations ${percent(late)} of at most ${percent(ceiling)}`;
  return (
    `with ${scalerDelayText(delay)} ${latest}: this plan ${verdict(late)}, ${found}; ` +
    `without delay it ${verdict(prompt)}, ${percent(prompt)}`
  );
}

/** Keeps a name that several methods have as a name: the bundle's method decides its meaning. */
async function parseBaseline(
  text: string | undefined,
  tuned: boolean,
): Promise<NamedBaseline | null> {
  if (text === undefined) {
    if (!tuned) return null;
    throw usage("--tuned needs a --baseline to tune");
  }
  const methods = await allMethods();
  const from = methods.find(({ baselines }) => baselines.has(text, tuned));
  if (from !== undefined) return { text, name: text.replace(/:.*/, ""), tuned, from };
  throw usage(`expected --baseline ${knownBaselines(methods)}; got "${text}"`);
}

/**
 * Lists baselines of one task first, then by the kind of bundle that they replace the policy of.
 */
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
  return usage(`--tuned needs a bundle of method ${allowed}, got one of ` + `method ${name}`);
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", message);
}
