/**
 * Bundles of a running server, read again: followed on the workers they have, or on workers of
 * their own that take over, or not at all. Source: docs/decisions/0015-reload.md.
 */
import {
  expectOwnNames,
  type HostedBundle,
  type HostingOptions,
  hostBundle,
  modelNamesOf,
} from "./hosted-bundle.ts";
import { type LoadedBundle, loadBundle } from "./load-bundle.ts";
import { OpenedModels } from "./opened-models.ts";
import type { ReloadCounts } from "./server/metrics/reload-counts.ts";
import type { RunningServer } from "./server/serve.ts";

/** What became of a reload. */
export interface Reloaded {
  /** Whether all that was read is followed. */
  readonly isFollowed: boolean;
  /** What is to be said of it. */
  readonly notice: string;
}

type Server = Pick<RunningServer, "replaceBundle" | "replaceApplication">;

/** Files of models that are told at most. */
const MAX_TOLD_FILES = 5;

/** Reloads come one after the other. */
export class Reloading {
  readonly #server: Server;
  readonly #options: HostingOptions;
  readonly #counts: ReloadCounts;
  readonly #hosted: HostedBundle[];
  #last: Promise<unknown> = Promise.resolve();
  /** Kept when what was replaced last is gone, so that there are two of an application at most. */
  #retired: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(
    server: Server,
    hosted: readonly HostedBundle[],
    options: HostingOptions,
    counts: ReloadCounts,
  ) {
    this.#server = server;
    this.#hosted = [...hosted];
    this.#options = options;
    this.#counts = counts;
  }

  /** Those that are served. */
  get hosted(): readonly HostedBundle[] {
    return this.#hosted;
  }

  /**
   * Reads files again. Never rejects.
   * @param name of an application, or of a model of it; left out for all.
   */
  reload(name?: string): Promise<Reloaded> {
    const done = this.#last.then(() => this.#reload(name));
    this.#last = done;
    return done;
  }

  /** Nothing is read any more. */
  stop(): void {
    this.#isClosed = true;
  }

  /** Closes the files of models. The server is closed. */
  async close(): Promise<void> {
    await this.#last;
    await this.#retired;
    await Promise.all(this.#hosted.map(({ files }) => files.close()));
  }

  async #reload(name: string | undefined): Promise<Reloaded> {
    const places = [...this.#hosted.keys()].filter((place) => {
      return name === undefined || this.#namesAt(place).includes(name);
    });
    if (places.length === 0) {
      const known = this.#hosted.map(({ bundle }) => bundle.application).join(", ");
      return { isFollowed: false, notice: `there is no application ${name}; there are ${known}` };
    }
    const done: Reloaded[] = [];
    for (const place of places) done.push(await this.#reloadAt(place));
    return {
      isFollowed: done.every(({ isFollowed }) => isFollowed),
      notice: done.map(({ notice }) => notice).join("; "),
    };
  }

  #namesAt(place: number): string[] {
    const hosted = this.#hosted[place];
    return hosted === undefined ? [] : [hosted.bundle.application, ...modelNamesOf(hosted)];
  }

  /** Never rejects. */
  async #reloadAt(place: number): Promise<Reloaded> {
    const before = this.#hosted[place];
    if (before === undefined || this.#isClosed) {
      return { isFollowed: false, notice: "not followed: the server is shutting down" };
    }
    const { bundle, policy } = before;
    try {
      const loaded = await loadBundle(policy);
      const more = await this.#follow(loaded, before, place);
      this.#counts.onReload(bundle.application, true);
      const notice = `${policy}: serving it as it is now, SHA-256 ${loaded.sha256}${more}`;
      return { isFollowed: true, notice };
    } catch (error) {
      this.#counts.onReload(bundle.application, false);
      const reason = error instanceof Error ? error.message : String(error);
      const notice = `not followed, the bundle before it goes on deciding: ${reason}`;
      return { isFollowed: false, notice };
    }
  }

  /** @returns what else is to be said. @throws Error if it is not followed; nothing has changed. */
  async #follow(loaded: LoadedBundle, before: HostedBundle, place: number): Promise<string> {
    const { bundle, sha256 } = loaded;
    const refusal = this.#server.replaceBundle(bundle, sha256, place);
    if (refusal === null) {
      this.#hosted[place] = { ...before, bundle, sha256 };
      return changesOf(before.files);
    }
    if (sha256 === before.sha256) return changesOf(before.files);
    await this.#retired;
    const files = new OpenedModels(before.files);
    try {
      const next = await hostBundle(loaded, files, this.#options);
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

/** Models that clients do not find any more. */
function goneOf(before: HostedBundle, after: HostedBundle): string {
  const names = modelNamesOf(after);
  const gone = modelNamesOf(before).filter((name) => !names.includes(name));
  return gone.length === 0 ? "" : `; requests for ${gone.join(", ")} are answered 404 from now on`;
}

async function changesOf(opened: OpenedModels): Promise<string> {
  const changed = await opened.changed();
  if (changed.length === 0) return "";
  const names = changed.slice(0, MAX_TOLD_FILES).join(", ");
  const rest = changed.length - MAX_TOLD_FILES;
  const files = `${names}${rest > 0 ? ` and ${rest} more` : ""}`;
  return `; models stay those of before, but these files are others now, or gone: ${files}`;
}
