/** gRPC status codes of HTTP statuses, and errors as gRPC clients get them. */
import { status as Code, Metadata, type StatusObject } from "@grpc/grpc-js";
import { reasonText } from "../connections/http-error.ts";
import { httpErrorOf } from "../protocol/refusal.ts";

export type CodeName = keyof typeof Code;

const CODE_BY_STATUS: Readonly<Record<number, CodeName>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  408: "DEADLINE_EXCEEDED",
  409: "FAILED_PRECONDITION",
  413: "RESOURCE_EXHAUSTED",
  415: "INVALID_ARGUMENT",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/** @param httpStatus other than that of an answer. */
export function codeOf(httpStatus: number): CodeName {
  return CODE_BY_STATUS[httpStatus] ?? (httpStatus < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
}

export interface Refusal extends StatusObject {
  readonly name: CodeName;
}

/** Whatever ends a call without an answer. */
export function refusalOf(error: unknown): Refusal {
  const { status, message, headers } = httpErrorOf(error);
  const name = codeOf(status);
  const metadata = new Metadata();
  const retryS = Number(headers["retry-after"]);
  // gRPC's equivalent of Retry-After; clients that retry wait that long.
  if (retryS > 0) metadata.set("grpc-retry-pushback-ms", String(retryS * 1000));
  return { name, code: Code[name], details: reasonText(message), metadata };
}
