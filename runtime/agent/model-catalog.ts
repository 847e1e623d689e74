/** Which models an agent can hold: those of a bundle, of a folder, or fetched by their digest. */
import type { VariantModel } from "../exec/models/executor.ts";
import { agentModel, NoModelError } from "./agent-model.ts";
import { type FoundModel, ModelFolder } from "./model-folder.ts";

/** What a front end asks for. */
export interface AskedModel {
  readonly name: string;
  /** Of its file; undefined for whatever is there. */
  readonly sha256: string | undefined;
}

/** Brings a model from elsewhere. @returns the path of a file that stays; null for none. */
export type FetchModel = (asked: {
  readonly name: string;
  readonly sha256: string;
}) => Promise<string | null>;

interface CatalogOptions {
  /** Where model files lie. */
  readonly folder: string;
  /** Models of a bundle, checked and opened; none if left out. */
  readonly variants?: readonly VariantModel[] | undefined;
  /** Left out where there is no elsewhere. */
  readonly fetch?: FetchModel | undefined;
}

export class ModelCatalog {
  readonly #folder: ModelFolder;
  readonly #byName: ReadonlyMap<string, VariantModel>;
  readonly #fetch: FetchModel | undefined;

  constructor({ folder, variants = [], fetch }: CatalogOptions) {
    this.#folder = new ModelFolder(folder);
    this.#byName = new Map(variants.map((variant) => [variant.name, variant]));
    this.#fetch = fetch;
  }

  /**
   * Those of the bundle, or of the folder where there is none: what an agent holds from its start.
   */
  async ownNames(): Promise<string[]> {
    return this.#byName.size > 0 ? [...this.#byName.keys()] : this.#folder.names();
  }

  /** Of all that can be loaded without a digest. */
  async names(): Promise<string[]> {
    return [...new Set([...this.#byName.keys(), ...(await this.#folder.names())])];
  }

  /** @throws NoModelError where there is none of the name, or of the digest. */
  async find({ name, sha256 }: AskedModel): Promise<FoundModel> {
    const here = await this.#findHere(name);
    const found = here?.model.sha256 ?? null;
    if (here !== undefined && (sha256 === undefined || sha256 === found)) return here;
    await here?.close();
    if (sha256 !== undefined && this.#fetch !== undefined) {
      const path = await this.#fetch({ name, sha256 });
      if (path !== null) return this.#expected(name, path, sha256);
    }
    if (here === undefined) throw new NoModelError("there is no such model");
    throw new NoModelError(`expected the file of SHA-256 ${sha256}, got ${found ?? "no file"}`);
  }

  async #findHere(name: string): Promise<FoundModel | undefined> {
    const variant = this.#byName.get(name);
    if (variant === undefined) return this.#folder.find(name);
    const model = agentModel(name, variant, variant.opened?.sha256 ?? null);
    return { model, close: async () => {} };
  }

  /** What was fetched, if it is what was asked for. */
  async #expected(name: string, path: string, sha256: string): Promise<FoundModel> {
    const found = await this.#folder.open(name, path);
    if (found.model.sha256 === sha256) return found;
    await found.close();
    throw new NoModelError(`expected the file of SHA-256 ${sha256}, got ${found.model.sha256}`);
  }
}
