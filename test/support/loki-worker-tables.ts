/**
 * Reference for Loki's routing: the rows server by server, as the paper hands them out, where the
 * product keeps one for each group.
 */
import type { PipelineShape } from "stratagem-runtime/internal/core/graph/pipeline-shape";
import type { PlanLayout } from "stratagem-runtime/internal/methods/loki/core/plan-layout";

/**
 * Routing rows by server, as Loki's load balancer hands them out: every server of a group has an
 * equal part of what the group gets.
 */
export interface WorkerTables {
  /** Group of each server of the plan, group by group, [serverCount]. */
  readonly groupByServer: Uint32Array;
  /** Servers of group g are `serverStart[g]` to `serverStart[g + 1] - 1`. */
  readonly serverStart: Uint32Array;
  /**
   * For each entry task, and then for each server and each child of its task: where its row begins
   * in `server` and `probability`.
   */
  readonly rowStart: Uint32Array;
  readonly server: Uint32Array;
  readonly probability: Float64Array;
}

/** Tables of the size that a layout needs, to be filled. @param serversByGroup [groupCount] */
export function workerTablesFor(
  shape: PipelineShape,
  layout: PlanLayout,
  serversByGroup: Uint32Array,
): WorkerTables {
  const { groupCount, groupStart, taskByGroup } = layout;
  const serverStart = new Uint32Array(groupCount + 1);
  for (let group = 0; group < groupCount; group++) {
    serverStart[group + 1] = at(serverStart, group) + at(serversByGroup, group);
  }
  const groupByServer = new Uint32Array(at(serverStart, groupCount));
  for (let group = 0; group < groupCount; group++) {
    groupByServer.fill(group, serverStart[group], serverStart[group + 1]);
  }
  const serversOf = (task: number) =>
    at(serverStart, at(groupStart, task + 1)) - at(serverStart, at(groupStart, task));
  const lengths = Array.from(shape.entryTasks, serversOf);
  for (const group of groupByServer) {
    const task = at(taskByGroup, group);
    for (let edge = at(shape.childStart, task); edge < at(shape.childStart, task + 1); edge++) {
      lengths.push(serversOf(at(shape.childTask, edge)));
    }
  }
  const rowStart = new Uint32Array(lengths.length + 1);
  for (const [row, length] of lengths.entries()) rowStart[row + 1] = at(rowStart, row) + length;
  const server = new Uint32Array(at(rowStart, lengths.length));
  const probability = new Float64Array(server.length);
  return { groupByServer, serverStart, rowStart, server, probability };
}

/** Fills the tables from the layout's group rows. */
export function fillWorkerTables(
  shape: PipelineShape,
  layout: PlanLayout,
  tables: WorkerTables,
): void {
  const { rows, taskByGroup } = layout;
  const { childStart, childTask } = shape;
  let tableRow = 0;
  for (let ordinal = 0; ordinal < shape.entryTasks.length; ordinal++) {
    const row = at(rows.firstRow, rows.groupEntry) + ordinal;
    fillRow(layout, at(shape.entryTasks, ordinal), row, tables, tableRow++);
  }
  const { groupByServer } = tables;
  for (let server = 0; server < groupByServer.length; server++) {
    const group = at(groupByServer, server);
    const task = at(taskByGroup, group);
    for (let edge = at(childStart, task); edge < at(childStart, task + 1); edge++) {
      const row = at(rows.firstRow, rows.firstGroup + group) + edge - at(childStart, task);
      fillRow(layout, at(childTask, edge), row, tables, tableRow++);
    }
  }
}

function fillRow(
  layout: PlanLayout,
  task: number,
  row: number,
  tables: WorkerTables,
  tableRow: number,
): void {
  const { rows, groupStart } = layout;
  const { serverStart, rowStart, server, probability } = tables;
  let entry = at(rows.entryStart, row);
  let next = at(rowStart, tableRow);
  for (let group = at(groupStart, task); group < at(groupStart, task + 1); group++) {
    const begin = at(serverStart, group);
    const end = at(serverStart, group + 1);
    const share = at(rows.probability, entry) / (end - begin);
    for (let worker = begin; worker < end; worker++) {
      server[next] = worker;
      probability[next] = share;
      next++;
    }
    entry++;
  }
}

function at(values: Uint32Array | Float64Array, index: number): number {
  return values[index] ?? Number.NaN;
}
