/** Edges of a chain of tasks, which also pass on tensors that later tasks take. */
import { InputError } from "../spec/document/input-error.ts";
import { show } from "../spec/document/mistakes.ts";
import { isSameSource, type Source } from "./chain.ts";
import type { InitTask } from "./read-tasks.ts";

/** The edge from a task to the next. */
export interface InitEdge {
  /** Output, or input, of the task for each input of the next. */
  readonly inputs: Readonly<Record<string, string>>;
  readonly count: string | null;
  /** Choices to check. */
  readonly notes: readonly string[];
}

export function edgesOf(tasks: readonly InitTask[]): InitEdge[] {
  const inputsByTask = tasks.map((): Record<string, string> => ({}));
  const notesByTask = tasks.map((): string[] => []);
  for (const [to, { feeds, count }] of tasks.entries()) {
    for (const { input, source, others } of feeds) {
      let name = nameAtStart(tasks, source);
      for (let task = Math.max(source.task, 0) + 1; task <= to; task++) {
        const inputs = inputsByTask[task] ?? {};
        const next = task === to ? input : passedName(tasks[task], source, inputs, name);
        inputs[next] = name;
        name = next;
      }
      notesByTask[to]?.push(...noteOf(input, source.tensor.name, others));
    }
    notesByTask[to]?.push(...noteOf("count", count?.count ?? "", count?.others ?? []));
  }
  return tasks.slice(1).map(({ count }, index) => ({
    inputs: inputsByTask[index + 1] ?? {},
    count: count?.count ?? null,
    notes: notesByTask[index + 1] ?? [],
  }));
}

/** @throws InputError for an input of requests that an output of the first task hides. */
function nameAtStart([first]: readonly InitTask[], { task, tensor }: Source): string {
  const { name } = tensor;
  if (task >= 0 || first?.outputs.every((output) => output.name !== name)) return name;
  const message =
    `task ${show(first?.name)} has an input and an output ${show(name)}, so it cannot pass the ` +
    "input on; expected another name";
  throw new InputError("INPUT_CONFLICT", message);
}

/** Name of a tensor at a task that passes it on: that of its own input, or a free one. */
function passedName(
  task: InitTask | undefined,
  source: Source,
  inputs: Readonly<Record<string, string>>,
  given: string,
): string {
  const { inputs: own = [], outputs = [], feeds = [] } = task ?? {};
  const taken = new Set([...own, ...outputs].map((tensor) => tensor.name));
  const input = feeds.find((fed) => isSameSource(fed.source, source))?.input;
  if (input !== undefined && outputs.every((output) => output.name !== input)) return input;
  let name = source.tensor.name;
  const isFree = () => !taken.has(name) && (inputs[name] ?? given) === given;
  while (!isFree()) name += "_passed";
  return name;
}

function noteOf(input: string, name: string, others: readonly string[]): string[] {
  if (others.length === 0) return [];
  return [`check: ${input} may also be ${others.join(" or ")} instead of ${name}`];
}
