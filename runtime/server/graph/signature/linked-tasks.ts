/** What a bundle says of its tasks that matters to their tensors, whatever the method. */
import type {
  Feed,
  InferlineBundle,
  LokiBundle,
  StageEdge,
  ThemisBundle,
} from "../../../bundle/schema.ts";
import type { ModelVariant } from "../../tensors/signature.ts";
import { visitsOf } from "./sure-visits.ts";

/** Bundles of pipelines, all of whose tasks one server runs. */
export type PipelineBundle = LokiBundle | InferlineBundle | ThemisBundle;

export interface LinkedTask {
  readonly name: string;
  readonly variants: readonly ModelVariant[];
  /** Edges that lead here, by ascending parent. */
  readonly edges: readonly LinkedEdge[];
  /**
   * Whether a row visits the task once at most, unless the edge says otherwise, instead of becoming
   * any number of queries.
   */
  readonly isVisited: boolean;
  /**
   * Whether a client needs to be told which rows were here: not where all are, and only if it asks
   * where it can tell by counts.
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

/** Of a graph whose tasks a row visits or does not. */
function visitedTasks(bundle: InferlineBundle | ThemisBundle): LinkedTask[] {
  const visits = visitsOf(bundle);
  return bundle.tasks.map(({ name, variants, edges }, task) => {
    const { isSure = false, isTold = false } = visits[task] ?? {};
    const rowsOutput = isSure ? "none" : isTold ? "internal" : "shown";
    return { name, variants, edges, isVisited: true, rowsOutput };
  });
}
