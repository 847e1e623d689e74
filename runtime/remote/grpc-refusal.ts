/** What a gRPC server says in place of an answer, as the status that HTTP has for it. */
import { status as Code, type Metadata, type ServiceError } from "@grpc/grpc-js";
import { oneLine } from "../exec/loaded-model.ts";
import { ServerRefusal } from "./v2-connection.ts";

const STATUS_BY_CODE: Readonly<Partial<Record<Code, number>>> = {
  [Code.INVALID_ARGUMENT]: 400,
  [Code.OUT_OF_RANGE]: 400,
  [Code.UNAUTHENTICATED]: 401,
  [Code.PERMISSION_DENIED]: 403,
  [Code.NOT_FOUND]: 404,
  [Code.FAILED_PRECONDITION]: 409,
  [Code.ABORTED]: 409,
  [Code.ALREADY_EXISTS]: 409,
  [Code.RESOURCE_EXHAUSTED]: 429,
  [Code.UNIMPLEMENTED]: 501,
  [Code.UNAVAILABLE]: 503,
  [Code.DEADLINE_EXCEEDED]: 504,
};

/** What servers say of a model or an extension that they have not; Triton of one unloaded, 503. */
const NOT_THERE = new Set([400, 404, 501, 503]);
/** As grpc-js has it of answers, and servers of requests; no waiting makes them smaller. */
const TOO_LARGE = /larger than max/i;
const MAX_TOLD = 300;

/**
 * Whether the server ended a call, and not this side, which gives up, or finds no connection: a
 * server's own end has the head of an HTTP answer.
 */
export function wasSaid({ metadata }: { readonly metadata?: Metadata }): boolean {
  return metadata !== undefined && metadata.get("content-type").length > 0;
}

export function refusalOf({ code, details }: Pick<ServiceError, "code" | "details">) {
  const words = oneLine(details).slice(0, MAX_TOLD) || "nothing";
  const isTooLarge = code === Code.RESOURCE_EXHAUSTED && TOO_LARGE.test(details);
  return new ServerRefusal(isTooLarge ? 413 : (STATUS_BY_CODE[code] ?? 500), words);
}

export function isNotThere(error: unknown): boolean {
  return error instanceof ServerRefusal && NOT_THERE.has(error.status);
}
