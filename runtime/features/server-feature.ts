/** Interface of the server's features: their settings and how they are opened. */

import type { Notice } from "../base/notice.ts";
import type { Bundle } from "../bundle/schema.ts";
import type { TrustedBundle } from "../bundles/trusted-bundle.ts";
import type { Setting, ValueOf } from "../kinds/setting.ts";
import type { Application } from "../server/applications/application.ts";
import type { Replaced } from "../server/applications/succession.ts";
import type { OpenFeature } from "../server/feature.ts";
import type { LineSink } from "../server/logs/line-sink.ts";
import type { LogState } from "../server/logs/log.ts";
import type { RecordedEntry } from "../server/requests/recorded-entry.ts";
import type { RunningServer } from "../server/serve.ts";

type Settings = Readonly<Record<string, Setting>>;
type ValuesOf<S> = { readonly [K in keyof S]: ValueOf<S[K]> };

/** Context that the server provides to a feature before it serves. */
export interface FeatureContext {
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
  /** Added to `nowMs` for milliseconds since 1970. */
  readonly epochOffsetMs: () => number;
  readonly onNotice: Notice;
  /** Version of the program. */
  readonly version: string;
  /** Environment, for OpenTelemetry's variables and secrets. */
  readonly environment: NodeJS.ProcessEnv;
  /** Log that `onNotice` writes to; omitted if its settings cannot be changed. */
  readonly log?: LogState | undefined;
  /** Stream of that log; omitted if it has another destination. */
  readonly stderr?: LineSink | undefined;
  /**
   * Opens a gate between two bundles. @param allowed tolerances; null for none.
   * @throws RuntimeError RUNTIME_USAGE
   */
  readonly gateOf?: ((allowed: string | null) => Promise<PromiseGate>) | undefined;
}

/**
 * Compares the promises of two bundles. Resolves to descriptions of the worse ones; empty if the
 * second may replace the first.
 */
export type PromiseGate = (before: Bundle, after: Bundle) => Promise<readonly string[]>;

/** A hosted bundle with its workers. */
export interface Hosted {
  readonly bundle: Bundle;
  /** SHA-256 of the bundle's file. */
  readonly sha256: string;
  readonly application: Application;
  /** Model files that its workers have open. */
  readonly files: { close(): Promise<void> };
  /** Rejects if a worker fails to start. */
  readonly failed: Promise<never>;
}

/** The running server. */
export interface Host {
  readonly server: RunningServer;
  /** Served bundles in the order of the options. */
  hosted(): readonly Hosted[];
  /** Whether there is a single bundle, so that notices need not name it. */
  readonly isOnly: boolean;
  readonly nowMs: () => number;
  readonly onNotice: Notice;
  /** Reads a bundle and verifies its signature. @throws BundleError, RuntimeError */
  load(path: string): Promise<TrustedBundle>;
  /**
   * Opens a bundle beside the one at a place, on workers of its own.
   * @throws errors of starting workers, after closing everything.
   */
  hostBeside(loaded: TrustedBundle, place: number, onNotice: Notice): Promise<Hosted>;
  /** Replaces the bundle at a place by one opened beside it. @throws errors of `take`. */
  adopt(place: number, next: Hosted, take: () => Replaced): Promise<void>;
}

/** Receives each event of a core with its outputs. */
export type Recorder = (entry: RecordedEntry) => void;

export interface KeptBytes {
  readonly bytesPerModel: number;
  /** Limit that sets the bytes. */
  readonly limit: string;
}

export interface ServingFeature extends OpenFeature {
  /** Memory that it may hold in the server for each model, checked when a bundle is opened. */
  readonly kept?: KeptBytes;
  /** Creates a recorder for the core of a bundle. */
  recorder?(bundle: Bundle): Recorder;
  /** Called when its log files may have been moved. */
  reopened?(): void;
  serving?(host: Host): void | Promise<void>;
  /** Called before the server closes: nothing new must be started. */
  stopping?(): void;
}

export interface ServerFeature<S extends Settings = Settings, L extends Settings = Settings> {
  readonly name: string;
  /** Heading of its settings. */
  readonly title: string;
  /** Settings as options, variables and file keys, unique among features. */
  readonly settings: S;
  readonly limits: L;
  /** Loads and opens the feature. @returns null if it is not enabled. @throws RuntimeError */
  open(values: ValuesOf<S & L>, context: FeatureContext): Promise<ServingFeature | null>;
}

/** Returns its argument with the types of its settings inferred. */
export function serverFeature<S extends Settings, L extends Settings>(
  feature: ServerFeature<S, L>,
): ServerFeature<S, L> {
  return feature;
}

/**
 * Opens features with their values among those given, or defaults.
 * @throws the error of one of them, after closing the others.
 */
export async function openFeatures(
  features: readonly ServerFeature[],
  given: Readonly<Record<string, unknown>>,
  context: FeatureContext,
): Promise<ServingFeature[]> {
  const open: ServingFeature[] = [];
  try {
    for (const feature of features) {
      const all = Object.entries({ ...feature.settings, ...feature.limits });
      const values = all.map(([key, { fallback }]) => [key, given[key] ?? fallback]);
      const opened = await feature.open(Object.fromEntries(values), context);
      if (opened !== null) open.push(opened);
    }
    return open;
  } catch (error) {
    await closeFeatures(open);
    throw error;
  }
}

export async function closeFeatures(open: readonly OpenFeature[]): Promise<void> {
  for (const feature of open.toReversed()) await feature.close?.();
}
