/** Which class of queries a request is of, where they do not all have the same SLO. */
import type { SloClass } from "../../bundle/schema.ts";
import { BadRequest } from "../tensors/bad-request.ts";

/** SLO class of a request, and its effects. */
export interface RequestClass {
  /** Index in `slo.classes`, or the bucket; 0 without classes. */
  readonly index: number;
  /** Null without classes. */
  readonly name: string | null;
  readonly sloMs: number;
  /** Sizes of the bucket. Default: no buckets. */
  readonly bucket?: string;
}

/**
 * Finds the SLO class of a request: by the parameter `slo_class`, or by the name of the model in
 * its URL, `<model>.<class>`; without either it is the first class.
 */
export class RequestClasses {
  /** Names of models other than those that leave the class open. */
  readonly modelNames: readonly string[];
  /** Classes in the model's metadata. */
  stated: readonly SloClass[];
  readonly #classes: readonly RequestClass[];
  readonly #indexByModel = new Map<string, number>();

  /**
   * @param modelNames names of the model that leave the class open; such a name keeps this meaning
   * even if it ends like a class.
   */
  constructor(classes: readonly SloClass[], modelNames: readonly string[]) {
    this.stated = classes;
    this.#classes = classes.map(({ name, latencyMs }, index) => {
      return { index, name, sloMs: latencyMs };
    });
    for (const model of modelNames) {
      for (const [index, { name }] of classes.entries()) {
        const own = `${model}.${name}`;
        if (!modelNames.includes(own)) this.#indexByModel.set(own, index);
      }
    }
    this.modelNames = [...this.#indexByModel.keys()];
  }

  /**
   * @param modelName as in the URL. @param asked value of the parameter; undefined without it.
   * @throws BadRequest for an unknown class, or one that differs from that in the URL.
   */
  classOf(modelName: string, asked: string | undefined): RequestClass {
    const named = this.#indexByModel.get(modelName);
    const allowed = named === undefined ? this.#classes : this.#classes.slice(named, named + 1);
    const found = asked === undefined ? allowed[0] : allowed.find(({ name }) => name === asked);
    if (found !== undefined) return found;
    const names = allowed.map(({ name }) => `"${name}"`).join(" or ");
    const whose = named === undefined ? "" : `, the class of model "${modelName}"`;
    throw new BadRequest("parameters.slo_class", `expected ${names}${whose}`, asked);
  }
}

/** @throws BadRequest if the request names a class and the model has none. */
export function requestClass(
  classes: RequestClasses | undefined,
  modelName: string,
  asked: string | undefined,
  sloMs: number,
): RequestClass {
  if (classes !== undefined) return classes.classOf(modelName, asked);
  if (asked === undefined) return { index: 0, name: null, sloMs };
  const expected = "expected nothing: all requests have the same SLO";
  throw new BadRequest("parameters.slo_class", expected, asked);
}
