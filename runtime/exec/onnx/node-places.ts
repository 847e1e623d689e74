/** Finds out on what the nodes of a model run, by onnxruntime's profile of one run. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CpuNode, LoadFacts } from "../models/model-facts.ts";
import type { InferenceSession } from "../tensors/onnxruntime.ts";
import { leaveScratch, makeScratch, scratchPaths } from "./scratch-folder.ts";

/** Where the nodes of a model run, as far as it is known. */
export type Places = Pick<LoadFacts, "nodes" | "cpuNodes" | "hasFallback">;

export const NOBODY_LOOKED: Places = { nodes: null, cpuNodes: [], hasFallback: false };

interface NodePlaces {
  /** That ran. */
  readonly nodes: number;
  readonly cpuNodes: readonly CpuNode[];
}

interface WaysToLook {
  /** Runs a batch of zeros, which a stage of a model may refuse. */
  readonly run: () => Promise<unknown>;
  /** Opens the model where every node has to be on the device. */
  readonly openStrictly: () => Promise<Pick<InferenceSession, "release">>;
}

type ProfilingOptions = Pick<
  InferenceSession.SessionOptions,
  "enableProfiling" | "profileFilePrefix"
>;

/** An event of onnxruntime's profile, as far as it is read. */
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
 * The profile of a session's first run, in a private folder that goes with it. Once it has ended,
 * the session is as fast as one that never had it.
 */
export class PlacesProfile {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * @param scratch folders of the worker, as `scratchPaths` names them.
   * @returns null where nothing can be written.
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

  /** For the session to be made. */
  get options(): ProfilingOptions {
    return { enableProfiling: true, profileFilePrefix: join(this.#folder, "run") };
  }

  /** What the session has run until now; null where that cannot be read. */
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

  /** Removes the folder. */
  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
    leaveScratch(dirname(this.#folder));
  }
}

/**
 * Where the nodes of a session run: by its first run; if that is refused, or cannot be written down
 * (no profile), by whether the model opens where nothing may fall back. That says nothing of which
 * nodes these are, and does not look into graphs within the graph, as a run does.
 */
export async function placesOf(
  session: Pick<InferenceSession, "endProfiling">,
  profile: PlacesProfile | null,
  { run, openStrictly }: WaysToLook,
): Promise<Places> {
  const hasRun = await run().then(
    () => true,
    () => false,
  );
  const found = profile?.end(session) ?? null;
  if (found !== null && hasRun) return { ...found, hasFallback: found.cpuNodes.length > 0 };
  try {
    await (await openStrictly()).release();
    return NOBODY_LOOKED;
  } catch {
    return { ...NOBODY_LOOKED, hasFallback: true };
  }
}

/**
 * The nodes that ran, each once however often.
 * @param profile as onnxruntime writes it (1.30): events of the category Node whose names end in
 * `_kernel_time`. @returns null where there is no such event.
 */
export function nodePlaces(profile: unknown): NodePlaces | null {
  if (!Array.isArray(profile)) return null;
  const nodes = new Map<string, CpuNode & { readonly isOnCpu: boolean }>();
  for (const { cat, name, args } of profile as readonly ProfileEvent[]) {
    if (cat !== "Node" || typeof name !== "string" || !name.endsWith(KERNEL_TIME)) continue;
    const own = name.slice(0, -KERNEL_TIME.length);
    // Names are not unique beyond a graph, and the graphs within a graph count anew.
    const key = `${args?.node_index} ${own}`;
    if (nodes.has(key)) continue;
    const isOnCpu = args?.provider === "CPUExecutionProvider";
    nodes.set(key, { name: own, op: String(args?.op_name), isOnCpu });
  }
  if (nodes.size === 0) return null;
  const cpuNodes = [...nodes.values()].filter(({ isOnCpu }) => isOnCpu);
  return { nodes: nodes.size, cpuNodes: cpuNodes.map(({ name, op }) => ({ name, op })) };
}
