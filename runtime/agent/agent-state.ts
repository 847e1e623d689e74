/** What all routes of an agent share, and what it tells of itself. */
import type { Notice } from "../base/notice.ts";
import { AUTO } from "../exec/limits/first-provider.ts";
import { deviceText } from "../exec/models/worker-device.ts";
import type { Access } from "../server/access/access.ts";
import type { PaceLimits } from "../server/bodies/body.ts";
import type { BodyLimit, ByteBudget } from "../server/bodies/body-memory.ts";
import type { Connections } from "../server/connections/connections.ts";
import type { AgentCounts } from "./agent-counts.ts";
import type { DeviceChoice } from "./device-choice.ts";
import type { Fence } from "./fence.ts";
import type { HeldModels, ToldModel } from "./held-models.ts";
import type { KeptValues } from "./kept-values.ts";
import type { RunIds } from "./run-ids.ts";
import type { Turns } from "./turns.ts";

/** What an agent is, whatever it holds. */
interface AgentIdentity {
  readonly name: string;
  /** Null where it may be of any. */
  readonly pool: string | null;
  /** Threads of a model's sessions, where nobody says others. */
  readonly cores: number;
}

/** As `GET /v2/stratagem/worker` has it. */
export interface AgentDocument extends AgentIdentity {
  /** Such as `cuda:0`; `auto` before it is known. */
  readonly device: string;
  /** Of onnxruntime. */
  readonly provider: string;
  readonly models: readonly Pick<ToldModel, "name" | "sha256" | "state">[];
  /** Batches that compute. */
  readonly running: 0 | 1;
  /** The highest that a lease had; 0 before the first. */
  readonly epoch: number;
}

export interface AgentState {
  readonly identity: AgentIdentity;
  readonly devices: DeviceChoice;
  readonly version: string;
  readonly models: HeldModels;
  readonly turns: Turns;
  readonly ids: RunIds;
  readonly fence: Fence;
  readonly values: KeptValues;
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

export function agentDocument(state: AgentState): AgentDocument {
  const { identity, models, turns, fence, devices } = state;
  const found = devices.device;
  const device = found === null ? AUTO : deviceText(found);
  const on = { device, provider: found?.provider ?? AUTO };
  const told = models.wanted.map(({ name, sha256, state }) => ({ name, sha256, state }));
  const running = turns.isRunning ? 1 : 0;
  return { ...identity, ...on, models: told, running, epoch: fence.epoch };
}
