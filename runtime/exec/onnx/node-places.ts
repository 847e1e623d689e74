/** Finds the provider that each node of a model runs on, from onnxruntime's profile of one run. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CpuNode, LoadFacts } from "../models/model-facts.ts";
import type { InferenceSession } from "../tensors/onnxruntime.ts";
import { leaveScratch, makeScratch, scratchPaths } from "./scratch-folder.ts";

/** Providers that the nodes of a model run on, as far as known. */
export type Places = Pick<LoadFacts, "nodes" | "cpuNodes" | "hasFallback">;

export const UNKNOWN_PLACES: Places = { nodes: null, cpuNodes: [], hasFallback: false };

interface NodePlaces {
  /** That ran. */
  readonly nodes: number;
  readonly cpuNodes: readonly CpuNode[];
}

interface PlaceChecks {
  /** Runs a batch of zeros, which a stage of a model may refuse. */
  readonly run: () => Promise<unknown>;
  /** Opens the model with a session that requires every node to be on the device. */
  readonly openStrictly: () => Promise<Pick<InferenceSession, "release">>;
}

type ProfilingOptions = Pick<
  InferenceSession.SessionOptions,
  "enableProfiling" | "profileFilePrefix"
>;

/** An event of onnxruntime's profile, with the fields that are read. */
interface ProfileEvent {
  readonly cat?: unknown;
  readonly name?: unknown;
  readonly args?: {
    readonly node_index?: unknown;
    readonly provider?: unknown;
    readonly op_name?: unknown;
  };
}

const KERNEL_TIME = "_kernel_time";

/**
 * Profile of a session's first run, in a private folder that is removed with it. After it has
 * ended, the session is as fast as one without a profile.
 */
export class PlacesProfile {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * @param scratch folders of the worker, as `scratchPaths` names them.
   * @returns null if nothing can be written.
   */
  static begin(scratch: readonly string[] = scratchPaths()): PlacesProfile | null {
    const folder = makeScratch(scratch);
    if (folder === null) return null;
    try {
      return new PlacesProfile(mkdtempSync(join(folder, "nodes-")));
    } catch {
      return null;
    }
  }

  /** Options for the session to open. */
  get options(): ProfilingOptions {
    return { enableProfiling: true, profileFilePrefix: join(this.#folder, "run") };
  }

  /** Returns the nodes that ran until now; null if the profile cannot be read. */
  end(session: Pick<InferenceSession, "endProfiling">): NodePlaces | null {
    session.endProfiling();
    try {
      const [file] = readdirSync(this.#folder);
      return file === undefined
        ? null
        : nodePlaces(JSON.parse(readFileSync(join(this.#folder, file), "utf8")));
    } catch {
      return null;
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
    leaveScratch(dirname(this.#folder));
  }
}

/**
 * Finds where the nodes of a session run: from its first run; if that is refused or has no profile,
 * from whether the model opens with a session that forbids fallback. The latter does not name the
 * nodes, and does not look into subgraphs as a run does.
 */
export async function placesOf(
  session: Pick<InferenceSession, "endProfiling">,
  profile: PlacesProfile | null,
  { run, openStrictly }: PlaceChecks,
): Promise<Places> {
  const hasRun = await run().then(
    () => true,
    () => false,
  );
  const found = profile?.end(session) ?? null;
  if (found !== null && hasRun) return { ...found, hasFallback: found.cpuNodes.length > 0 };
  try {
    await (await openStrictly()).release();
    return UNKNOWN_PLACES;
  } catch {
    return { ...UNKNOWN_PLACES, hasFallback: true };
  }
}

/**
 * Returns the nodes that ran, each once.
 * @param profile as onnxruntime 1.30 writes it: events of the category Node whose names end in
 * `_kernel_time`. @returns null without such an event.
 */
export function nodePlaces(profile: unknown): NodePlaces | null {
  if (!Array.isArray(profile)) return null;
  const nodes = new Map<string, CpuNode & { readonly isOnCpu: boolean }>();
  for (const { cat, name, args } of profile as readonly ProfileEvent[]) {
    if (cat !== "Node" || typeof name !== "string" || !name.endsWith(KERNEL_TIME)) continue;
    const own = name.slice(0, -KERNEL_TIME.length);
    // Names are unique only within a graph, and subgraphs restart the index.
    const key = `${args?.node_index} ${own}`;
    if (nodes.has(key)) continue;
    const isOnCpu = args?.provider === "CPUExecutionProvider";
    nodes.set(key, { name: own, op: String(args?.op_name), isOnCpu });
  }
  if (nodes.size === 0) return null;
  const cpuNodes = [...nodes.values()].filter(({ isOnCpu }) => isOnCpu);
  return { nodes: nodes.size, cpuNodes: cpuNodes.map(({ name, op }) => ({ name, op })) };
}
