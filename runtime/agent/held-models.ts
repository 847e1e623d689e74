/** All models of an agent: holds, loads and unloads them. */
import { HttpError, RETRY_LATER } from "../server/connections/http-error.ts";
import type { AgentModel } from "./agent-model.ts";
import { NoModelError } from "./agent-model.ts";
import { HeldModel, type HoldingOptions } from "./held-model.ts";
import type { AskedModel, ModelCatalog } from "./model-catalog.ts";

/** Maximum number of models, each with a process. */
const MAX_HELD = 64;

type ModelState = "ready" | "loading" | "unavailable";

/** A model as reported to front ends. */
export interface ModelStatus {
  readonly name: string;
  /** Null if no file of that name has been read yet, or the model has no file. */
  readonly sha256: string | null;
  readonly state: ModelState;
  /** Why it is not ready; empty if it is. */
  readonly reason: string;
}

export interface AskedLoad extends AskedModel {
  /** Threads of its sessions; undefined for the agent's default. */
  readonly cores: number | undefined;
}

interface Failed {
  readonly reason: string;
}

export class HeldModels {
  readonly #catalog: ModelCatalog;
  readonly #options: HoldingOptions;
  readonly #cores: number;
  readonly #held = new Map<string, HeldModel>();
  readonly #loading = new Set<string>();
  readonly #failed = new Map<string, Failed>();
  /** Models that are ending. */
  readonly #leaving = new Set<Promise<void>>();
  #changing: Promise<unknown> = Promise.resolve();
  #isClosing = false;

  /** @param cores default for models whose load request states none. */
  constructor(catalog: ModelCatalog, cores: number, options: HoldingOptions) {
    this.#catalog = catalog;
    this.#cores = cores;
    this.#options = options;
  }

  get held(): readonly HeldModel[] {
    return [...this.#held.values()];
  }

  /** Whether a model is being loaded. */
  get isLoading(): boolean {
    return this.#loading.size > 0;
  }

  /** Returns all models that are held, wanted, or could be loaded, by name. */
  async list(): Promise<ModelStatus[]> {
    const own = [...this.#held.keys(), ...this.#loading, ...this.#failed.keys()];
    const names = new Set([...(await this.#catalog.names()), ...own]);
    return [...names].sort().map((name) => this.#statusOf(name));
  }

  /** Models that were asked for: held, loading, or failed. */
  get wanted(): ModelStatus[] {
    const names = [...this.#held.keys(), ...this.#loading, ...this.#failed.keys()];
    return [...new Set(names)].sort().map((name) => this.#statusOf(name));
  }

  /** Returns the model of that name. @throws HttpError 404, or 503 while it has no process. */
  ready(name: string): HeldModel {
    const held = this.#held.get(name);
    if (held?.isReady === true) return held;
    if (held === undefined && !this.#loading.has(name)) {
      throw new HttpError(404, `Request for unknown model: '${name}' is not loaded`);
    }
    throw new HttpError(503, `${name}: its process is not ready`, RETRY_LATER);
  }

  /**
   * Returns a held model. Like Triton, it describes no others, which clients might take for ready.
   * @throws HttpError 404
   */
  described(name: string): AgentModel {
    const held = this.#held.get(name);
    if (held !== undefined) return held.model;
    throw new HttpError(404, `Request for unknown model: '${name}' is not loaded`);
  }

  /**
   * Loads a model, replacing the one of that name, which answers until then.
   * @throws Error with the reason if it cannot be held; the previous one stays.
   */
  load(asked: AskedLoad): Promise<void> {
    return this.#inTurn(() => this.#load(asked));
  }

  /** @throws NoModelError if it is not held. */
  unload(name: string): Promise<void> {
    return this.#inTurn(async () => {
      const held = this.#held.get(name);
      const isKnown = this.#failed.delete(name) || held !== undefined;
      if (!isKnown) throw new NoModelError("it is not loaded");
      this.#held.delete(name);
      this.#options.onChange();
      if (held !== undefined) await this.#leave(held);
    });
  }

  /** Ends all processes after their running batches. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#changing;
    const held = [...this.#held.values()];
    this.#held.clear();
    await Promise.all([...this.#leaving, ...held.map((one) => one.close())]);
  }

  #statusOf(name: string): ModelStatus {
    const held = this.#held.get(name);
    const sha256 = held?.model.sha256 ?? null;
    if (held?.isReady === true) return { name, sha256, state: "ready", reason: "" };
    if (held !== undefined || this.#loading.has(name)) {
      return { name, sha256, state: "loading", reason: "its process is not ready" };
    }
    const reason = this.#failed.get(name)?.reason ?? "it is not loaded";
    return { name, sha256, state: "unavailable", reason };
  }

  /** Runs one change at a time: a model that is loading takes cores from those that serve. */
  #inTurn(change: () => Promise<void>): Promise<void> {
    const done = this.#changing.then(change);
    this.#changing = done.catch(() => {});
    return done;
  }

  async #load({ name, sha256, cores = this.#cores }: AskedLoad): Promise<void> {
    if (this.#isClosing) throw new NoModelError("the worker is stopping");
    const before = this.#held.get(name);
    if (before === undefined && this.#held.size >= MAX_HELD) {
      throw new NoModelError(`expected at most ${MAX_HELD} models; unload another`);
    }
    this.#loading.add(name);
    this.#options.onChange();
    try {
      const found = await this.#catalog.find({ name, sha256 });
      const isSame = before?.model.sha256 === found.model.sha256;
      if (isSame && before.cores === cores && before.model.sha256 !== null) {
        await found.close();
      } else {
        this.#held.set(name, await HeldModel.open(found, cores, this.#options));
        if (before !== undefined) void this.#leave(before);
      }
      this.#failed.delete(name);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (before === undefined) this.#failed.set(name, { reason });
      throw error;
    } finally {
      this.#loading.delete(name);
      this.#options.onChange();
    }
  }

  #leave(held: HeldModel): Promise<void> {
    const left = held.close().finally(() => this.#leaving.delete(left));
    this.#leaving.add(left);
    return left;
  }
}
