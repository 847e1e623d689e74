/** Compares the machine's means with what the workers of all bundles of a server want. */
import { RuntimeError } from "../base/errors.ts";
import {
  type FileParts,
  fileLimit,
  filesOf,
  lackOf,
  type Means,
  meansOf,
  sharedCores,
  type WantedWorkers,
} from "../exec/limits/means.ts";
import { Descriptors, SURPLUS_DESCRIPTORS } from "../server/connections/descriptors.ts";

export interface MeansOptions {
  /** Whether to refuse workers that want more than this machine has; default true. */
  readonly meansCheck?: boolean;
  /** Means of the machine; by default detected. */
  readonly means?: () => Means;
}

/** Event loops, listeners, files that are read or written, and a process that is being started. */
const SERVER_FILES = 32;
/** Logs that are opened again, and connections of telemetry. */
const LOG_FILES = 16;
/** Connections and files of a source that is polled. */
const SOURCE_FILES = 4;
/** Least number of connections to serve. */
const LEAST_CONNECTIONS = 64;

interface FileBudget {
  /** Least descriptors of parts other than workers, by their names in messages. */
  readonly parts: FileParts;
  /** Judges connections by the descriptors that they leave to others. */
  readonly descriptors: Descriptors;
}

/** Divides the descriptors of a server that starts. @param limit all that it may have. */
export function fileBudget(
  sourceCount: number,
  maxConnections: number,
  limit = fileLimit(),
): FileBudget {
  const ofSources = sourceCount === 0 ? {} : { sources: SOURCE_FILES * sourceCount };
  const kept = { "the server": SERVER_FILES, logs: LOG_FILES, ...ofSources };
  const descriptors = new Descriptors(limit);
  for (const count of Object.values(kept)) descriptors.keep(count);
  const connections = Math.min(LEAST_CONNECTIONS, maxConnections);
  const parts = { ...kept, connections, "rejected connections": SURPLUS_DESCRIPTORS };
  return { parts, descriptors };
}

export class SharedMeans {
  readonly #isChecked: boolean;
  readonly #meansOf: () => Means;
  readonly #wanted: WantedWorkers[] = [];
  readonly #policies = new Set<string>();
  readonly #budget: FileBudget;
  #means: Means | undefined;

  /** @param budget of a server that starts; left out beside one that runs, which has divided it. */
  constructor(
    { meansCheck = true, means = meansOf }: MeansOptions,
    budget: FileBudget = { parts: {}, descriptors: new Descriptors() },
  ) {
    this.#isChecked = meansCheck;
    this.#meansOf = means;
    this.#budget = budget;
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

  /** Notice if the descriptors limit connections more than the setting does, otherwise null. */
  fewerConnections(maxConnections: number): string | null {
    const { left, most, of } = this.means.files;
    if (most === Number.POSITIVE_INFINITY) {
      return "this system does not report its limit of open files: connections are not held to it";
    }
    const room = left - this.#budget.descriptors.kept;
    if (room >= maxConnections) return null;
    return `room for ${room} connections, not ${maxConnections}: ${of} is ${most} open files`;
  }

  /**
   * Takes the part of a bundle's workers, or of what the server holds for its models.
   * @param policy the bundle, as messages name it.
   * @throws RuntimeError RUNTIME_MEANS
   */
  take(policy: string, wanted: WantedWorkers): void {
    this.#budget.descriptors.keep(filesOf(wanted));
    if (!this.#isChecked) return;
    this.#wanted.push(wanted);
    this.#policies.add(policy);
    const lack = lackOf(this.#wanted, this.means, this.#budget.parts);
    if (lack === null) return;
    const policies = [...this.#policies].join(" and ");
    const limits = new Set(this.#wanted.flatMap(({ serverLimit }) => serverLimit ?? []));
    const lower = limits.size === 0 ? "" : `lower ${[...limits].join(" or ")}, `;
    const remedy = `raise the limit, ${lower}compile for fewer workers, or serve with`;
    throw new RuntimeError("RUNTIME_MEANS", `${policies}: ${lack}; ${remedy} --no-means-check`);
  }
}
