/** Triton's model repository extension: lists, loads and unloads models. */
import type { IncomingMessage } from "node:http";
import { readBody } from "../server/bodies/body.ts";
import { SMALL_LIMIT } from "../server/bodies/body-memory.ts";
import { HttpError } from "../server/connections/http-error.ts";
import { type Fields, fieldsOf } from "../server/protocol/infer-request.ts";
import { BadRequest } from "../server/tensors/bad-request.ts";
import type { AgentState } from "./agent-state.ts";
import { LEASE, leaseOf } from "./fence.ts";
import type { AskedLoad } from "./held-models.ts";

const TRITON_STATE = { ready: "READY", loading: "LOADING", unavailable: "UNAVAILABLE" } as const;
const MAX_CORES = 1024;

/**
 * @param path segments after `/v2/repository`. @returns the document. @throws HttpError, BadRequest
 */
export async function repositoryAnswer(
  state: AgentState,
  path: readonly string[],
  request: IncomingMessage,
): Promise<object> {
  const [what, name = "", action] = path;
  const isChange = what === "models" && path.length === 3;
  if (what === "index" && path.length === 1) {
    const asked = await smallJson(state, request);
    return index(state, asked["ready"] === true);
  }
  if (!isChange || (action !== "load" && action !== "unload")) {
    throw new HttpError(404, `no such path: ${request.url}`);
  }
  // A front end whose lease is over must not change the models of the current one.
  state.fence.check(leaseOf(request.headers[LEASE]));
  const asked = await smallJson(state, request);
  try {
    if (action === "load") await state.models.load(askedLoad(name, asked));
    else await state.models.unload(name);
  } catch (error) {
    if (error instanceof BadRequest) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    state.onNotice(`failed to ${action} '${name}', ${reason}`, "warn");
    // Message and status that Triton's clients expect.
    throw new HttpError(400, `failed to ${action} '${name}', ${reason}`);
  }
  return { name, [action]: true };
}

async function index({ models }: AgentState, onlyReady: boolean): Promise<object> {
  const all = await models.list();
  return all
    .filter(({ state }) => state === "ready" || !onlyReady)
    .map(({ name, state, reason }) => ({ name, version: "1", state: TRITON_STATE[state], reason }));
}

/** Values may be strings or numbers, since Triton's clients convert all parameters to strings. */
function askedLoad(name: string, { parameters = {} }: Fields): AskedLoad {
  const { sha256, cores, ...others } = fieldsOf(parameters, "parameters");
  const [other] = Object.keys(others);
  if (other !== undefined) {
    throw new BadRequest(`parameters.${other}`, "expected only sha256 and cores", others[other]);
  }
  return { name, sha256: digestOf(sha256), cores: coresOf(cores) };
}

function digestOf(found: unknown): string | undefined {
  if (found === undefined) return undefined;
  if (typeof found === "string" && /^[0-9a-f]{64}$/.test(found)) return found;
  throw new BadRequest("parameters.sha256", "expected 64 hexadecimal digits", found);
}

function coresOf(found: unknown): number | undefined {
  if (found === undefined) return undefined;
  const cores = /^\d{1,4}$/.test(String(found)) ? Number(found) : 0;
  if (cores >= 1 && cores <= MAX_CORES) return cores;
  throw new BadRequest("parameters.cores", `expected 1 to ${MAX_CORES}`, found);
}

async function smallJson({ pace, budget }: AgentState, request: IncomingMessage): Promise<Fields> {
  const hold = budget.hold();
  const reading = readBody(request, { limit: SMALL_LIMIT, pace, hold });
  const body = await reading.finally(() => hold.release());
  if (body.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    throw new BadRequest("request", "expected a JSON object", `${body.length} bytes`);
  }
  return fieldsOf(value, "request");
}
