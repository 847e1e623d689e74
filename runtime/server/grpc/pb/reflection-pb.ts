// @generated: messages of grpc.reflection.v1, from proto/reflection.proto.
// SPDX-License-Identifier: Apache-2.0, copyright 2016 the gRPC authors.
//
// Made by protoc-gen-es 2.17.0 with target=ts. Changed after that: enums became constant objects,
// which erasable TypeScript needs, and the comments that repeat each field were taken out.

import type { Message } from "@bufbuild/protobuf";
import type { GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import { fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";

/**
 * Describes the file reflection.proto.
 */
export const file_reflection: GenFile =
  /*@__PURE__*/
  fileDesc(
    "ChByZWZsZWN0aW9uLnByb3RvEhJncnBjLnJlZmxlY3Rpb24udjEihQIKF1NlcnZlclJlZmxlY3Rpb25SZXF1ZXN0EgwKBGhvc3QYASABKAkSGgoQZmlsZV9ieV9maWxlbmFtZRgDIAEoCUgAEiAKFmZpbGVfY29udGFpbmluZ19zeW1ib2wYBCABKAlIABJJChlmaWxlX2NvbnRhaW5pbmdfZXh0ZW5zaW9uGAUgASgLMiQuZ3JwYy5yZWZsZWN0aW9uLnYxLkV4dGVuc2lvblJlcXVlc3RIABInCh1hbGxfZXh0ZW5zaW9uX251bWJlcnNfb2ZfdHlwZRgGIAEoCUgAEhcKDWxpc3Rfc2VydmljZXMYByABKAlIAEIRCg9tZXNzYWdlX3JlcXVlc3QiRQoQRXh0ZW5zaW9uUmVxdWVzdBIXCg9jb250YWluaW5nX3R5cGUYASABKAkSGAoQZXh0ZW5zaW9uX251bWJlchgCIAEoBSK4AwoYU2VydmVyUmVmbGVjdGlvblJlc3BvbnNlEhIKCnZhbGlkX2hvc3QYASABKAkSRQoQb3JpZ2luYWxfcmVxdWVzdBgCIAEoCzIrLmdycGMucmVmbGVjdGlvbi52MS5TZXJ2ZXJSZWZsZWN0aW9uUmVxdWVzdBJOChhmaWxlX2Rlc2NyaXB0b3JfcmVzcG9uc2UYBCABKAsyKi5ncnBjLnJlZmxlY3Rpb24udjEuRmlsZURlc2NyaXB0b3JSZXNwb25zZUgAElUKHmFsbF9leHRlbnNpb25fbnVtYmVyc19yZXNwb25zZRgFIAEoCzIrLmdycGMucmVmbGVjdGlvbi52MS5FeHRlbnNpb25OdW1iZXJSZXNwb25zZUgAEkkKFmxpc3Rfc2VydmljZXNfcmVzcG9uc2UYBiABKAsyJy5ncnBjLnJlZmxlY3Rpb24udjEuTGlzdFNlcnZpY2VSZXNwb25zZUgAEjsKDmVycm9yX3Jlc3BvbnNlGAcgASgLMiEuZ3JwYy5yZWZsZWN0aW9uLnYxLkVycm9yUmVzcG9uc2VIAEISChBtZXNzYWdlX3Jlc3BvbnNlIjcKFkZpbGVEZXNjcmlwdG9yUmVzcG9uc2USHQoVZmlsZV9kZXNjcmlwdG9yX3Byb3RvGAEgAygMIksKF0V4dGVuc2lvbk51bWJlclJlc3BvbnNlEhYKDmJhc2VfdHlwZV9uYW1lGAEgASgJEhgKEGV4dGVuc2lvbl9udW1iZXIYAiADKAUiSwoTTGlzdFNlcnZpY2VSZXNwb25zZRI0CgdzZXJ2aWNlGAEgAygLMiMuZ3JwYy5yZWZsZWN0aW9uLnYxLlNlcnZpY2VSZXNwb25zZSIfCg9TZXJ2aWNlUmVzcG9uc2USDAoEbmFtZRgBIAEoCSI6Cg1FcnJvclJlc3BvbnNlEhIKCmVycm9yX2NvZGUYASABKAUSFQoNZXJyb3JfbWVzc2FnZRgCIAEoCTKJAQoQU2VydmVyUmVmbGVjdGlvbhJ1ChRTZXJ2ZXJSZWZsZWN0aW9uSW5mbxIrLmdycGMucmVmbGVjdGlvbi52MS5TZXJ2ZXJSZWZsZWN0aW9uUmVxdWVzdBosLmdycGMucmVmbGVjdGlvbi52MS5TZXJ2ZXJSZWZsZWN0aW9uUmVzcG9uc2UoATABQmYKFWlvLmdycGMucmVmbGVjdGlvbi52MUIVU2VydmVyUmVmbGVjdGlvblByb3RvUAFaNGdvb2dsZS5nb2xhbmcub3JnL2dycGMvcmVmbGVjdGlvbi9ncnBjX3JlZmxlY3Rpb25fdjFiBnByb3RvMw",
  );

/**
 * The message sent by the client when calling ServerReflectionInfo method.
 *
 * @generated from message grpc.reflection.v1.ServerReflectionRequest
 */
export type ServerReflectionRequest = Message<"grpc.reflection.v1.ServerReflectionRequest"> & {
  host: string;

  messageRequest:
    | {
        value: string;
        case: "fileByFilename";
      }
    | {
        value: string;
        case: "fileContainingSymbol";
      }
    | {
        value: ExtensionRequest;
        case: "fileContainingExtension";
      }
    | {
        value: string;
        case: "allExtensionNumbersOfType";
      }
    | {
        value: string;
        case: "listServices";
      }
    | { case: undefined; value?: undefined };
};

/**
 * Describes the message grpc.reflection.v1.ServerReflectionRequest.
 * Use `create(ServerReflectionRequestSchema)` to create a new message.
 */
export const ServerReflectionRequestSchema: GenMessage<ServerReflectionRequest> =
  /*@__PURE__*/
  messageDesc(file_reflection, 0);

/**
 * The type name and extension number sent by the client when requesting
 * file_containing_extension.
 *
 * @generated from message grpc.reflection.v1.ExtensionRequest
 */
export type ExtensionRequest = Message<"grpc.reflection.v1.ExtensionRequest"> & {
  containingType: string;

  extensionNumber: number;
};

/**
 * Describes the message grpc.reflection.v1.ExtensionRequest.
 * Use `create(ExtensionRequestSchema)` to create a new message.
 */
export const ExtensionRequestSchema: GenMessage<ExtensionRequest> =
  /*@__PURE__*/
  messageDesc(file_reflection, 1);

/**
 * The message sent by the server to answer ServerReflectionInfo method.
 *
 * @generated from message grpc.reflection.v1.ServerReflectionResponse
 */
export type ServerReflectionResponse = Message<"grpc.reflection.v1.ServerReflectionResponse"> & {
  validHost: string;

  originalRequest?: ServerReflectionRequest | undefined;

  messageResponse:
    | {
        value: FileDescriptorResponse;
        case: "fileDescriptorResponse";
      }
    | {
        value: ExtensionNumberResponse;
        case: "allExtensionNumbersResponse";
      }
    | {
        value: ListServiceResponse;
        case: "listServicesResponse";
      }
    | {
        value: ErrorResponse;
        case: "errorResponse";
      }
    | { case: undefined; value?: undefined };
};

/**
 * Describes the message grpc.reflection.v1.ServerReflectionResponse.
 * Use `create(ServerReflectionResponseSchema)` to create a new message.
 */
export const ServerReflectionResponseSchema: GenMessage<ServerReflectionResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection, 2);

/**
 * Serialized FileDescriptorProto messages sent by the server answering
 * a file_by_filename, file_containing_symbol, or file_containing_extension
 * request.
 *
 * @generated from message grpc.reflection.v1.FileDescriptorResponse
 */
export type FileDescriptorResponse = Message<"grpc.reflection.v1.FileDescriptorResponse"> & {
  fileDescriptorProto: Uint8Array[];
};

/**
 * Describes the message grpc.reflection.v1.FileDescriptorResponse.
 * Use `create(FileDescriptorResponseSchema)` to create a new message.
 */
export const FileDescriptorResponseSchema: GenMessage<FileDescriptorResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection, 3);

/**
 * A list of extension numbers sent by the server answering
 * all_extension_numbers_of_type request.
 *
 * @generated from message grpc.reflection.v1.ExtensionNumberResponse
 */
export type ExtensionNumberResponse = Message<"grpc.reflection.v1.ExtensionNumberResponse"> & {
  baseTypeName: string;

  extensionNumber: number[];
};

/**
 * Describes the message grpc.reflection.v1.ExtensionNumberResponse.
 * Use `create(ExtensionNumberResponseSchema)` to create a new message.
 */
export const ExtensionNumberResponseSchema: GenMessage<ExtensionNumberResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection, 4);

/**
 * A list of ServiceResponse sent by the server answering list_services request.
 *
 * @generated from message grpc.reflection.v1.ListServiceResponse
 */
export type ListServiceResponse = Message<"grpc.reflection.v1.ListServiceResponse"> & {
  service: ServiceResponse[];
};

/**
 * Describes the message grpc.reflection.v1.ListServiceResponse.
 * Use `create(ListServiceResponseSchema)` to create a new message.
 */
export const ListServiceResponseSchema: GenMessage<ListServiceResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection, 5);

/**
 * The information of a single service used by ListServiceResponse to answer
 * list_services request.
 *
 * @generated from message grpc.reflection.v1.ServiceResponse
 */
export type ServiceResponse = Message<"grpc.reflection.v1.ServiceResponse"> & {
  name: string;
};

/**
 * Describes the message grpc.reflection.v1.ServiceResponse.
 * Use `create(ServiceResponseSchema)` to create a new message.
 */
export const ServiceResponseSchema: GenMessage<ServiceResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection, 6);

/**
 * The error code and error message sent by the server when an error occurs.
 *
 * @generated from message grpc.reflection.v1.ErrorResponse
 */
export type ErrorResponse = Message<"grpc.reflection.v1.ErrorResponse"> & {
  errorCode: number;

  errorMessage: string;
};

/**
 * Describes the message grpc.reflection.v1.ErrorResponse.
 * Use `create(ErrorResponseSchema)` to create a new message.
 */
export const ErrorResponseSchema: GenMessage<ErrorResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection, 7);

/**
 * @generated from service grpc.reflection.v1.ServerReflection
 */
export const ServerReflection: GenService<{
  serverReflectionInfo: {
    methodKind: "bidi_streaming";
    input: typeof ServerReflectionRequestSchema;
    output: typeof ServerReflectionResponseSchema;
  };
}> = /*@__PURE__*/ serviceDesc(file_reflection, 0);
