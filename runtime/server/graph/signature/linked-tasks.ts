/** Parts of a bundle's tasks that determine their tensors, for all methods. */
import type {
  Feed,
  InferlineBundle,
  LokiBundle,
  StageEdge,
  ThemisBundle,
} from "../../../bundle/schema.ts";
import type { ModelVariant } from "../../tensors/signature.ts";
import { visitsOf } from "./sure-visits.ts";

/** Bundles of pipelines whose tasks all run on one server. */
export type PipelineBundle = LokiBundle | InferlineBundle | ThemisBundle;

export interface LinkedTask {
  readonly name: string;
  readonly variants: readonly ModelVariant[];
  /** Edges that lead here, by ascending parent. */
  readonly edges: readonly LinkedEdge[];
  /**
   * Whether a row visits the task at most once, unless the edge is a fan-out, instead of becoming
   * any number of queries.
   */
  readonly isVisited: boolean;
  /**
   * Whether a client needs the output that names the rows that reached the task. It does not need
   * it where all rows do; where counts show them, it gets it on request only.
   */
  readonly rowsOutput: "none" | "internal" | "shown";
}

interface LinkedEdge extends Pick<StageEdge, "fanout" | "gather"> {
  /** Null for the requests. */
  readonly parent: number | null;
  readonly share: number;
  readonly feed: Feed | null;
}

export function linkedTasks(bundle: PipelineBundle): LinkedTask[] {
  return "entryBranch" in bundle ? visitedTasks(bundle) : treeTasks(bundle);
}

/** Links the tasks of a tree, where a query of a task becomes any number of queries of the next. */
function treeTasks({ tasks }: LokiBundle): LinkedTask[] {
  return tasks.map(({ name, variants, parent, entryShare, feed }) => {
    const edges = [{ parent, share: entryShare, feed }];
    return { name, variants, edges, isVisited: false, rowsOutput: "none" };
  });
}

/** Returns the tasks of a graph in which a row visits a task or skips it. */
function visitedTasks(bundle: InferlineBundle | ThemisBundle): LinkedTask[] {
  const visits = visitsOf(bundle);
  return bundle.tasks.map(({ name, variants, edges }, task) => {
    const { isSure = false, isDerivable = false } = visits[task] ?? {};
    const rowsOutput = isSure ? "none" : isDerivable ? "internal" : "shown";
    return { name, variants, edges, isVisited: true, rowsOutput };
  });
}
