/** `stratagem simulate BUNDLE`: the bundle's decisions on a virtual clock. */
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { RuntimeError } from "stratagem-runtime/internal/errors";
import { loadBundle } from "stratagem-runtime/internal/load-bundle";
import type { CompilerMethod, NamedBaseline } from "../methods/method.ts";
import { allMethods, methodOf } from "../methods/registry.ts";
import { usualServiceTimes } from "../methods/usual-service-times.ts";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import type { LoggedArrivals } from "../replay/logged-arrivals.ts";
import type { ArrivalProcess } from "../simulate/arrivals.ts";
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
  /** A decision log, an access log, or a URL that answers with lines of either. */
  readonly arrivals?: string;
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
  const { arrivals: log } = options;
  const stated = log === undefined ? parseArrivals(options) : log;
  const seed = parseSeed(options.seed);
  const stations = parseStations(options);
  const { tuned = false, fanout } = options;
  const baseline = await parseBaseline(options.baseline, tuned);
  const { bundle } = await loadBundle(options.bundle);
  const method = await methodOf(bundle);
  if (tuned && !method.baselines.tunable) throw await notTunable(method);
  checkStations(stations, bundle.cluster);
  const [arrivals, logged] = await arrivalsOf(stated, bundle, method, watch.signal);
  const durationMs = parseDurationMs(options.duration, arrivals);
  const steady = { arrivals, durationMs, seed, fanout, stations };
  const serviceTimes = options.serviceTimes ?? usualServiceTimes(bundle, method);
  const result = await method.simulate(bundle, { ...steady, serviceTimes, baseline }, watch);
  const omissions = omissionsOf(stations, bundle.cluster);
  const latenciesWithout = omissions.map(({ name }) => name);
  const text = [
    ...(logged === null ? [] : [arrivalsText(logged), ""]),
    result.text,
    ...(omissions.length === 0 ? [] : ["", omissionsText(omissions)]),
  ];
  return {
    ...result,
    text: text.join("\n"),
    json: {
      ...result.json,
      ...{ serviceTimes, latenciesWithout },
      ...(logged === null ? {} : { arrivals: arrivalsJson(logged) }),
    },
  };
}

/**
 * Those that are stated, or those of a log and what it says of them.
 * @throws RuntimeError, InputError for a log.
 */
async function arrivalsOf(
  stated: ArrivalProcess | string,
  bundle: Bundle,
  { servesWhole }: CompilerMethod,
  signal: AbortSignal,
): Promise<readonly [ArrivalProcess, LoggedArrivals | null]> {
  if (typeof stated !== "string") return [stated, null];
  const { loggedArrivals } = await import("../replay/logged-arrivals.ts");
  const { toldText } = await import("../recalibrate/told-text.ts");
  const asked = { bundle, isWhole: servesWhole === true };
  const textOf = async (url: string) => (await toldText(url, "/", signal)).text;
  const logged = await loggedArrivals(stated, asked, textOf, signal);
  return [{ kind: "trace", trace: logged.trace }, logged];
}

function arrivalsText({ requests, models, fromMs, toMs }: LoggedArrivals): string {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  return `arrivals of ${requests} requests for ${models.join(", ")}, ${from} to ${to}`;
}

function arrivalsJson({ requests, queries, models, fromMs, toMs }: LoggedArrivals): object {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString());
  return { requests, queries, models, from, to };
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
