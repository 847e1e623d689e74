/** State that a worker announces every second and whenever it changes. */

interface WorkerModel {
  readonly name: string;
  /** Null if its file was not read yet. */
  readonly sha256: string | null;
  readonly state: "ready" | "loading" | "unavailable";
}

export interface WorkerState {
  /** Unique in the cluster. */
  readonly name: string;
  /** Differs between starts of the worker. */
  readonly session: string;
  /** URL for front ends, such as `http://10.0.0.7:8000`. */
  readonly url: string;
  readonly pool: string;
  readonly cores: number;
  /** Device such as `cpu` or `cuda:0`. */
  readonly device: string;
  /** Execution provider of onnxruntime, such as `cpu`. */
  readonly provider: string;
  readonly models: readonly WorkerModel[];
  /** Whether it takes no more work and is about to stop. */
  readonly isLeaving: boolean;
  /** Highest epoch among the leases it has seen; 0 before the first. */
  readonly epoch: number;
}

const VERSION = 1;
const STATES: readonly WorkerModel["state"][] = ["ready", "loading", "unavailable"];
const MAX_TEXT = 512;
const MAX_MODELS = 4096;
const MAX_CHARACTERS = 2 ** 20;
const DIGEST = /^[0-9a-f]{64}$/;

export function textOfState(state: WorkerState): string {
  return JSON.stringify({ v: VERSION, ...state });
}

/** Decodes a state from an untrusted text. @returns null if invalid. */
export function readState(text: string): WorkerState | null {
  if (text.length > MAX_CHARACTERS) return null;
  const found = recordOf(parsed(text));
  if (found === null || found["v"] !== VERSION) return null;
  const { name, session, url, pool, cores, device, provider, models, isLeaving } = found;
  // Workers of earlier releases do not send it.
  const { epoch = 0 } = found;
  const texts = [name, session, url, pool, device, provider];
  const [nameText, sessionText, urlText, poolText, deviceText, providerText] = texts.map(shortText);
  const modelList = modelsOf(models);
  if (nameText === undefined || sessionText === undefined || poolText === undefined) return null;
  if (urlText === undefined || !isWorkerUrl(urlText) || modelList === null) return null;
  if (deviceText === undefined || providerText === undefined) return null;
  if (typeof cores !== "number" || !(cores > 0) || typeof isLeaving !== "boolean") return null;
  if (typeof epoch !== "number" || !Number.isSafeInteger(epoch) || epoch < 0) return null;
  return {
    ...{ name: nameText, session: sessionText, url: urlText, pool: poolText, cores },
    ...{ device: deviceText, provider: providerText, models: modelList, isLeaving, epoch },
  };
}

function modelsOf(value: unknown): WorkerModel[] | null {
  if (!Array.isArray(value) || value.length > MAX_MODELS) return null;
  const models: WorkerModel[] = [];
  for (const one of value) {
    const found = recordOf(one);
    const name = shortText(found?.["name"]);
    const sha256 = found?.["sha256"] === null ? null : shortText(found?.["sha256"]);
    const state = STATES.find((known) => known === found?.["state"]);
    if (name === undefined || sha256 === undefined || state === undefined) return null;
    if (sha256 !== null && !DIGEST.test(sha256)) return null;
    models.push({ name, sha256, state });
  }
  return models;
}

function isWorkerUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || url.username !== "" || url.password !== "") return false;
  return ["http:", "https:"].includes(url.protocol) && url.host !== "";
}

function shortText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= MAX_TEXT ? value : undefined;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return Object.fromEntries(Object.entries(value));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
