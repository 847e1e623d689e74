/** The bundles of `serve --shadow`: each looks on while the bundle of its application serves. */
import type { Bundle } from "./bundle/schema.ts";
import { Rng } from "./core/rng.ts";
import type { CoreFollower } from "./core-follower.ts";
import { RuntimeError } from "./errors.ts";
import type { LoadedBundle } from "./load-bundle.ts";
import { methodOf } from "./methods/registry.ts";
import type { Application } from "./server/applications/application.ts";
import type { AdminHooks } from "./server/http/admin-hooks.ts";
import { labelled, type MetricLine } from "./server/metrics/exposition.ts";
import { ArrivalBook, arrivalsIn, KEPT_MS } from "./server/shadow-policy/arrival-book.ts";
import { arrivalsTrace } from "./server/shadow-policy/arrivals-trace.ts";
import { onlookerRefusal } from "./server/shadow-policy/compared-bundles.ts";
import type { OnlookerParts } from "./server/shadow-policy/onlooker-of.ts";
import { ShadowPolicy } from "./server/shadow-policy/shadow-policy.ts";
import type { Notice } from "./server/telemetry/notice.ts";
import type { Trust } from "./trust/trust.ts";
import { loadTrusted } from "./trusted-bundle.ts";

/** Time between two looks. */
const LOOK_MS = 1000;
/** Of what batches take where it is drawn: the same events give the same report. */
const SEED = 1;
const SERVICE_STREAM = 2;

export interface ShadowPoliciesOptions {
  readonly nowMs: () => number;
  /** Is added to `nowMs` to have milliseconds since 1970. */
  readonly epochOffsetMs: number;
  readonly onNotice: Notice;
  /** Whose bundles may look on; null for anybody's. */
  readonly trust: Trust | null;
}

interface Followed {
  readonly served: LoadedBundle;
  readonly application: Application;
}

/** The bundle that looks on at an application. */
interface Watched {
  shadow: LoadedBundle;
  readonly arrivals: ArrivalBook;
  /** Applications of the name that are open, in the order in which they were opened. */
  readonly followed: Followed[];
  /** The one that is looked on at; undefined where none is open. */
  current: Followed | undefined;
  policy: ShadowPolicy | undefined;
}

export class ShadowPolicies {
  readonly #options: ShadowPoliciesOptions;
  readonly #byApplication: ReadonlyMap<string, Watched>;
  #timer: NodeJS.Timeout | undefined;

  private constructor(shadows: readonly LoadedBundle[], options: ShadowPoliciesOptions) {
    this.#options = options;
    const nowMs = options.nowMs();
    this.#byApplication = new Map(
      shadows.map((shadow) => {
        const arrivals = new ArrivalBook(nowMs);
        const watched = { shadow, arrivals, followed: [], current: undefined, policy: undefined };
        return [shadow.bundle.application, watched];
      }),
    );
  }

  /**
   * @param paths of the bundles, one for an application at most.
   * @throws BundleError for one that is refused, RuntimeError RUNTIME_UNREADABLE or RUNTIME_USAGE.
   */
  static async open(
    paths: readonly string[],
    options: ShadowPoliciesOptions,
  ): Promise<ShadowPolicies> {
    const shadows: LoadedBundle[] = [];
    for (const path of paths) {
      const shadow = await loadTrusted(path, options.trust);
      const { application } = shadow.bundle;
      const other = shadows.find(({ bundle }) => bundle.application === application);
      if (other !== undefined) {
        throw usage(path, `of another application than ${other.path}`, `"${application}"`);
      }
      shadows.push(shadow);
    }
    return new ShadowPolicies(shadows, options);
  }

  /**
   * Looks at them from now on.
   * @param served all that is served, which is followed already.
   * @throws RuntimeError RUNTIME_USAGE for a bundle that cannot look on at any of it.
   */
  watch(served: readonly Pick<LoadedBundle, "bundle">[]): void {
    for (const { shadow } of this.#byApplication.values()) {
      const { application } = shadow.bundle;
      const own = served.find(({ bundle }) => bundle.application === application);
      if (own === undefined) {
        const known = served.map(({ bundle }) => bundle.application).join(", ");
        throw usage(shadow.path, `of an application that is served, ${known}`, `"${application}"`);
      }
      const refusal = onlookerRefusal(own.bundle, shadow.bundle);
      if (refusal === null) continue;
      throw new RuntimeError("RUNTIME_USAGE", `--shadow ${shadow.path}: ${refusal}`);
    }
    this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  /** For administrators. */
  get adminHooks(): Required<Pick<AdminHooks, "shadow" | "shadowArrivals">> {
    return {
      shadow: () => this.report(),
      shadowArrivals: (application) => this.arrivals(application),
    };
  }

  /**
   * Follows the core of an application. Where another of its name is open, that is looked on at
   * until it is closed, and of this one arrivals are noted.
   */
  follow(served: LoadedBundle): CoreFollower | undefined {
    const watched = this.#byApplication.get(served.bundle.application);
    if (watched === undefined) return undefined;
    const { followed, arrivals } = watched;
    let own: Followed | undefined;
    return {
      onOpened: (application) => {
        own = { served, application };
        followed.push(own);
        if (watched.current === undefined) this.#lookOn(watched, own);
      },
      onEntry: (entry) => {
        const came = arrivalsIn(entry);
        if (came > 0) arrivals.note(entry.nowMs ?? this.#options.nowMs(), came);
        if (own !== undefined && watched.current === own) watched.policy?.record(entry);
      },
      onClosed: () => {
        if (own === undefined || !followed.includes(own)) return;
        followed.splice(followed.indexOf(own), 1);
        // The youngest has taken over.
        if (watched.current === own) this.#lookOn(watched, followed.at(-1));
      },
    };
  }

  /** Reads the bundles that look on again. @returns what is to be said of that. */
  async reload(): Promise<string> {
    const told: string[] = [];
    for (const [application, watched] of this.#byApplication) {
      const { path, sha256 } = watched.shadow;
      try {
        const shadow = await loadTrusted(path, this.#options.trust);
        if (shadow.sha256 === sha256) continue;
        if (shadow.bundle.application !== application) {
          throw usage(path, `of application "${application}"`, `"${shadow.bundle.application}"`);
        }
        watched.shadow = shadow;
        this.#lookOn(watched, watched.current);
        told.push(`; ${path} looks on as it is now, SHA-256 ${shadow.sha256}`);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        told.push(`; the bundle before it goes on looking on: ${reason}`);
      }
    }
    return told.join("");
  }

  lines(): MetricLine[] {
    return [...this.#byApplication].flatMap(([model, { policy }]) =>
      labelled(policy?.lines() ?? [], { model }),
    );
  }

  /** For administrators. */
  report(): object {
    const policies = [...this.#byApplication.values()].flatMap(({ policy }) => policy ?? []);
    return { applications: policies.map((policy) => policy.report()) };
  }

  /**
   * When queries of an application came, of the last hour at most.
   * @param name left out where one application has a bundle that looks on. @returns null otherwise.
   */
  arrivals(name?: string): Promise<Uint8Array> | null {
    const [only] = this.#byApplication.size === 1 ? this.#byApplication.keys() : [];
    const application = name ?? only;
    const watched = application === undefined ? undefined : this.#byApplication.get(application);
    if (watched === undefined) return null;
    const { nowMs: clock, epochOffsetMs } = this.#options;
    const nowMs = clock();
    const fromMs = Math.max(watched.arrivals.fromMs, nowMs - KEPT_MS);
    const atMs = watched.arrivals.after(fromMs);
    const at = (ms: number) => new Date(ms + epochOffsetMs).toISOString();
    const title = `${application}: ${atMs.length} arrivals from ${at(fromMs)} to ${at(nowMs)}`;
    return arrivalsTrace(atMs, fromMs, title);
  }

  close(): void {
    clearInterval(this.#timer);
    for (const { policy } of this.#byApplication.values()) policy?.close();
  }

  /** From now on, with no memory of before. */
  #lookOn(watched: Watched, followed: Followed | undefined): void {
    watched.policy?.close();
    watched.current = followed;
    watched.policy = followed === undefined ? undefined : this.#policyOf(watched, followed);
  }

  #policyOf({ shadow, arrivals }: Watched, { served, application }: Followed): ShadowPolicy {
    const { endpoint, limits } = application;
    // It may have been replaced where it is served.
    const now = () => ({
      path: served.path,
      sha256: endpoint.bundleSha256,
      bundle: endpoint.bundle,
    });
    const refusal = onlookerRefusal(now().bundle, shadow.bundle);
    const parts = refusal ?? partsOf(shadow, now().bundle, limits.maxPending);
    if (typeof parts === "string") {
      const rest = "its decisions are not compared, and arrivals are kept for simulations";
      this.#options.onNotice(`${shadow.path} does not look on, ${rest}: ${parts}`, "warn");
    }
    return new ShadowPolicy({ ...this.#options, served: now, shadow, parts, arrivals });
  }

  #look(): void {
    for (const { policy } of this.#byApplication.values()) policy?.look();
  }
}

/** As text, why there are none. @param maxPending rows that wait or run at most. */
function partsOf(
  { bundle }: LoadedBundle,
  served: Bundle,
  maxPending: number,
): OnlookerParts | string {
  const method = methodOf(bundle);
  const times = method.onlookerTimes?.(bundle, new Rng(SEED, SERVICE_STREAM));
  if (times === undefined) return `bundles of method ${bundle.method} cannot`;
  // Queries may be under way here for longer than where they are served.
  const queryCapacity = 2 * maxPending;
  return {
    replayer: method.replayer(bundle, { maxPending: queryCapacity }),
    times,
    workerCount: method.workerCount(bundle),
    servedWorkerCount: methodOf(served).workerCount(served),
    queryCapacity,
  };
}

function usage(path: string, expected: string, found: string): RuntimeError {
  const message = `--shadow ${path}: expected a bundle ${expected}, got ${found}`;
  return new RuntimeError("RUNTIME_USAGE", message);
}
