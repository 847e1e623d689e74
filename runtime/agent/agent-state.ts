/** State shared by all routes of an agent, and its description. */
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
import type { HeldModels, ModelStatus } from "./held-models.ts";
import type { KeptValues } from "./kept-values.ts";
import type { RunIds } from "./run-ids.ts";
import type { Turns } from "./turns.ts";
import type { Peers } from "./value-source.ts";

interface AgentIdentity {
  readonly name: string;
  /** Null for any pool. */
  readonly pool: string | null;
  /** Threads of a model's sessions, unless the load request states others. */
  readonly cores: number;
}

/** Answer of `GET /v2/stratagem/worker`. */
export interface AgentDocument extends AgentIdentity {
  /** Device, such as `cuda:0`; `auto` before it is known. */
  readonly device: string;
  /** Provider of onnxruntime. */
  readonly provider: string;
  readonly models: readonly Pick<ModelStatus, "name" | "sha256" | "state">[];
  /** Batches being computed. */
  readonly running: 0 | 1;
  /** Highest epoch of any lease; 0 before the first. */
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
  /** Null for none. */
  readonly peers: Peers | null;
  readonly counts: AgentCounts;
  readonly access: Access;
  readonly connections: Connections;
  readonly budget: ByteBudget;
  readonly bodyLimit: BodyLimit;
  readonly pace: PaceLimits;
  readonly nowMs: () => number;
  /** Added to `nowMs` it gives milliseconds since 1970. */
  readonly epochOffsetMs: number;
  readonly onNotice: Notice;
  /** Whether the models of its start have been loaded, or have failed. */
  isStarted: boolean;
  /** Whether it is stopping, so that front ends use other workers. */
  isStopping: boolean;
}

export function agentDocument(state: AgentState): AgentDocument {
  const { identity, models, turns, fence, devices } = state;
  const found = devices.device;
  const device = found === null ? AUTO : deviceText(found);
  const on = { device, provider: found?.provider ?? AUTO };
  const held = models.wanted.map(({ name, sha256, state }) => ({ name, sha256, state }));
  const running = turns.isRunning ? 1 : 0;
  return { ...identity, ...on, models: held, running, epoch: fence.epoch };
}
