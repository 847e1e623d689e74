/** What is read of a pod: whether it serves, and which cores it has and is to have. */

/** The fields of a pod that are looked at; the API says more, or less. */
export interface PodObject {
  readonly metadata?: { readonly name?: string; readonly deletionTimestamp?: string };
  readonly spec?: { readonly containers?: readonly ContainerObject[] };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly containerStatuses?: readonly ContainerObject[];
  };
}

interface ContainerObject {
  readonly name?: string;
  readonly resources?: {
    readonly limits?: Readonly<Record<string, string>>;
    readonly requests?: Readonly<Record<string, string>>;
  };
}

interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** How far a resize is: in force, on its way, put off until there is room, or never possible. */
export type Resize = "done" | "under way" | "deferred" | "infeasible";

export interface PodView {
  readonly name: string;
  readonly isReady: boolean;
  /** Of the container, as its limit of cpu says; NaN without a limit. */
  readonly wantedCores: number;
  /** As the kubelet has it in force; NaN where it does not say. */
  readonly cores: number;
  readonly resize: Resize;
  /** Why a resize is put off or impossible. */
  readonly why: string;
}

export function podView({ metadata, spec, status }: PodObject, container: string): PodView {
  const conditions = status?.conditions ?? [];
  const isTrue = (type: string) =>
    conditions.find((one) => one.type === type && one.status === "True");
  const pending = isTrue("PodResizePending");
  const wantedCores = coresOf(spec?.containers, container);
  const cores = coresOf(status?.containerStatuses, container);
  const isOver = pending === undefined && isTrue("PodResizeInProgress") === undefined;
  return {
    name: metadata?.name ?? "",
    isReady: isTrue("Ready") !== undefined && metadata?.deletionTimestamp === undefined,
    wantedCores,
    cores,
    resize: pending !== undefined ? pendingOf(pending) : settled(isOver && cores === wantedCores),
    why: pending?.message ?? "",
  };
}

function pendingOf({ reason }: Condition): Resize {
  return reason === "Infeasible" ? "infeasible" : "deferred";
}

function settled(isDone: boolean): Resize {
  return isDone ? "done" : "under way";
}

function coresOf(containers: readonly ContainerObject[] | undefined, name: string): number {
  const own = containers?.find((one) => one.name === name);
  return cpuOf(own?.resources?.limits?.["cpu"]);
}

/** Cores of a quantity such as 2, 1500m or 0.5; NaN for what is none. */
export function cpuOf(quantity: string | undefined): number {
  if (quantity === undefined) return Number.NaN;
  const isMilli = quantity.endsWith("m");
  const number = isMilli ? quantity.slice(0, -1) : quantity;
  if (number.trim() === "") return Number.NaN;
  return isMilli ? Number(number) / 1000 : Number(number);
}
