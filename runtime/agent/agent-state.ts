/** What all routes of an agent share, and what it tells of itself. */
import type { Access } from "../server/access/access.ts";
import type { BodyLimit } from "../server/bodies/body-limits.ts";
import type { ByteBudget } from "../server/bodies/byte-budget.ts";
import type { Connections } from "../server/connections/connections.ts";
import type { PaceLimits } from "../server/connections/pace.ts";
import type { Notice } from "../server/telemetry/notice.ts";
import type { AgentCounts } from "./agent-counts.ts";
import type { Fence } from "./fence.ts";
import type { HeldModels, ToldModel } from "./held-models.ts";
import type { RunIds } from "./run-ids.ts";
import type { Turns } from "./turns.ts";

/** What an agent is, whatever it holds. */
export interface AgentIdentity {
  readonly name: string;
  /** Null where it may be of any. */
  readonly pool: string | null;
  /** Threads of a model's sessions, where nobody says others. */
  readonly cores: number;
  /** Such as `cuda:0`. */
  readonly device: string;
  /** Of onnxruntime. */
  readonly provider: string;
}

/** As `GET /v2/stratagem/worker` has it. */
export interface AgentDocument extends AgentIdentity {
  readonly models: readonly Pick<ToldModel, "name" | "sha256" | "state">[];
  /** Batches that compute. */
  readonly running: 0 | 1;
  /** The highest that a lease had; 0 before the first. */
  readonly epoch: number;
}

export interface AgentState {
  readonly identity: AgentIdentity;
  readonly version: string;
  readonly models: HeldModels;
  readonly turns: Turns;
  readonly ids: RunIds;
  readonly fence: Fence;
  readonly counts: AgentCounts;
  readonly access: Access;
  readonly connections: Connections;
  readonly budget: ByteBudget;
  readonly bodyLimit: BodyLimit;
  readonly pace: PaceLimits;
  readonly nowMs: () => number;
  /** Is added to `nowMs` to have milliseconds since 1970. */
  readonly epochOffsetMs: number;
  readonly onNotice: Notice;
  /** Whether it has loaded what it was to hold from its start, or has failed to. */
  isStarted: boolean;
  /** Whether front ends are to go elsewhere. */
  isStopping: boolean;
}

export function agentDocument({ identity, models, turns, fence }: AgentState): AgentDocument {
  const told = models.wanted.map(({ name, sha256, state }) => ({ name, sha256, state }));
  return { ...identity, models: told, running: turns.isRunning ? 1 : 0, epoch: fence.epoch };
}
