/** Compares the machine's means with what the workers of all bundles of a server want. */
import { RuntimeError } from "../base/errors.ts";
import {
  lackOf,
  type Means,
  meansOf,
  sharedCores,
  type WantedWorkers,
} from "../exec/limits/means.ts";

export interface MeansOptions {
  /** Whether to refuse workers that want more than this machine has; default true. */
  readonly meansCheck?: boolean;
  /** Means of the machine; by default detected. */
  readonly means?: () => Means;
}

export class SharedMeans {
  readonly #isChecked: boolean;
  readonly #meansOf: () => Means;
  readonly #wanted: WantedWorkers[] = [];
  readonly #policies = new Set<string>();
  #means: Means | undefined;

  constructor({ meansCheck = true, means = meansOf }: MeansOptions) {
    this.#isChecked = meansCheck;
    this.#meansOf = means;
  }

  /** Means before the first worker was started: those that run must not count twice. */
  get means(): Means {
    this.#means ??= this.#meansOf();
    return this.#means;
  }

  /** Notice for the operator if the workers of all bundles share cores, otherwise null. */
  sharedCores(count: number, threads: number): string | null {
    return this.#isChecked ? sharedCores({ count, threads }, this.means) : null;
  }

  /**
   * Takes the part of a bundle's workers, or of what the server holds for its models.
   * @param policy the bundle, as messages name it.
   * @throws RuntimeError RUNTIME_MEANS
   */
  take(policy: string, wanted: WantedWorkers): void {
    if (!this.#isChecked) return;
    this.#wanted.push(wanted);
    this.#policies.add(policy);
    const lack = lackOf(this.#wanted, this.means);
    if (lack === null) return;
    const policies = [...this.#policies].join(" and ");
    const limits = new Set(this.#wanted.flatMap(({ serverLimit }) => serverLimit ?? []));
    const lower = limits.size === 0 ? "" : `lower the limit ${[...limits].join(" or ")}, `;
    const remedy = `${lower}compile for fewer workers, or serve with --no-means-check`;
    throw new RuntimeError("RUNTIME_MEANS", `${policies}: ${lack}; ${remedy}`);
  }
}
