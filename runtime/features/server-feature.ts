/** A feature of the server before it is open: its settings, and how it is opened by them. */

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

/** What the server lets a feature see before it serves. */
export interface FeatureSeams {
  /** Milliseconds of a clock that does not go back. */
  readonly nowMs: () => number;
  /** Is added to `nowMs` to have milliseconds since 1970. */
  readonly epochOffsetMs: number;
  readonly onNotice: Notice;
  /** Of the program. */
  readonly version: string;
  /** For what OpenTelemetry's variables say, and secrets. */
  readonly environment: NodeJS.ProcessEnv;
  /** What `onNotice` writes to, as far as it may be changed; left out where it is nothing. */
  readonly log?: LogState | undefined;
  /** Where that goes; left out where it goes elsewhere. */
  readonly stderr?: LineSink | undefined;
  /**
   * The gate between two bundles. @param allowed what may become worse; null for nothing.
   * @throws RuntimeError RUNTIME_USAGE
   */
  readonly gateOf?: ((allowed: string | null) => Promise<PromiseGate>) | undefined;
}

/** What a bundle promises less than the one before it, in words: nothing where it may follow. */
export type PromiseGate = (before: Bundle, after: Bundle) => Promise<readonly string[]>;

/** A bundle with its workers, as the host has opened it. */
export interface Hosted {
  readonly bundle: Bundle;
  /** Of its file. */
  readonly sha256: string;
  readonly application: Application;
  /** Model files that its workers have open. */
  readonly files: { close(): Promise<void> };
  /** Rejects when a worker has failed at its start. */
  readonly failed: Promise<never>;
}

/** The server of bundles once it listens. */
export interface Host {
  readonly server: RunningServer;
  /** Bundles that are served, in the order of the options. */
  hosted(): readonly Hosted[];
  /** Whether the server has one bundle, so that notices need not name it. */
  readonly isOnly: boolean;
  readonly nowMs: () => number;
  readonly onNotice: Notice;
  /** Reads a bundle and checks its signature. @throws BundleError, RuntimeError */
  load(path: string): Promise<TrustedBundle>;
  /**
   * Opens a bundle beside the one at a place, on workers of its own.
   * @throws what opening workers throws, with nothing left open.
   */
  hostBeside(loaded: TrustedBundle, place: number, onNotice: Notice): Promise<Hosted>;
  /** Serves one that was opened beside it in the place of another. @throws what `take` throws. */
  adopt(place: number, next: Hosted, take: () => Replaced): Promise<void>;
}

/** Receives each event that a core is told, and what it answers. */
export type Recorder = (entry: RecordedEntry) => void;

export interface ServingFeature extends OpenFeature {
  /** Makes what receives all that the core of a bundle is told, and what that says. */
  recorder?(bundle: Bundle): Recorder;
  /** Files that it writes may have been moved. */
  reopened?(): void;
  serving?(host: Host): void | Promise<void>;
  /** The server is about to close: nothing is begun any more. */
  stopping?(): void;
}

export interface ServerFeature<S extends Settings = Settings, L extends Settings = Settings> {
  readonly name: string;
  /** Of its settings. */
  readonly title: string;
  /** Flags, variables and keys of the file, which nobody else names. */
  readonly settings: S;
  /** Settings that are limits. */
  readonly limits: L;
  /** Loads its code. @returns null where it is not asked for. @throws RuntimeError */
  open(values: ValuesOf<S & L>, seams: FeatureSeams): Promise<ServingFeature | null>;
}

/** The feature itself, with the types of its settings found out. */
export function serverFeature<S extends Settings, L extends Settings>(
  feature: ServerFeature<S, L>,
): ServerFeature<S, L> {
  return feature;
}

/**
 * Opens features, each by its values among those given; what is not given has its fallback.
 * @throws what opening one throws, with none left open.
 */
export async function openFeatures(
  features: readonly ServerFeature[],
  given: Readonly<Record<string, unknown>>,
  seams: FeatureSeams,
): Promise<ServingFeature[]> {
  const open: ServingFeature[] = [];
  try {
    for (const feature of features) {
      const all = Object.entries({ ...feature.settings, ...feature.limits });
      const values = all.map(([key, { fallback }]) => [key, given[key] ?? fallback]);
      const opened = await feature.open(Object.fromEntries(values), seams);
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
