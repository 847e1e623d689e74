// @generated: messages of grpc.health.v1, from proto/health.proto.
// SPDX-License-Identifier: Apache-2.0, copyright 2015 the gRPC authors.
//
// Made by protoc-gen-es 2.17.0 with target=ts. Changed after that: enums became constant objects,
// which erasable TypeScript needs, and the comments that repeat each field were taken out.

import type { Message } from "@bufbuild/protobuf";
import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";

/**
 * Describes the file health.proto.
 */
export const file_health: GenFile =
  /*@__PURE__*/
  fileDesc(
    "CgxoZWFsdGgucHJvdG8SDmdycGMuaGVhbHRoLnYxIhMKEUhlYWx0aExpc3RSZXF1ZXN0Iq4BChJIZWFsdGhMaXN0UmVzcG9uc2USQgoIc3RhdHVzZXMYASADKAsyMC5ncnBjLmhlYWx0aC52MS5IZWFsdGhMaXN0UmVzcG9uc2UuU3RhdHVzZXNFbnRyeRpUCg1TdGF0dXNlc0VudHJ5EgsKA2tleRgBIAEoCRIyCgV2YWx1ZRgCIAEoCzIjLmdycGMuaGVhbHRoLnYxLkhlYWx0aENoZWNrUmVzcG9uc2U6AjgBIiUKEkhlYWx0aENoZWNrUmVxdWVzdBIPCgdzZXJ2aWNlGAEgASgJIqkBChNIZWFsdGhDaGVja1Jlc3BvbnNlEkEKBnN0YXR1cxgBIAEoDjIxLmdycGMuaGVhbHRoLnYxLkhlYWx0aENoZWNrUmVzcG9uc2UuU2VydmluZ1N0YXR1cyJPCg1TZXJ2aW5nU3RhdHVzEgsKB1VOS05PV04QABILCgdTRVJWSU5HEAESDwoLTk9UX1NFUlZJTkcQAhITCg9TRVJWSUNFX1VOS05PV04QAzL9AQoGSGVhbHRoElAKBUNoZWNrEiIuZ3JwYy5oZWFsdGgudjEuSGVhbHRoQ2hlY2tSZXF1ZXN0GiMuZ3JwYy5oZWFsdGgudjEuSGVhbHRoQ2hlY2tSZXNwb25zZRJSCgVXYXRjaBIiLmdycGMuaGVhbHRoLnYxLkhlYWx0aENoZWNrUmVxdWVzdBojLmdycGMuaGVhbHRoLnYxLkhlYWx0aENoZWNrUmVzcG9uc2UwARJNCgRMaXN0EiEuZ3JwYy5oZWFsdGgudjEuSGVhbHRoTGlzdFJlcXVlc3QaIi5ncnBjLmhlYWx0aC52MS5IZWFsdGhMaXN0UmVzcG9uc2VCYQoRaW8uZ3JwYy5oZWFsdGgudjFCC0hlYWx0aFByb3RvUAFaLGdvb2dsZS5nb2xhbmcub3JnL2dycGMvaGVhbHRoL2dycGNfaGVhbHRoX3YxqgIOR3JwYy5IZWFsdGguVjFiBnByb3RvMw",
  );

/**
 * @generated from message grpc.health.v1.HealthListRequest
 */
export type HealthListRequest = Message<"grpc.health.v1.HealthListRequest">;

/**
 * Describes the message grpc.health.v1.HealthListRequest.
 * Use `create(HealthListRequestSchema)` to create a new message.
 */
export const HealthListRequestSchema: GenMessage<HealthListRequest> =
  /*@__PURE__*/
  messageDesc(file_health, 0);

/**
 * @generated from message grpc.health.v1.HealthListResponse
 */
export type HealthListResponse = Message<"grpc.health.v1.HealthListResponse"> & {
  statuses: { [key: string]: HealthCheckResponse };
};

/**
 * Describes the message grpc.health.v1.HealthListResponse.
 * Use `create(HealthListResponseSchema)` to create a new message.
 */
export const HealthListResponseSchema: GenMessage<HealthListResponse> =
  /*@__PURE__*/
  messageDesc(file_health, 1);

/**
 * @generated from message grpc.health.v1.HealthCheckRequest
 */
export type HealthCheckRequest = Message<"grpc.health.v1.HealthCheckRequest"> & {
  service: string;
};

/**
 * Describes the message grpc.health.v1.HealthCheckRequest.
 * Use `create(HealthCheckRequestSchema)` to create a new message.
 */
export const HealthCheckRequestSchema: GenMessage<HealthCheckRequest> =
  /*@__PURE__*/
  messageDesc(file_health, 2);

/**
 * @generated from message grpc.health.v1.HealthCheckResponse
 */
export type HealthCheckResponse = Message<"grpc.health.v1.HealthCheckResponse"> & {
  status: HealthCheckResponse_ServingStatus;
};

/**
 * Describes the message grpc.health.v1.HealthCheckResponse.
 * Use `create(HealthCheckResponseSchema)` to create a new message.
 */
export const HealthCheckResponseSchema: GenMessage<HealthCheckResponse> =
  /*@__PURE__*/
  messageDesc(file_health, 3);

/**
 * @generated from enum grpc.health.v1.HealthCheckResponse.ServingStatus
 */
export const HealthCheckResponse_ServingStatus = {
  UNKNOWN: 0,
  SERVING: 1,
  NOT_SERVING: 2,
  SERVICE_UNKNOWN: 3,
} as const;
export type HealthCheckResponse_ServingStatus =
  (typeof HealthCheckResponse_ServingStatus)[keyof typeof HealthCheckResponse_ServingStatus];

/**
 * Describes the enum grpc.health.v1.HealthCheckResponse.ServingStatus.
 */
export const HealthCheckResponse_ServingStatusSchema: GenEnum<HealthCheckResponse_ServingStatus> =
  /*@__PURE__*/
  enumDesc(file_health, 3, 0);

/**
 * Health is gRPC's mechanism for checking whether a server is able to handle
 * RPCs. Its semantics are documented in
 * https://github.com/grpc/grpc/blob/master/doc/health-checking.md.
 *
 * @generated from service grpc.health.v1.Health
 */
export const Health: GenService<{
  check: {
    methodKind: "unary";
    input: typeof HealthCheckRequestSchema;
    output: typeof HealthCheckResponseSchema;
  };
  watch: {
    methodKind: "server_streaming";
    input: typeof HealthCheckRequestSchema;
    output: typeof HealthCheckResponseSchema;
  };
  list: {
    methodKind: "unary";
    input: typeof HealthListRequestSchema;
    output: typeof HealthListResponseSchema;
  };
}> = /*@__PURE__*/ serviceDesc(file_health, 0);
