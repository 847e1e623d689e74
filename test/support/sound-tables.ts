/** What a runtime relies on in a bundle of tables, and what it does with one. */
import type { RamsisBundle, Table } from "../../runtime/bundle/schema.ts";
import { CommandBuffer } from "../../runtime/core/command-buffer.ts";
import { PolicyTable } from "../../runtime/core/policy-table.ts";
import { PooledDispatcher } from "../../runtime/methods/ramsis/core/pooled-dispatcher.ts";
import { allFinite } from "./all-finite.ts";

/** Everything the runtime relies on, spelled out without the validator. */
export function checkTablesInRange(bundle: RamsisBundle): void {
  const { decisionSpace, levels, tasks, slo } = bundle;
  const problems: string[] = [];
  const require = (holds: boolean, what: string): void => {
    if (!holds) problems.push(what);
  };
  const fits = ({ shape, data }: Table) => shape.reduce((a, b) => a * b, 1) === data.length;
  const rows = decisionSpace.maxQueue + 1;
  const slacks = decisionSpace.slackMs.data;
  const actions = decisionSpace.actions.data;
  const [task] = tasks;
  const service = task?.serviceTimes.decisionMs;
  require(tasks.length === 1 && levels.length >= 1, "one task, some levels");
  require(fits(decisionSpace.actions) && decisionSpace.actions.shape[1] === 2, "action pairs");
  require(service !== undefined && fits(service), "service times");
  require(service?.data.every((ms) => ms > 0 && ms < Number.POSITIVE_INFINITY) === true, "times");
  require(slacks[0] === 0 && slacks[slacks.length - 1] === slo.latencyMs, "slack ends");
  require(slacks.every((ms, i) => i === 0 || ms > (slacks[i - 1] ?? 0)), "slacks ascend");
  for (let action = 0; action < actions.length / 2; action++) {
    require((actions[2 * action] ?? 99) < (task?.variants.length ?? 0), "variant");
    const batch = actions[2 * action + 1] ?? 0;
    require(batch >= 1 && batch <= (service?.shape[1] ?? 0), "batch");
  }
  for (const { actionByState, loadQps } of levels) {
    require(loadQps > 0 && Number.isFinite(loadQps), "load");
    require(fits(actionByState) && actionByState.data.length === rows * slacks.length, "states");
    actionByState.data.forEach((action, cell) => {
      const batch = actions[2 * action + 1] ?? 0;
      const queued = Math.floor(cell / slacks.length) + 1;
      require(batch >= 1 && batch <= queued, "batch of a state");
      require(queued === rows || batch === queued, "maximal batch");
    });
  }
  require(allFinite(bundle), "finite numbers");
  if (problems.length > 0) throw new Error(`accepted, but wrong: ${problems}`);
}

/** Looks every state up, as a driver would. */
export function driveLookups(bundle: RamsisBundle): void {
  const table = PolicyTable.fromBundle(bundle);
  const slacks = [-1, ...bundle.decisionSpace.slackMs.data, bundle.slo.latencyMs + 1];
  const variantCount = bundle.tasks[0]?.variants.length ?? 0;
  for (let level = 0; level < bundle.levels.length; level++) {
    for (let queued = 1; queued <= table.queueCapacity + 1; queued++) {
      for (const slackMs of slacks) {
        const action = table.lookup(level, queued, slackMs);
        const batch = table.batch(action);
        if (!(table.variant(action) < variantCount && batch >= 1 && batch <= queued)) {
          throw new Error(`level ${level}, queued ${queued}, slack ${slackMs}: action ${action}`);
        }
      }
    }
  }
}

/** A few queries of each class, or bucket. */
export function driveClasses(bundle: RamsisBundle): void {
  const { classes = [], latencyMs } = bundle.slo;
  const dispatcher = new PooledDispatcher(bundle, true);
  const out = new CommandBuffer(dispatcher.commandCapacity, dispatcher.waitingCapacity);
  for (let query = 0; query < 12; query++) {
    const sloMs = classes[query % 2]?.latencyMs ?? latencyMs;
    dispatcher.onArrival(query, 20 * query + sloMs, 20 * query, out, query % 2);
    if (dispatcher.wakeMs < 20 * query + 20) dispatcher.onWake(20 * query + 20, out);
  }
}
