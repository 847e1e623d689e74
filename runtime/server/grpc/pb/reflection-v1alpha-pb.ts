// @generated: messages of grpc.reflection.v1alpha, from proto/reflection-v1alpha.proto.
// SPDX-License-Identifier: Apache-2.0, copyright 2016 the gRPC authors.
//
// Made by protoc-gen-es 2.17.0 with target=ts. Changed after that: enums became constant objects,
// which erasable TypeScript needs, and the comments that repeat each field were taken out.

import type { Message } from "@bufbuild/protobuf";
import type { GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import { fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";

/**
 * Describes the file reflection-v1alpha.proto.
 */
export const file_reflection_v1alpha: GenFile =
  /*@__PURE__*/
  fileDesc(
    "ChhyZWZsZWN0aW9uLXYxYWxwaGEucHJvdG8SF2dycGMucmVmbGVjdGlvbi52MWFscGhhIooCChdTZXJ2ZXJSZWZsZWN0aW9uUmVxdWVzdBIMCgRob3N0GAEgASgJEhoKEGZpbGVfYnlfZmlsZW5hbWUYAyABKAlIABIgChZmaWxlX2NvbnRhaW5pbmdfc3ltYm9sGAQgASgJSAASTgoZZmlsZV9jb250YWluaW5nX2V4dGVuc2lvbhgFIAEoCzIpLmdycGMucmVmbGVjdGlvbi52MWFscGhhLkV4dGVuc2lvblJlcXVlc3RIABInCh1hbGxfZXh0ZW5zaW9uX251bWJlcnNfb2ZfdHlwZRgGIAEoCUgAEhcKDWxpc3Rfc2VydmljZXMYByABKAlIAEIRCg9tZXNzYWdlX3JlcXVlc3QiRQoQRXh0ZW5zaW9uUmVxdWVzdBIXCg9jb250YWluaW5nX3R5cGUYASABKAkSGAoQZXh0ZW5zaW9uX251bWJlchgCIAEoBSLRAwoYU2VydmVyUmVmbGVjdGlvblJlc3BvbnNlEhIKCnZhbGlkX2hvc3QYASABKAkSSgoQb3JpZ2luYWxfcmVxdWVzdBgCIAEoCzIwLmdycGMucmVmbGVjdGlvbi52MWFscGhhLlNlcnZlclJlZmxlY3Rpb25SZXF1ZXN0ElMKGGZpbGVfZGVzY3JpcHRvcl9yZXNwb25zZRgEIAEoCzIvLmdycGMucmVmbGVjdGlvbi52MWFscGhhLkZpbGVEZXNjcmlwdG9yUmVzcG9uc2VIABJaCh5hbGxfZXh0ZW5zaW9uX251bWJlcnNfcmVzcG9uc2UYBSABKAsyMC5ncnBjLnJlZmxlY3Rpb24udjFhbHBoYS5FeHRlbnNpb25OdW1iZXJSZXNwb25zZUgAEk4KFmxpc3Rfc2VydmljZXNfcmVzcG9uc2UYBiABKAsyLC5ncnBjLnJlZmxlY3Rpb24udjFhbHBoYS5MaXN0U2VydmljZVJlc3BvbnNlSAASQAoOZXJyb3JfcmVzcG9uc2UYByABKAsyJi5ncnBjLnJlZmxlY3Rpb24udjFhbHBoYS5FcnJvclJlc3BvbnNlSABCEgoQbWVzc2FnZV9yZXNwb25zZSI3ChZGaWxlRGVzY3JpcHRvclJlc3BvbnNlEh0KFWZpbGVfZGVzY3JpcHRvcl9wcm90bxgBIAMoDCJLChdFeHRlbnNpb25OdW1iZXJSZXNwb25zZRIWCg5iYXNlX3R5cGVfbmFtZRgBIAEoCRIYChBleHRlbnNpb25fbnVtYmVyGAIgAygFIlAKE0xpc3RTZXJ2aWNlUmVzcG9uc2USOQoHc2VydmljZRgBIAMoCzIoLmdycGMucmVmbGVjdGlvbi52MWFscGhhLlNlcnZpY2VSZXNwb25zZSIfCg9TZXJ2aWNlUmVzcG9uc2USDAoEbmFtZRgBIAEoCSI6Cg1FcnJvclJlc3BvbnNlEhIKCmVycm9yX2NvZGUYASABKAUSFQoNZXJyb3JfbWVzc2FnZRgCIAEoCTKTAQoQU2VydmVyUmVmbGVjdGlvbhJ/ChRTZXJ2ZXJSZWZsZWN0aW9uSW5mbxIwLmdycGMucmVmbGVjdGlvbi52MWFscGhhLlNlcnZlclJlZmxlY3Rpb25SZXF1ZXN0GjEuZ3JwYy5yZWZsZWN0aW9uLnYxYWxwaGEuU2VydmVyUmVmbGVjdGlvblJlc3BvbnNlKAEwAWIGcHJvdG8z",
  );

/**
 * The message sent by the client when calling ServerReflectionInfo method.
 *
 * @generated from message grpc.reflection.v1alpha.ServerReflectionRequest
 */
export type ServerReflectionRequest = Message<"grpc.reflection.v1alpha.ServerReflectionRequest"> & {
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
 * Describes the message grpc.reflection.v1alpha.ServerReflectionRequest.
 * Use `create(ServerReflectionRequestSchema)` to create a new message.
 */
export const ServerReflectionRequestSchema: GenMessage<ServerReflectionRequest> =
  /*@__PURE__*/
  messageDesc(file_reflection_v1alpha, 0);

/**
 * The type name and extension number sent by the client when requesting
 * file_containing_extension.
 *
 * @generated from message grpc.reflection.v1alpha.ExtensionRequest
 */
export type ExtensionRequest = Message<"grpc.reflection.v1alpha.ExtensionRequest"> & {
  containingType: string;

  extensionNumber: number;
};

/**
 * Describes the message grpc.reflection.v1alpha.ExtensionRequest.
 * Use `create(ExtensionRequestSchema)` to create a new message.
 */
export const ExtensionRequestSchema: GenMessage<ExtensionRequest> =
  /*@__PURE__*/
  messageDesc(file_reflection_v1alpha, 1);

/**
 * The message sent by the server to answer ServerReflectionInfo method.
 *
 * @generated from message grpc.reflection.v1alpha.ServerReflectionResponse
 */
export type ServerReflectionResponse =
  Message<"grpc.reflection.v1alpha.ServerReflectionResponse"> & {
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
 * Describes the message grpc.reflection.v1alpha.ServerReflectionResponse.
 * Use `create(ServerReflectionResponseSchema)` to create a new message.
 */
export const ServerReflectionResponseSchema: GenMessage<ServerReflectionResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection_v1alpha, 2);

/**
 * Serialized FileDescriptorProto messages sent by the server answering
 * a file_by_filename, file_containing_symbol, or file_containing_extension
 * request.
 *
 * @generated from message grpc.reflection.v1alpha.FileDescriptorResponse
 */
export type FileDescriptorResponse = Message<"grpc.reflection.v1alpha.FileDescriptorResponse"> & {
  fileDescriptorProto: Uint8Array[];
};

/**
 * Describes the message grpc.reflection.v1alpha.FileDescriptorResponse.
 * Use `create(FileDescriptorResponseSchema)` to create a new message.
 */
export const FileDescriptorResponseSchema: GenMessage<FileDescriptorResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection_v1alpha, 3);

/**
 * A list of extension numbers sent by the server answering
 * all_extension_numbers_of_type request.
 *
 * @generated from message grpc.reflection.v1alpha.ExtensionNumberResponse
 */
export type ExtensionNumberResponse = Message<"grpc.reflection.v1alpha.ExtensionNumberResponse"> & {
  baseTypeName: string;

  extensionNumber: number[];
};

/**
 * Describes the message grpc.reflection.v1alpha.ExtensionNumberResponse.
 * Use `create(ExtensionNumberResponseSchema)` to create a new message.
 */
export const ExtensionNumberResponseSchema: GenMessage<ExtensionNumberResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection_v1alpha, 4);

/**
 * A list of ServiceResponse sent by the server answering list_services request.
 *
 * @generated from message grpc.reflection.v1alpha.ListServiceResponse
 */
export type ListServiceResponse = Message<"grpc.reflection.v1alpha.ListServiceResponse"> & {
  service: ServiceResponse[];
};

/**
 * Describes the message grpc.reflection.v1alpha.ListServiceResponse.
 * Use `create(ListServiceResponseSchema)` to create a new message.
 */
export const ListServiceResponseSchema: GenMessage<ListServiceResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection_v1alpha, 5);

/**
 * The information of a single service used by ListServiceResponse to answer
 * list_services request.
 *
 * @generated from message grpc.reflection.v1alpha.ServiceResponse
 */
export type ServiceResponse = Message<"grpc.reflection.v1alpha.ServiceResponse"> & {
  name: string;
};

/**
 * Describes the message grpc.reflection.v1alpha.ServiceResponse.
 * Use `create(ServiceResponseSchema)` to create a new message.
 */
export const ServiceResponseSchema: GenMessage<ServiceResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection_v1alpha, 6);

/**
 * The error code and error message sent by the server when an error occurs.
 *
 * @generated from message grpc.reflection.v1alpha.ErrorResponse
 */
export type ErrorResponse = Message<"grpc.reflection.v1alpha.ErrorResponse"> & {
  errorCode: number;

  errorMessage: string;
};

/**
 * Describes the message grpc.reflection.v1alpha.ErrorResponse.
 * Use `create(ErrorResponseSchema)` to create a new message.
 */
export const ErrorResponseSchema: GenMessage<ErrorResponse> =
  /*@__PURE__*/
  messageDesc(file_reflection_v1alpha, 7);

/**
 * @generated from service grpc.reflection.v1alpha.ServerReflection
 */
export const ServerReflection: GenService<{
  serverReflectionInfo: {
    methodKind: "bidi_streaming";
    input: typeof ServerReflectionRequestSchema;
    output: typeof ServerReflectionResponseSchema;
  };
}> = /*@__PURE__*/ serviceDesc(file_reflection_v1alpha, 0);
