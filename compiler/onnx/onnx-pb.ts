// @generated: reading and writing ONNX files, from onnx/onnx.proto of the PyPI package onnx 1.23.1.
// SPDX-License-Identifier: Apache-2.0, copyright (c) the ONNX project contributors.
//
// Made by `buf build -o onnx.binpb --exclude-source-info` (@bufbuild/buf 1.75.0) and `buf generate onnx.binpb` with protoc-gen-es 2.13.0, target=ts.
// Changed after that: enums became constant objects, which erasable TypeScript needs, and the comments that repeat each field were taken out.

import type { Message } from "@bufbuild/protobuf";
import type { GenEnum, GenFile, GenMessage } from "@bufbuild/protobuf/codegenv2";
import { enumDesc, fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";

/**
 * Describes the file onnx.proto.
 */
export const file_onnx: GenFile =
  /*@__PURE__*/
  fileDesc(
    "Cgpvbm54LnByb3RvEgRvbm54ItsFCg5BdHRyaWJ1dGVQcm90bxIMCgRuYW1lGAEgASgJEhUKDXJlZl9hdHRyX25hbWUYFSABKAkSEgoKZG9jX3N0cmluZxgNIAEoCRIwCgR0eXBlGBQgASgOMiIub25ueC5BdHRyaWJ1dGVQcm90by5BdHRyaWJ1dGVUeXBlEgkKAWYYAiABKAISCQoBaRgDIAEoAxIJCgFzGAQgASgMEhwKAXQYBSABKAsyES5vbm54LlRlbnNvclByb3RvEhsKAWcYBiABKAsyEC5vbm54LkdyYXBoUHJvdG8SLgoNc3BhcnNlX3RlbnNvchgWIAEoCzIXLm9ubnguU3BhcnNlVGVuc29yUHJvdG8SGwoCdHAYDiABKAsyDy5vbm54LlR5cGVQcm90bxIOCgZmbG9hdHMYByADKAISDAoEaW50cxgIIAMoAxIPCgdzdHJpbmdzGAkgAygMEiIKB3RlbnNvcnMYCiADKAsyES5vbm54LlRlbnNvclByb3RvEiAKBmdyYXBocxgLIAMoCzIQLm9ubnguR3JhcGhQcm90bxIvCg5zcGFyc2VfdGVuc29ycxgXIAMoCzIXLm9ubnguU3BhcnNlVGVuc29yUHJvdG8SJAoLdHlwZV9wcm90b3MYDyADKAsyDy5vbm54LlR5cGVQcm90byLZAQoNQXR0cmlidXRlVHlwZRINCglVTkRFRklORUQQABIJCgVGTE9BVBABEgcKA0lOVBACEgoKBlNUUklORxADEgoKBlRFTlNPUhAEEgkKBUdSQVBIEAUSEQoNU1BBUlNFX1RFTlNPUhALEg4KClRZUEVfUFJPVE8QDRIKCgZGTE9BVFMQBhIICgRJTlRTEAcSCwoHU1RSSU5HUxAIEgsKB1RFTlNPUlMQCRIKCgZHUkFQSFMQChISCg5TUEFSU0VfVEVOU09SUxAMEg8KC1RZUEVfUFJPVE9TEA5KBAgMEA1KBAgQEBRSAXYihwEKDlZhbHVlSW5mb1Byb3RvEgwKBG5hbWUYASABKAkSHQoEdHlwZRgCIAEoCzIPLm9ubnguVHlwZVByb3RvEhIKCmRvY19zdHJpbmcYAyABKAkSNAoObWV0YWRhdGFfcHJvcHMYBCADKAsyHC5vbm54LlN0cmluZ1N0cmluZ0VudHJ5UHJvdG8ioQIKCU5vZGVQcm90bxINCgVpbnB1dBgBIAMoCRIOCgZvdXRwdXQYAiADKAkSDAoEbmFtZRgDIAEoCRIPCgdvcF90eXBlGAQgASgJEg4KBmRvbWFpbhgHIAEoCRIQCghvdmVybG9hZBgIIAEoCRInCglhdHRyaWJ1dGUYBSADKAsyFC5vbm54LkF0dHJpYnV0ZVByb3RvEhIKCmRvY19zdHJpbmcYBiABKAkSNAoObWV0YWRhdGFfcHJvcHMYCSADKAsyHC5vbm54LlN0cmluZ1N0cmluZ0VudHJ5UHJvdG8SQQoVZGV2aWNlX2NvbmZpZ3VyYXRpb25zGAogAygLMiIub25ueC5Ob2RlRGV2aWNlQ29uZmlndXJhdGlvblByb3RvIjIKFEludEludExpc3RFbnRyeVByb3RvEgsKA2tleRgBIAEoAxINCgV2YWx1ZRgCIAMoAyKAAQocTm9kZURldmljZUNvbmZpZ3VyYXRpb25Qcm90bxIYChBjb25maWd1cmF0aW9uX2lkGAEgASgJEi4KDXNoYXJkaW5nX3NwZWMYAiADKAsyFy5vbm54LlNoYXJkaW5nU3BlY1Byb3RvEhYKDnBpcGVsaW5lX3N0YWdlGAMgASgFIqMBChFTaGFyZGluZ1NwZWNQcm90bxITCgt0ZW5zb3JfbmFtZRgBIAEoCRIOCgZkZXZpY2UYAiADKAMSPQoZaW5kZXhfdG9fZGV2aWNlX2dyb3VwX21hcBgDIAMoCzIaLm9ubnguSW50SW50TGlzdEVudHJ5UHJvdG8SKgoLc2hhcmRlZF9kaW0YBCADKAsyFS5vbm54LlNoYXJkZWREaW1Qcm90byJVCg9TaGFyZGVkRGltUHJvdG8SDAoEYXhpcxgBIAEoAxI0Cg9zaW1wbGVfc2hhcmRpbmcYAiADKAsyGy5vbm54LlNpbXBsZVNoYXJkZWREaW1Qcm90byJcChVTaW1wbGVTaGFyZGVkRGltUHJvdG8SEwoJZGltX3ZhbHVlGAEgASgDSAASEwoJZGltX3BhcmFtGAIgASgJSAASEgoKbnVtX3NoYXJkcxgDIAEoA0IFCgNkaW0i1gEKEVRyYWluaW5nSW5mb1Byb3RvEigKDmluaXRpYWxpemF0aW9uGAEgASgLMhAub25ueC5HcmFwaFByb3RvEiMKCWFsZ29yaXRobRgCIAEoCzIQLm9ubnguR3JhcGhQcm90bxI8ChZpbml0aWFsaXphdGlvbl9iaW5kaW5nGAMgAygLMhwub25ueC5TdHJpbmdTdHJpbmdFbnRyeVByb3RvEjQKDnVwZGF0ZV9iaW5kaW5nGAQgAygLMhwub25ueC5TdHJpbmdTdHJpbmdFbnRyeVByb3RvIqIDCgpNb2RlbFByb3RvEhIKCmlyX3ZlcnNpb24YASABKAMSLgoMb3BzZXRfaW1wb3J0GAggAygLMhgub25ueC5PcGVyYXRvclNldElkUHJvdG8SFQoNcHJvZHVjZXJfbmFtZRgCIAEoCRIYChBwcm9kdWNlcl92ZXJzaW9uGAMgASgJEg4KBmRvbWFpbhgEIAEoCRIVCg1tb2RlbF92ZXJzaW9uGAUgASgDEhIKCmRvY19zdHJpbmcYBiABKAkSHwoFZ3JhcGgYByABKAsyEC5vbm54LkdyYXBoUHJvdG8SNAoObWV0YWRhdGFfcHJvcHMYDiADKAsyHC5vbm54LlN0cmluZ1N0cmluZ0VudHJ5UHJvdG8SLgoNdHJhaW5pbmdfaW5mbxgUIAMoCzIXLm9ubnguVHJhaW5pbmdJbmZvUHJvdG8SJgoJZnVuY3Rpb25zGBkgAygLMhMub25ueC5GdW5jdGlvblByb3RvEjUKDWNvbmZpZ3VyYXRpb24YGiADKAsyHi5vbm54LkRldmljZUNvbmZpZ3VyYXRpb25Qcm90byJNChhEZXZpY2VDb25maWd1cmF0aW9uUHJvdG8SDAoEbmFtZRgBIAEoCRITCgtudW1fZGV2aWNlcxgCIAEoBRIOCgZkZXZpY2UYAyADKAkiNAoWU3RyaW5nU3RyaW5nRW50cnlQcm90bxILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAkiawoQVGVuc29yQW5ub3RhdGlvbhITCgt0ZW5zb3JfbmFtZRgBIAEoCRJCChxxdWFudF9wYXJhbWV0ZXJfdGVuc29yX25hbWVzGAIgAygLMhwub25ueC5TdHJpbmdTdHJpbmdFbnRyeVByb3RvItQDCgpHcmFwaFByb3RvEh0KBG5vZGUYASADKAsyDy5vbm54Lk5vZGVQcm90bxIMCgRuYW1lGAIgASgJEiYKC2luaXRpYWxpemVyGAUgAygLMhEub25ueC5UZW5zb3JQcm90bxIzChJzcGFyc2VfaW5pdGlhbGl6ZXIYDyADKAsyFy5vbm54LlNwYXJzZVRlbnNvclByb3RvEhIKCmRvY19zdHJpbmcYCiABKAkSIwoFaW5wdXQYCyADKAsyFC5vbm54LlZhbHVlSW5mb1Byb3RvEiQKBm91dHB1dBgMIAMoCzIULm9ubnguVmFsdWVJbmZvUHJvdG8SKAoKdmFsdWVfaW5mbxgNIAMoCzIULm9ubnguVmFsdWVJbmZvUHJvdG8SNwoXcXVhbnRpemF0aW9uX2Fubm90YXRpb24YDiADKAsyFi5vbm54LlRlbnNvckFubm90YXRpb24SNAoObWV0YWRhdGFfcHJvcHMYECADKAsyHC5vbm54LlN0cmluZ1N0cmluZ0VudHJ5UHJvdG9KBAgDEARKBAgEEAVKBAgGEApSCmlyX3ZlcnNpb25SEHByb2R1Y2VyX3ZlcnNpb25SDHByb2R1Y2VyX3RhZ1IGZG9tYWluIqIHCgtUZW5zb3JQcm90bxIMCgRkaW1zGAEgAygDEhEKCWRhdGFfdHlwZRgCIAEoBRIqCgdzZWdtZW50GAMgASgLMhkub25ueC5UZW5zb3JQcm90by5TZWdtZW50EhYKCmZsb2F0X2RhdGEYBCADKAJCAhABEhYKCmludDMyX2RhdGEYBSADKAVCAhABEhMKC3N0cmluZ19kYXRhGAYgAygMEhYKCmludDY0X2RhdGEYByADKANCAhABEgwKBG5hbWUYCCABKAkSEgoKZG9jX3N0cmluZxgMIAEoCRIQCghyYXdfZGF0YRgJIAEoDBIzCg1leHRlcm5hbF9kYXRhGA0gAygLMhwub25ueC5TdHJpbmdTdHJpbmdFbnRyeVByb3RvEjUKDWRhdGFfbG9jYXRpb24YDiABKA4yHi5vbm54LlRlbnNvclByb3RvLkRhdGFMb2NhdGlvbhIXCgtkb3VibGVfZGF0YRgKIAMoAUICEAESFwoLdWludDY0X2RhdGEYCyADKARCAhABEjQKDm1ldGFkYXRhX3Byb3BzGBAgAygLMhwub25ueC5TdHJpbmdTdHJpbmdFbnRyeVByb3RvGiUKB1NlZ21lbnQSDQoFYmVnaW4YASABKAMSCwoDZW5kGAIgASgDIo4DCghEYXRhVHlwZRINCglVTkRFRklORUQQABIJCgVGTE9BVBABEgkKBVVJTlQ4EAISCAoESU5UOBADEgoKBlVJTlQxNhAEEgkKBUlOVDE2EAUSCQoFSU5UMzIQBhIJCgVJTlQ2NBAHEgoKBlNUUklORxAIEggKBEJPT0wQCRILCgdGTE9BVDE2EAoSCgoGRE9VQkxFEAsSCgoGVUlOVDMyEAwSCgoGVUlOVDY0EA0SDQoJQ09NUExFWDY0EA4SDgoKQ09NUExFWDEyOBAPEgwKCEJGTE9BVDE2EBASEAoMRkxPQVQ4RTRNM0ZOEBESEgoORkxPQVQ4RTRNM0ZOVVoQEhIOCgpGTE9BVDhFNU0yEBMSEgoORkxPQVQ4RTVNMkZOVVoQFBIJCgVVSU5UNBAVEggKBElOVDQQFhIOCgpGTE9BVDRFMk0xEBcSDgoKRkxPQVQ4RThNMBAYEgkKBVVJTlQyEBkSCAoESU5UMhAaEg4KCkZMT0FUNkUyTTMQGxIOCgpGTE9BVDZFM00yEBwiKQoMRGF0YUxvY2F0aW9uEgsKB0RFRkFVTFQQABIMCghFWFRFUk5BTBABImgKEVNwYXJzZVRlbnNvclByb3RvEiEKBnZhbHVlcxgBIAEoCzIRLm9ubnguVGVuc29yUHJvdG8SIgoHaW5kaWNlcxgCIAEoCzIRLm9ubnguVGVuc29yUHJvdG8SDAoEZGltcxgDIAMoAyKVAQoQVGVuc29yU2hhcGVQcm90bxItCgNkaW0YASADKAsyIC5vbm54LlRlbnNvclNoYXBlUHJvdG8uRGltZW5zaW9uGlIKCURpbWVuc2lvbhITCglkaW1fdmFsdWUYASABKANIABITCglkaW1fcGFyYW0YAiABKAlIABISCgpkZW5vdGF0aW9uGAMgASgJQgcKBXZhbHVlIrcFCglUeXBlUHJvdG8SLQoLdGVuc29yX3R5cGUYASABKAsyFi5vbm54LlR5cGVQcm90by5UZW5zb3JIABIxCg1zZXF1ZW5jZV90eXBlGAQgASgLMhgub25ueC5UeXBlUHJvdG8uU2VxdWVuY2VIABInCghtYXBfdHlwZRgFIAEoCzITLm9ubnguVHlwZVByb3RvLk1hcEgAEjEKDW9wdGlvbmFsX3R5cGUYCSABKAsyGC5vbm54LlR5cGVQcm90by5PcHRpb25hbEgAEjoKEnNwYXJzZV90ZW5zb3JfdHlwZRgIIAEoCzIcLm9ubnguVHlwZVByb3RvLlNwYXJzZVRlbnNvckgAEi0KC29wYXF1ZV90eXBlGAcgASgLMhYub25ueC5UeXBlUHJvdG8uT3BhcXVlSAASEgoKZGVub3RhdGlvbhgGIAEoCRpCCgZUZW5zb3ISEQoJZWxlbV90eXBlGAEgASgFEiUKBXNoYXBlGAIgASgLMhYub25ueC5UZW5zb3JTaGFwZVByb3RvGi4KCFNlcXVlbmNlEiIKCWVsZW1fdHlwZRgBIAEoCzIPLm9ubnguVHlwZVByb3RvGjwKA01hcBIQCghrZXlfdHlwZRgBIAEoBRIjCgp2YWx1ZV90eXBlGAIgASgLMg8ub25ueC5UeXBlUHJvdG8aLgoIT3B0aW9uYWwSIgoJZWxlbV90eXBlGAEgASgLMg8ub25ueC5UeXBlUHJvdG8aSAoMU3BhcnNlVGVuc29yEhEKCWVsZW1fdHlwZRgBIAEoBRIlCgVzaGFwZRgCIAEoCzIWLm9ubnguVGVuc29yU2hhcGVQcm90bxo4CgZPcGFxdWUSDgoGZG9tYWluGAEgASgJEgwKBG5hbWUYAiABKAlKBAgDEARSCnBhcmFtZXRlcnNCBwoFdmFsdWUiNQoST3BlcmF0b3JTZXRJZFByb3RvEg4KBmRvbWFpbhgBIAEoCRIPCgd2ZXJzaW9uGAIgASgDIoYDCg1GdW5jdGlvblByb3RvEgwKBG5hbWUYASABKAkSDQoFaW5wdXQYBCADKAkSDgoGb3V0cHV0GAUgAygJEhEKCWF0dHJpYnV0ZRgGIAMoCRItCg9hdHRyaWJ1dGVfcHJvdG8YCyADKAsyFC5vbm54LkF0dHJpYnV0ZVByb3RvEh0KBG5vZGUYByADKAsyDy5vbm54Lk5vZGVQcm90bxISCgpkb2Nfc3RyaW5nGAggASgJEi4KDG9wc2V0X2ltcG9ydBgJIAMoCzIYLm9ubnguT3BlcmF0b3JTZXRJZFByb3RvEg4KBmRvbWFpbhgKIAEoCRIQCghvdmVybG9hZBgNIAEoCRIoCgp2YWx1ZV9pbmZvGAwgAygLMhQub25ueC5WYWx1ZUluZm9Qcm90bxI0Cg5tZXRhZGF0YV9wcm9wcxgOIAMoCzIcLm9ubnguU3RyaW5nU3RyaW5nRW50cnlQcm90b0oECAIQA0oECAMQBFINc2luY2VfdmVyc2lvblIGc3RhdHVzKoIDCgdWZXJzaW9uEhIKDl9TVEFSVF9WRVJTSU9OEAASGQoVSVJfVkVSU0lPTl8yMDE3XzEwXzEwEAESGQoVSVJfVkVSU0lPTl8yMDE3XzEwXzMwEAISGAoUSVJfVkVSU0lPTl8yMDE3XzExXzMQAxIYChRJUl9WRVJTSU9OXzIwMTlfMV8yMhAEEhgKFElSX1ZFUlNJT05fMjAxOV8zXzE4EAUSGAoUSVJfVkVSU0lPTl8yMDE5XzlfMTkQBhIXChNJUl9WRVJTSU9OXzIwMjBfNV84EAcSGAoUSVJfVkVSU0lPTl8yMDIxXzdfMzAQCBIXChNJUl9WRVJTSU9OXzIwMjNfNV81EAkSGAoUSVJfVkVSU0lPTl8yMDI0XzNfMjUQChIZChVJUl9WRVJTSU9OXzIwMjVfMDVfMTIQCxIZChVJUl9WRVJTSU9OXzIwMjVfMDhfMjYQDBIZChVJUl9WRVJTSU9OXzIwMjVfMTFfMDYQDRIOCgpJUl9WRVJTSU9OEA4qLgoOT3BlcmF0b3JTdGF0dXMSEAoMRVhQRVJJTUVOVEFMEAASCgoGU1RBQkxFEAFCAkgD",
  );

/**
 * @generated from message onnx.AttributeProto
 */
export type AttributeProto = Message<"onnx.AttributeProto"> & {
  name: string;
  refAttrName: string;
  docString: string;
  type: AttributeProto_AttributeType;
  f: number;
  i: bigint;
  s: Uint8Array;
  t?: TensorProto | undefined;
  g?: GraphProto | undefined;
  sparseTensor?: SparseTensorProto | undefined;
  tp?: TypeProto | undefined;
  floats: number[];
  ints: bigint[];
  strings: Uint8Array[];
  tensors: TensorProto[];
  graphs: GraphProto[];
  sparseTensors: SparseTensorProto[];
  typeProtos: TypeProto[];
};

/**
 * Describes the message onnx.AttributeProto.
 * Use `create(AttributeProtoSchema)` to create a new message.
 */
export const AttributeProtoSchema: GenMessage<AttributeProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 0);

/**
 * @generated from enum onnx.AttributeProto.AttributeType
 */
export const AttributeProto_AttributeType = {
  UNDEFINED: 0,
  FLOAT: 1,
  INT: 2,
  STRING: 3,
  TENSOR: 4,
  GRAPH: 5,
  SPARSE_TENSOR: 11,
  TYPE_PROTO: 13,
  FLOATS: 6,
  INTS: 7,
  STRINGS: 8,
  TENSORS: 9,
  GRAPHS: 10,
  SPARSE_TENSORS: 12,
  TYPE_PROTOS: 14,
} as const;
export type AttributeProto_AttributeType =
  (typeof AttributeProto_AttributeType)[keyof typeof AttributeProto_AttributeType];

/**
 * Describes the enum onnx.AttributeProto.AttributeType.
 */
export const AttributeProto_AttributeTypeSchema: GenEnum<AttributeProto_AttributeType> =
  /*@__PURE__*/
  enumDesc(file_onnx, 0, 0);

/**
 * @generated from message onnx.ValueInfoProto
 */
export type ValueInfoProto = Message<"onnx.ValueInfoProto"> & {
  name: string;
  type?: TypeProto | undefined;
  docString: string;
  metadataProps: StringStringEntryProto[];
};

/**
 * Describes the message onnx.ValueInfoProto.
 * Use `create(ValueInfoProtoSchema)` to create a new message.
 */
export const ValueInfoProtoSchema: GenMessage<ValueInfoProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 1);

/**
 * @generated from message onnx.NodeProto
 */
export type NodeProto = Message<"onnx.NodeProto"> & {
  input: string[];
  output: string[];
  name: string;
  opType: string;
  domain: string;
  overload: string;
  attribute: AttributeProto[];
  docString: string;
  metadataProps: StringStringEntryProto[];
  deviceConfigurations: NodeDeviceConfigurationProto[];
};

/**
 * Describes the message onnx.NodeProto.
 * Use `create(NodeProtoSchema)` to create a new message.
 */
export const NodeProtoSchema: GenMessage<NodeProto> = /*@__PURE__*/ messageDesc(file_onnx, 2);

/**
 * @generated from message onnx.IntIntListEntryProto
 */
export type IntIntListEntryProto = Message<"onnx.IntIntListEntryProto"> & {
  key: bigint;
  value: bigint[];
};

/**
 * Describes the message onnx.IntIntListEntryProto.
 * Use `create(IntIntListEntryProtoSchema)` to create a new message.
 */
export const IntIntListEntryProtoSchema: GenMessage<IntIntListEntryProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 3);

/**
 * @generated from message onnx.NodeDeviceConfigurationProto
 */
export type NodeDeviceConfigurationProto = Message<"onnx.NodeDeviceConfigurationProto"> & {
  configurationId: string;
  shardingSpec: ShardingSpecProto[];
  pipelineStage: number;
};

/**
 * Describes the message onnx.NodeDeviceConfigurationProto.
 * Use `create(NodeDeviceConfigurationProtoSchema)` to create a new message.
 */
export const NodeDeviceConfigurationProtoSchema: GenMessage<NodeDeviceConfigurationProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 4);

/**
 * @generated from message onnx.ShardingSpecProto
 */
export type ShardingSpecProto = Message<"onnx.ShardingSpecProto"> & {
  tensorName: string;
  device: bigint[];
  indexToDeviceGroupMap: IntIntListEntryProto[];
  shardedDim: ShardedDimProto[];
};

/**
 * Describes the message onnx.ShardingSpecProto.
 * Use `create(ShardingSpecProtoSchema)` to create a new message.
 */
export const ShardingSpecProtoSchema: GenMessage<ShardingSpecProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 5);

/**
 * @generated from message onnx.ShardedDimProto
 */
export type ShardedDimProto = Message<"onnx.ShardedDimProto"> & {
  axis: bigint;
  simpleSharding: SimpleShardedDimProto[];
};

/**
 * Describes the message onnx.ShardedDimProto.
 * Use `create(ShardedDimProtoSchema)` to create a new message.
 */
export const ShardedDimProtoSchema: GenMessage<ShardedDimProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 6);

/**
 * @generated from message onnx.SimpleShardedDimProto
 */
export type SimpleShardedDimProto = Message<"onnx.SimpleShardedDimProto"> & {
  dim:
    | {
        /**
         * @generated from field: int64 dim_value = 1;
         */
        value: bigint;
        case: "dimValue";
      }
    | {
        /**
         * @generated from field: string dim_param = 2;
         */
        value: string;
        case: "dimParam";
      }
    | { case: undefined; value?: undefined };
  numShards: bigint;
};

/**
 * Describes the message onnx.SimpleShardedDimProto.
 * Use `create(SimpleShardedDimProtoSchema)` to create a new message.
 */
export const SimpleShardedDimProtoSchema: GenMessage<SimpleShardedDimProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 7);

/**
 * @generated from message onnx.TrainingInfoProto
 */
export type TrainingInfoProto = Message<"onnx.TrainingInfoProto"> & {
  initialization?: GraphProto | undefined;
  algorithm?: GraphProto | undefined;
  initializationBinding: StringStringEntryProto[];
  updateBinding: StringStringEntryProto[];
};

/**
 * Describes the message onnx.TrainingInfoProto.
 * Use `create(TrainingInfoProtoSchema)` to create a new message.
 */
export const TrainingInfoProtoSchema: GenMessage<TrainingInfoProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 8);

/**
 * @generated from message onnx.ModelProto
 */
export type ModelProto = Message<"onnx.ModelProto"> & {
  irVersion: bigint;
  opsetImport: OperatorSetIdProto[];
  producerName: string;
  producerVersion: string;
  domain: string;
  modelVersion: bigint;
  docString: string;
  graph?: GraphProto | undefined;
  metadataProps: StringStringEntryProto[];
  trainingInfo: TrainingInfoProto[];
  functions: FunctionProto[];
  configuration: DeviceConfigurationProto[];
};

/**
 * Describes the message onnx.ModelProto.
 * Use `create(ModelProtoSchema)` to create a new message.
 */
export const ModelProtoSchema: GenMessage<ModelProto> = /*@__PURE__*/ messageDesc(file_onnx, 9);

/**
 * @generated from message onnx.DeviceConfigurationProto
 */
export type DeviceConfigurationProto = Message<"onnx.DeviceConfigurationProto"> & {
  name: string;
  numDevices: number;
  device: string[];
};

/**
 * Describes the message onnx.DeviceConfigurationProto.
 * Use `create(DeviceConfigurationProtoSchema)` to create a new message.
 */
export const DeviceConfigurationProtoSchema: GenMessage<DeviceConfigurationProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 10);

/**
 * @generated from message onnx.StringStringEntryProto
 */
export type StringStringEntryProto = Message<"onnx.StringStringEntryProto"> & {
  key: string;
  value: string;
};

/**
 * Describes the message onnx.StringStringEntryProto.
 * Use `create(StringStringEntryProtoSchema)` to create a new message.
 */
export const StringStringEntryProtoSchema: GenMessage<StringStringEntryProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 11);

/**
 * @generated from message onnx.TensorAnnotation
 */
export type TensorAnnotation = Message<"onnx.TensorAnnotation"> & {
  tensorName: string;
  quantParameterTensorNames: StringStringEntryProto[];
};

/**
 * Describes the message onnx.TensorAnnotation.
 * Use `create(TensorAnnotationSchema)` to create a new message.
 */
export const TensorAnnotationSchema: GenMessage<TensorAnnotation> =
  /*@__PURE__*/
  messageDesc(file_onnx, 12);

/**
 * @generated from message onnx.GraphProto
 */
export type GraphProto = Message<"onnx.GraphProto"> & {
  node: NodeProto[];
  name: string;
  initializer: TensorProto[];
  sparseInitializer: SparseTensorProto[];
  docString: string;
  input: ValueInfoProto[];
  output: ValueInfoProto[];
  valueInfo: ValueInfoProto[];
  quantizationAnnotation: TensorAnnotation[];
  metadataProps: StringStringEntryProto[];
};

/**
 * Describes the message onnx.GraphProto.
 * Use `create(GraphProtoSchema)` to create a new message.
 */
export const GraphProtoSchema: GenMessage<GraphProto> = /*@__PURE__*/ messageDesc(file_onnx, 13);

/**
 * @generated from message onnx.TensorProto
 */
export type TensorProto = Message<"onnx.TensorProto"> & {
  dims: bigint[];
  dataType: number;
  segment?: TensorProto_Segment | undefined;
  floatData: number[];
  int32Data: number[];
  stringData: Uint8Array[];
  int64Data: bigint[];
  name: string;
  docString: string;
  rawData: Uint8Array;
  externalData: StringStringEntryProto[];
  dataLocation: TensorProto_DataLocation;
  doubleData: number[];
  uint64Data: bigint[];
  metadataProps: StringStringEntryProto[];
};

/**
 * Describes the message onnx.TensorProto.
 * Use `create(TensorProtoSchema)` to create a new message.
 */
export const TensorProtoSchema: GenMessage<TensorProto> = /*@__PURE__*/ messageDesc(file_onnx, 14);

/**
 * @generated from message onnx.TensorProto.Segment
 */
export type TensorProto_Segment = Message<"onnx.TensorProto.Segment"> & {
  begin: bigint;
  end: bigint;
};

/**
 * Describes the message onnx.TensorProto.Segment.
 * Use `create(TensorProto_SegmentSchema)` to create a new message.
 */
export const TensorProto_SegmentSchema: GenMessage<TensorProto_Segment> =
  /*@__PURE__*/
  messageDesc(file_onnx, 14, 0);

/**
 * @generated from enum onnx.TensorProto.DataType
 */
export const TensorProto_DataType = {
  UNDEFINED: 0,
  FLOAT: 1,
  UINT8: 2,
  INT8: 3,
  UINT16: 4,
  INT16: 5,
  INT32: 6,
  INT64: 7,
  STRING: 8,
  BOOL: 9,
  FLOAT16: 10,
  DOUBLE: 11,
  UINT32: 12,
  UINT64: 13,
  COMPLEX64: 14,
  COMPLEX128: 15,
  BFLOAT16: 16,
  FLOAT8E4M3FN: 17,
  FLOAT8E4M3FNUZ: 18,
  FLOAT8E5M2: 19,
  FLOAT8E5M2FNUZ: 20,
  UINT4: 21,
  INT4: 22,
  FLOAT4E2M1: 23,
  FLOAT8E8M0: 24,
  UINT2: 25,
  INT2: 26,
  FLOAT6E2M3: 27,
  FLOAT6E3M2: 28,
} as const;
export type TensorProto_DataType = (typeof TensorProto_DataType)[keyof typeof TensorProto_DataType];

/**
 * Describes the enum onnx.TensorProto.DataType.
 */
export const TensorProto_DataTypeSchema: GenEnum<TensorProto_DataType> =
  /*@__PURE__*/
  enumDesc(file_onnx, 14, 0);

/**
 * @generated from enum onnx.TensorProto.DataLocation
 */
export const TensorProto_DataLocation = {
  DEFAULT: 0,
  EXTERNAL: 1,
} as const;
export type TensorProto_DataLocation =
  (typeof TensorProto_DataLocation)[keyof typeof TensorProto_DataLocation];

/**
 * Describes the enum onnx.TensorProto.DataLocation.
 */
export const TensorProto_DataLocationSchema: GenEnum<TensorProto_DataLocation> =
  /*@__PURE__*/
  enumDesc(file_onnx, 14, 1);

/**
 * @generated from message onnx.SparseTensorProto
 */
export type SparseTensorProto = Message<"onnx.SparseTensorProto"> & {
  values?: TensorProto | undefined;
  indices?: TensorProto | undefined;
  dims: bigint[];
};

/**
 * Describes the message onnx.SparseTensorProto.
 * Use `create(SparseTensorProtoSchema)` to create a new message.
 */
export const SparseTensorProtoSchema: GenMessage<SparseTensorProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 15);

/**
 * @generated from message onnx.TensorShapeProto
 */
export type TensorShapeProto = Message<"onnx.TensorShapeProto"> & {
  dim: TensorShapeProto_Dimension[];
};

/**
 * Describes the message onnx.TensorShapeProto.
 * Use `create(TensorShapeProtoSchema)` to create a new message.
 */
export const TensorShapeProtoSchema: GenMessage<TensorShapeProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 16);

/**
 * @generated from message onnx.TensorShapeProto.Dimension
 */
export type TensorShapeProto_Dimension = Message<"onnx.TensorShapeProto.Dimension"> & {
  value:
    | {
        /**
         * @generated from field: int64 dim_value = 1;
         */
        value: bigint;
        case: "dimValue";
      }
    | {
        /**
         * @generated from field: string dim_param = 2;
         */
        value: string;
        case: "dimParam";
      }
    | { case: undefined; value?: undefined };
  denotation: string;
};

/**
 * Describes the message onnx.TensorShapeProto.Dimension.
 * Use `create(TensorShapeProto_DimensionSchema)` to create a new message.
 */
export const TensorShapeProto_DimensionSchema: GenMessage<TensorShapeProto_Dimension> =
  /*@__PURE__*/
  messageDesc(file_onnx, 16, 0);

/**
 * @generated from message onnx.TypeProto
 */
export type TypeProto = Message<"onnx.TypeProto"> & {
  value:
    | {
        /**
         * @generated from field: onnx.TypeProto.Tensor tensor_type = 1;
         */
        value: TypeProto_Tensor;
        case: "tensorType";
      }
    | {
        /**
         * @generated from field: onnx.TypeProto.Sequence sequence_type = 4;
         */
        value: TypeProto_Sequence;
        case: "sequenceType";
      }
    | {
        /**
         * @generated from field: onnx.TypeProto.Map map_type = 5;
         */
        value: TypeProto_Map;
        case: "mapType";
      }
    | {
        /**
         * @generated from field: onnx.TypeProto.Optional optional_type = 9;
         */
        value: TypeProto_Optional;
        case: "optionalType";
      }
    | {
        /**
         * @generated from field: onnx.TypeProto.SparseTensor sparse_tensor_type = 8;
         */
        value: TypeProto_SparseTensor;
        case: "sparseTensorType";
      }
    | {
        /**
         * @generated from field: onnx.TypeProto.Opaque opaque_type = 7;
         */
        value: TypeProto_Opaque;
        case: "opaqueType";
      }
    | { case: undefined; value?: undefined };
  denotation: string;
};

/**
 * Describes the message onnx.TypeProto.
 * Use `create(TypeProtoSchema)` to create a new message.
 */
export const TypeProtoSchema: GenMessage<TypeProto> = /*@__PURE__*/ messageDesc(file_onnx, 17);

/**
 * @generated from message onnx.TypeProto.Tensor
 */
export type TypeProto_Tensor = Message<"onnx.TypeProto.Tensor"> & {
  elemType: number;
  shape?: TensorShapeProto | undefined;
};

/**
 * Describes the message onnx.TypeProto.Tensor.
 * Use `create(TypeProto_TensorSchema)` to create a new message.
 */
export const TypeProto_TensorSchema: GenMessage<TypeProto_Tensor> =
  /*@__PURE__*/
  messageDesc(file_onnx, 17, 0);

/**
 * @generated from message onnx.TypeProto.Sequence
 */
export type TypeProto_Sequence = Message<"onnx.TypeProto.Sequence"> & {
  elemType?: TypeProto | undefined;
};

/**
 * Describes the message onnx.TypeProto.Sequence.
 * Use `create(TypeProto_SequenceSchema)` to create a new message.
 */
export const TypeProto_SequenceSchema: GenMessage<TypeProto_Sequence> =
  /*@__PURE__*/
  messageDesc(file_onnx, 17, 1);

/**
 * @generated from message onnx.TypeProto.Map
 */
export type TypeProto_Map = Message<"onnx.TypeProto.Map"> & {
  keyType: number;
  valueType?: TypeProto | undefined;
};

/**
 * Describes the message onnx.TypeProto.Map.
 * Use `create(TypeProto_MapSchema)` to create a new message.
 */
export const TypeProto_MapSchema: GenMessage<TypeProto_Map> =
  /*@__PURE__*/
  messageDesc(file_onnx, 17, 2);

/**
 * @generated from message onnx.TypeProto.Optional
 */
export type TypeProto_Optional = Message<"onnx.TypeProto.Optional"> & {
  elemType?: TypeProto | undefined;
};

/**
 * Describes the message onnx.TypeProto.Optional.
 * Use `create(TypeProto_OptionalSchema)` to create a new message.
 */
export const TypeProto_OptionalSchema: GenMessage<TypeProto_Optional> =
  /*@__PURE__*/
  messageDesc(file_onnx, 17, 3);

/**
 * @generated from message onnx.TypeProto.SparseTensor
 */
export type TypeProto_SparseTensor = Message<"onnx.TypeProto.SparseTensor"> & {
  elemType: number;
  shape?: TensorShapeProto | undefined;
};

/**
 * Describes the message onnx.TypeProto.SparseTensor.
 * Use `create(TypeProto_SparseTensorSchema)` to create a new message.
 */
export const TypeProto_SparseTensorSchema: GenMessage<TypeProto_SparseTensor> =
  /*@__PURE__*/
  messageDesc(file_onnx, 17, 4);

/**
 * @generated from message onnx.TypeProto.Opaque
 */
export type TypeProto_Opaque = Message<"onnx.TypeProto.Opaque"> & {
  domain: string;
  name: string;
};

/**
 * Describes the message onnx.TypeProto.Opaque.
 * Use `create(TypeProto_OpaqueSchema)` to create a new message.
 */
export const TypeProto_OpaqueSchema: GenMessage<TypeProto_Opaque> =
  /*@__PURE__*/
  messageDesc(file_onnx, 17, 5);

/**
 * @generated from message onnx.OperatorSetIdProto
 */
export type OperatorSetIdProto = Message<"onnx.OperatorSetIdProto"> & {
  domain: string;
  version: bigint;
};

/**
 * Describes the message onnx.OperatorSetIdProto.
 * Use `create(OperatorSetIdProtoSchema)` to create a new message.
 */
export const OperatorSetIdProtoSchema: GenMessage<OperatorSetIdProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 18);

/**
 * @generated from message onnx.FunctionProto
 */
export type FunctionProto = Message<"onnx.FunctionProto"> & {
  name: string;
  input: string[];
  output: string[];
  attribute: string[];
  attributeProto: AttributeProto[];
  node: NodeProto[];
  docString: string;
  opsetImport: OperatorSetIdProto[];
  domain: string;
  overload: string;
  valueInfo: ValueInfoProto[];
  metadataProps: StringStringEntryProto[];
};

/**
 * Describes the message onnx.FunctionProto.
 * Use `create(FunctionProtoSchema)` to create a new message.
 */
export const FunctionProtoSchema: GenMessage<FunctionProto> =
  /*@__PURE__*/
  messageDesc(file_onnx, 19);

/**
 * @generated from enum onnx.Version
 */
export const Version = {
  _START_VERSION: 0,
  IR_VERSION_2017_10_10: 1,
  IR_VERSION_2017_10_30: 2,
  IR_VERSION_2017_11_3: 3,
  IR_VERSION_2019_1_22: 4,
  IR_VERSION_2019_3_18: 5,
  IR_VERSION_2019_9_19: 6,
  IR_VERSION_2020_5_8: 7,
  IR_VERSION_2021_7_30: 8,
  IR_VERSION_2023_5_5: 9,
  IR_VERSION_2024_3_25: 10,
  IR_VERSION_2025_05_12: 11,
  IR_VERSION_2025_08_26: 12,
  IR_VERSION_2025_11_06: 13,
  IR_VERSION: 14,
} as const;
export type Version = (typeof Version)[keyof typeof Version];

/**
 * Describes the enum onnx.Version.
 */
export const VersionSchema: GenEnum<Version> = /*@__PURE__*/ enumDesc(file_onnx, 0);

/**
 * @generated from enum onnx.OperatorStatus
 */
export const OperatorStatus = {
  EXPERIMENTAL: 0,
  STABLE: 1,
} as const;
export type OperatorStatus = (typeof OperatorStatus)[keyof typeof OperatorStatus];

/**
 * Describes the enum onnx.OperatorStatus.
 */
export const OperatorStatusSchema: GenEnum<OperatorStatus> = /*@__PURE__*/ enumDesc(file_onnx, 1);
