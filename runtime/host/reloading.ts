/**
 * Reloads bundles of a running server: they are followed on the workers they have, or on new
 * workers that take over, or not at all. Source: docs/decisions/0015-reload.md.
 */
import { isRuntimeError } from "../base/errors.ts";
import type { Claims } from "../bundles/trust/trust.ts";
import { loadTrusted, type TrustedBundle } from "../bundles/trusted-bundle.ts";
import { OpenedModels } from "../exec/process/opened-models.ts";
import type { Access } from "../server/access/access.ts";
import type { Replaced } from "../server/applications/succession.ts";
import type { Reloaded, ReloadedApplication } from "../server/http/admin-hooks.ts";
import type { RunningServer } from "../server/serve.ts";
import {
  expectOwnNames,
  type HostedBundle,
  type HostingOptions,
  hostBundle,
  modelNamesOf,
} from "./hosted-bundle.ts";
import { SharedMeans } from "./shared-means.ts";

/** Sources of bundles other than files. */
export interface Sources {
  /** Asks the source of a place for its bundle now; undefined for a file. Never rejects. */
  look(place: number): Promise<Omit<ReloadedApplication, "application" | "policy">> | undefined;
}

type Server = Pick<RunningServer, "replaceBundle" | "replaceApplication" | "onReloaded">;

/** Largest number of model files that a notice lists. */
const MAX_LISTED_FILES = 5;

/** Reloads come one after the other. */
export class Reloading {
  readonly #server: Server;
  readonly #options: HostingOptions;
  readonly #access: Pick<Access, "refresh">;
  readonly #sources: Sources | null;
  readonly #hosted: HostedBundle[];
  /** Result of the last reload of each bundle, by place. */
  readonly #results: ReloadedApplication[] = [];
  #last: Promise<unknown> = Promise.resolve();
  /**
   * Resolves when the last replaced bundle is gone, so that at most two of an application exist.
   */
  #retired: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(
    server: Server,
    hosted: readonly HostedBundle[],
    options: HostingOptions,
    access: Pick<Access, "refresh">,
    sources: Sources | null = null,
  ) {
    this.#server = server;
    this.#hosted = [...hosted];
    this.#options = options;
    this.#access = access;
    this.#sources = sources;
  }

  /** Bundles that are served. */
  get hosted(): readonly HostedBundle[] {
    return this.#hosted;
  }

  /** Whether an application, or a model of one, has this name. */
  has(name: string): boolean {
    return [...this.#hosted.keys()].some((place) => this.#namesAt(place).includes(name));
  }

  /** Returns the result of the last reload of a bundle; null before the first. */
  resultAt(place: number): ReloadedApplication | null {
    return this.#results[place] ?? null;
  }

  /**
   * Reads files again. Never rejects.
   * @param name of an application, or of a model of it; left out for all, and for access control.
   */
  async reload(name?: string): Promise<Reloaded> {
    // Sources are asked before the reload's turn: bundles that they have are followed in turns of
    // their own.
    const looks = this.#placesOf(name).map(async (place) => {
      return [place, await this.#sources?.look(place)] as const;
    });
    const looked = new Map(await Promise.all(looks));
    return this.#inTurn(() => this.#reload(name, looked));
  }

  /** Has a place follow the bundle of another path. Never rejects. */
  follow(place: number, path: string): Promise<ReloadedApplication> {
    return this.#inTurn(() => this.#reloadAt(place, path));
  }

  /** Folders and files of a place that may be opened again. */
  inUse(place: number): string[] {
    const hosted = this.#hosted[place];
    return hosted === undefined ? [] : [hosted.policy, hosted.folder];
  }

  /**
   * Replaces a bundle by another one whose workers run already; in turn with reloads.
   * @param take has it take over. @throws what `take` throws; nothing has changed then.
   */
  adopt(place: number, next: HostedBundle, take: () => Replaced): Promise<void> {
    const done = this.#last.then(async () => {
      await this.#retired;
      const before = this.#hosted[place];
      const { retired } = take();
      this.#hosted[place] = next;
      this.#retired = retired.then(() => before?.files.close());
    });
    this.#last = done.catch(() => {});
    return done;
  }

  stop(): void {
    this.#isClosed = true;
  }

  /** Closes the files of models. The server is closed. */
  async close(): Promise<void> {
    await this.#last;
    await this.#retired;
    await Promise.all(this.#hosted.map(({ files }) => files.close()));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done;
    return done;
  }

  #placesOf(name: string | undefined): number[] {
    return [...this.#hosted.keys()].filter((place) => {
      return name === undefined || this.#namesAt(place).includes(name);
    });
  }

  /** @param looked results for places that have a source. */
  async #reload(
    name: string | undefined,
    looked: ReadonlyMap<number, Awaited<ReturnType<Sources["look"]>>>,
  ): Promise<Reloaded> {
    const places = this.#placesOf(name);
    if (places.length === 0) {
      const known = this.#hosted.map(({ bundle }) => bundle.application).join(", ");
      const notice = `unknown application ${name}, expected one of ${known}`;
      return { isFollowed: false, notice, applications: [] };
    }
    const done: ReloadedApplication[] = [];
    for (const place of places) {
      const own = looked.get(place);
      const { application = "", policy = "" } = this.#namesOf(place);
      done.push(own === undefined ? await this.#reloadAt(place) : { application, policy, ...own });
    }
    const faults = name === undefined ? await this.#access.refresh() : [];
    return {
      isFollowed: faults.length === 0 && done.every(({ isFollowed }) => isFollowed),
      notice: [...done.map(({ notice }) => notice), ...faults].join("; "),
      applications: done,
    };
  }

  #namesAt(place: number): string[] {
    const hosted = this.#hosted[place];
    return hosted === undefined ? [] : [hosted.bundle.application, ...modelNamesOf(hosted)];
  }

  #namesOf(place: number): { readonly application?: string; readonly policy?: string } {
    const hosted = this.#hosted[place];
    if (hosted === undefined) return {};
    return { application: hosted.bundle.application, policy: hosted.policy };
  }

  /** Reloads one bundle. Never rejects. @param path of its bundle; by default the current one. */
  async #reloadAt(place: number, path?: string): Promise<ReloadedApplication> {
    const result = await this.#followedAt(place, path);
    this.#results[place] = result;
    return result;
  }

  async #followedAt(place: number, path?: string): Promise<ReloadedApplication> {
    const before = this.#hosted[place];
    if (before === undefined || this.#isClosed) {
      const notice = "not followed: the server is shutting down";
      return { application: "", policy: "", isFollowed: false, notice };
    }
    const { application } = before.bundle;
    const policy = path ?? before.policy;
    try {
      const loaded = await loadTrusted(policy, this.#options.trust);
      const followed = await this.#follow(loaded, before, place);
      const more = `${followed}${await this.#remember(loaded)}`;
      this.#server.onReloaded(application, true);
      const notice = `${policy}: serving it as it is now, SHA-256 ${loaded.sha256}${more}`;
      return { application, policy, isFollowed: true, notice };
    } catch (error) {
      this.#server.onReloaded(application, false);
      const reason = error instanceof Error ? error.message : String(error);
      const notice = `not followed, the previous bundle stays in use: ${reason}`;
      const code = isRuntimeError(error) ? error.code : "RUNTIME_DEVICE";
      return { application, policy, isFollowed: false, notice, code };
    }
  }

  /**
   * Accepts the claims of a bundle, so that the next start finds it where it lies, even if the
   * power fails before a source's staged file is kept as good.
   * @returns text for the notice: the bundle is followed, whether this succeeds or not.
   */
  async #remember({ claims }: TrustedBundle): Promise<string> {
    if (claims === null) return "";
    try {
      await this.#options.trust?.accept(claims);
      return `, ${serialText(claims)}`;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return `, ${serialText(claims)}, which is not remembered: ${reason}`;
    }
  }

  /**
   * Follows a bundle. @returns further text for the notice. @throws Error if it is not followed;
   * nothing has changed then.
   */
  async #follow(loaded: TrustedBundle, before: HostedBundle, place: number): Promise<string> {
    const { bundle, sha256, claims } = loaded;
    const refusal = this.#server.replaceBundle(bundle, sha256, place);
    if (refusal === null || sha256 === before.sha256) {
      this.#hosted[place] = { ...before, bundle, sha256, claims, policy: loaded.path };
      // Files of a source may be gone by then: each of its bundles has its own.
      return loaded.path === before.policy ? changesOf(before.files) : "";
    }
    await this.#retired;
    const files = new OpenedModels(before.files);
    try {
      // Means of the machine beside the workers that run.
      const means = new SharedMeans(this.#options);
      const next = await hostBundle(loaded, place, means, files, this.#options);
      expectOwnNames(this.#hosted.with(place, next));
      const { application, failed } = next;
      const { retired } = await this.#server.replaceApplication(application, place, failed);
      this.#hosted[place] = next;
      this.#retired = retired.then(() => before.files.close());
      return `, on new workers: ${refusal}${goneOf(before, next)}`;
    } catch (error) {
      await files.close();
      throw error;
    }
  }
}

function serialText({ serial, keyId }: Claims): string {
  return `serial ${serial}, signed by key ${keyId}`;
}

/** Models that clients do not find any more. */
function goneOf(before: HostedBundle, after: HostedBundle): string {
  const names = modelNamesOf(after);
  const gone = modelNamesOf(before).filter((name) => !names.includes(name));
  return gone.length === 0 ? "" : `; requests for ${gone.join(", ")} are answered 404 from now on`;
}

async function changesOf(opened: OpenedModels): Promise<string> {
  const changed = await opened.changed();
  if (changed.length === 0) return "";
  const names = changed.slice(0, MAX_LISTED_FILES).join(", ");
  const rest = changed.length - MAX_LISTED_FILES;
  const files = `${names}${rest > 0 ? ` and ${rest} more` : ""}`;
  return `; models stay those of before, but these files are others now, or gone: ${files}`;
}
