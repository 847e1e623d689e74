// @generated: messages of the gRPC door, from proto/inference.proto.
//
// Made by protoc-gen-es 2.17.0 with target=ts. Changed after that: enums became constant objects,
// which erasable TypeScript needs, and the comments that repeat each field were taken out.

import type { Message } from "@bufbuild/protobuf";
import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";

/**
 * Describes the file inference.proto.
 */
export const file_inference: GenFile =
  /*@__PURE__*/
  fileDesc(
    "Cg9pbmZlcmVuY2UucHJvdG8SCWluZmVyZW5jZSITChFTZXJ2ZXJMaXZlUmVxdWVzdCIiChJTZXJ2ZXJMaXZlUmVzcG9uc2USDAoEbGl2ZRgBIAEoCCIUChJTZXJ2ZXJSZWFkeVJlcXVlc3QiJAoTU2VydmVyUmVhZHlSZXNwb25zZRINCgVyZWFkeRgBIAEoCCIyChFNb2RlbFJlYWR5UmVxdWVzdBIMCgRuYW1lGAEgASgJEg8KB3ZlcnNpb24YAiABKAkiIwoSTW9kZWxSZWFkeVJlc3BvbnNlEg0KBXJlYWR5GAEgASgIIhcKFVNlcnZlck1ldGFkYXRhUmVxdWVzdCJLChZTZXJ2ZXJNZXRhZGF0YVJlc3BvbnNlEgwKBG5hbWUYASABKAkSDwoHdmVyc2lvbhgCIAEoCRISCgpleHRlbnNpb25zGAMgAygJIjUKFE1vZGVsTWV0YWRhdGFSZXF1ZXN0EgwKBG5hbWUYASABKAkSDwoHdmVyc2lvbhgCIAEoCSKNAgoVTW9kZWxNZXRhZGF0YVJlc3BvbnNlEgwKBG5hbWUYASABKAkSEAoIdmVyc2lvbnMYAiADKAkSEAoIcGxhdGZvcm0YAyABKAkSPwoGaW5wdXRzGAQgAygLMi8uaW5mZXJlbmNlLk1vZGVsTWV0YWRhdGFSZXNwb25zZS5UZW5zb3JNZXRhZGF0YRJACgdvdXRwdXRzGAUgAygLMi8uaW5mZXJlbmNlLk1vZGVsTWV0YWRhdGFSZXNwb25zZS5UZW5zb3JNZXRhZGF0YRo/Cg5UZW5zb3JNZXRhZGF0YRIMCgRuYW1lGAEgASgJEhAKCGRhdGF0eXBlGAIgASgJEg0KBXNoYXBlGAMgAygDIpkBCg5JbmZlclBhcmFtZXRlchIUCgpib29sX3BhcmFtGAEgASgISAASFQoLaW50NjRfcGFyYW0YAiABKANIABIWCgxzdHJpbmdfcGFyYW0YAyABKAlIABIWCgxkb3VibGVfcGFyYW0YBCABKAFIABIWCgx1aW50NjRfcGFyYW0YBSABKARIAEISChBwYXJhbWV0ZXJfY2hvaWNlItABChNJbmZlclRlbnNvckNvbnRlbnRzEhUKDWJvb2xfY29udGVudHMYASADKAgSFAoMaW50X2NvbnRlbnRzGAIgAygFEhYKDmludDY0X2NvbnRlbnRzGAMgAygDEhUKDXVpbnRfY29udGVudHMYBCADKA0SFwoPdWludDY0X2NvbnRlbnRzGAUgAygEEhUKDWZwMzJfY29udGVudHMYBiADKAISFQoNZnA2NF9jb250ZW50cxgHIAMoARIWCg5ieXRlc19jb250ZW50cxgIIAMoDCLuBgoRTW9kZWxJbmZlclJlcXVlc3QSEgoKbW9kZWxfbmFtZRgBIAEoCRIVCg1tb2RlbF92ZXJzaW9uGAIgASgJEgoKAmlkGAMgASgJEkAKCnBhcmFtZXRlcnMYBCADKAsyLC5pbmZlcmVuY2UuTW9kZWxJbmZlclJlcXVlc3QuUGFyYW1ldGVyc0VudHJ5Ej0KBmlucHV0cxgFIAMoCzItLmluZmVyZW5jZS5Nb2RlbEluZmVyUmVxdWVzdC5JbmZlcklucHV0VGVuc29yEkgKB291dHB1dHMYBiADKAsyNy5pbmZlcmVuY2UuTW9kZWxJbmZlclJlcXVlc3QuSW5mZXJSZXF1ZXN0ZWRPdXRwdXRUZW5zb3ISGgoScmF3X2lucHV0X2NvbnRlbnRzGAcgAygMGpQCChBJbmZlcklucHV0VGVuc29yEgwKBG5hbWUYASABKAkSEAoIZGF0YXR5cGUYAiABKAkSDQoFc2hhcGUYAyADKAMSUQoKcGFyYW1ldGVycxgEIAMoCzI9LmluZmVyZW5jZS5Nb2RlbEluZmVyUmVxdWVzdC5JbmZlcklucHV0VGVuc29yLlBhcmFtZXRlcnNFbnRyeRIwCghjb250ZW50cxgFIAEoCzIeLmluZmVyZW5jZS5JbmZlclRlbnNvckNvbnRlbnRzGkwKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSKAoFdmFsdWUYAiABKAsyGS5pbmZlcmVuY2UuSW5mZXJQYXJhbWV0ZXI6AjgBGtUBChpJbmZlclJlcXVlc3RlZE91dHB1dFRlbnNvchIMCgRuYW1lGAEgASgJElsKCnBhcmFtZXRlcnMYAiADKAsyRy5pbmZlcmVuY2UuTW9kZWxJbmZlclJlcXVlc3QuSW5mZXJSZXF1ZXN0ZWRPdXRwdXRUZW5zb3IuUGFyYW1ldGVyc0VudHJ5GkwKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSKAoFdmFsdWUYAiABKAsyGS5pbmZlcmVuY2UuSW5mZXJQYXJhbWV0ZXI6AjgBGkwKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSKAoFdmFsdWUYAiABKAsyGS5pbmZlcmVuY2UuSW5mZXJQYXJhbWV0ZXI6AjgBItUEChJNb2RlbEluZmVyUmVzcG9uc2USEgoKbW9kZWxfbmFtZRgBIAEoCRIVCg1tb2RlbF92ZXJzaW9uGAIgASgJEgoKAmlkGAMgASgJEkEKCnBhcmFtZXRlcnMYBCADKAsyLS5pbmZlcmVuY2UuTW9kZWxJbmZlclJlc3BvbnNlLlBhcmFtZXRlcnNFbnRyeRJACgdvdXRwdXRzGAUgAygLMi8uaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXNwb25zZS5JbmZlck91dHB1dFRlbnNvchIbChNyYXdfb3V0cHV0X2NvbnRlbnRzGAYgAygMGpcCChFJbmZlck91dHB1dFRlbnNvchIMCgRuYW1lGAEgASgJEhAKCGRhdGF0eXBlGAIgASgJEg0KBXNoYXBlGAMgAygDElMKCnBhcmFtZXRlcnMYBCADKAsyPy5pbmZlcmVuY2UuTW9kZWxJbmZlclJlc3BvbnNlLkluZmVyT3V0cHV0VGVuc29yLlBhcmFtZXRlcnNFbnRyeRIwCghjb250ZW50cxgFIAEoCzIeLmluZmVyZW5jZS5JbmZlclRlbnNvckNvbnRlbnRzGkwKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSKAoFdmFsdWUYAiABKAsyGS5pbmZlcmVuY2UuSW5mZXJQYXJhbWV0ZXI6AjgBGkwKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSKAoFdmFsdWUYAiABKAsyGS5pbmZlcmVuY2UuSW5mZXJQYXJhbWV0ZXI6AjgBImgKGE1vZGVsU3RyZWFtSW5mZXJSZXNwb25zZRIVCg1lcnJvcl9tZXNzYWdlGAEgASgJEjUKDmluZmVyX3Jlc3BvbnNlGAIgASgLMh0uaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXNwb25zZSIzChJNb2RlbENvbmZpZ1JlcXVlc3QSDAoEbmFtZRgBIAEoCRIPCgd2ZXJzaW9uGAIgASgJIj0KE01vZGVsQ29uZmlnUmVzcG9uc2USJgoGY29uZmlnGAEgASgLMhYuaW5mZXJlbmNlLk1vZGVsQ29uZmlnItMECgtNb2RlbENvbmZpZxIMCgRuYW1lGAEgASgJEhAKCHBsYXRmb3JtGAIgASgJEjUKDnZlcnNpb25fcG9saWN5GAMgASgLMh0uaW5mZXJlbmNlLk1vZGVsVmVyc2lvblBvbGljeRIWCg5tYXhfYmF0Y2hfc2l6ZRgEIAEoBRIkCgVpbnB1dBgFIAMoCzIVLmluZmVyZW5jZS5Nb2RlbElucHV0EiYKBm91dHB1dBgGIAMoCzIWLmluZmVyZW5jZS5Nb2RlbE91dHB1dBI1Cg5pbnN0YW5jZV9ncm91cBgHIAMoCzIdLmluZmVyZW5jZS5Nb2RlbEluc3RhbmNlR3JvdXASHgoWZGVmYXVsdF9tb2RlbF9maWxlbmFtZRgIIAEoCRI7ChBkeW5hbWljX2JhdGNoaW5nGAsgASgLMh8uaW5mZXJlbmNlLk1vZGVsRHluYW1pY0JhdGNoaW5nSAASOgoKcGFyYW1ldGVycxgOIAMoCzImLmluZmVyZW5jZS5Nb2RlbENvbmZpZy5QYXJhbWV0ZXJzRW50cnkSDwoHYmFja2VuZBgRIAEoCRJDChhtb2RlbF90cmFuc2FjdGlvbl9wb2xpY3kYEyABKAsyIS5pbmZlcmVuY2UuTW9kZWxUcmFuc2FjdGlvblBvbGljeRpMCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEigKBXZhbHVlGAIgASgLMhkuaW5mZXJlbmNlLk1vZGVsUGFyYW1ldGVyOgI4AUITChFzY2hlZHVsaW5nX2Nob2ljZSKAAQoKTW9kZWxJbnB1dBIMCgRuYW1lGAEgASgJEiYKCWRhdGFfdHlwZRgCIAEoDjITLmluZmVyZW5jZS5EYXRhVHlwZRIMCgRkaW1zGAQgAygDEi4KB3Jlc2hhcGUYBSABKAsyHS5pbmZlcmVuY2UuTW9kZWxUZW5zb3JSZXNoYXBlIoEBCgtNb2RlbE91dHB1dBIMCgRuYW1lGAEgASgJEiYKCWRhdGFfdHlwZRgCIAEoDjITLmluZmVyZW5jZS5EYXRhVHlwZRIMCgRkaW1zGAMgAygDEi4KB3Jlc2hhcGUYBSABKAsyHS5pbmZlcmVuY2UuTW9kZWxUZW5zb3JSZXNoYXBlIiMKEk1vZGVsVGVuc29yUmVzaGFwZRINCgVzaGFwZRgBIAMoAyJ9ChJNb2RlbFZlcnNpb25Qb2xpY3kSNgoGbGF0ZXN0GAEgASgLMiQuaW5mZXJlbmNlLk1vZGVsVmVyc2lvblBvbGljeS5MYXRlc3RIABoeCgZMYXRlc3QSFAoMbnVtX3ZlcnNpb25zGAEgASgNQg8KDXBvbGljeV9jaG9pY2UitAEKEk1vZGVsSW5zdGFuY2VHcm91cBIMCgRuYW1lGAEgASgJEg0KBWNvdW50GAIgASgFEgwKBGdwdXMYAyADKAUSMAoEa2luZBgEIAEoDjIiLmluZmVyZW5jZS5Nb2RlbEluc3RhbmNlR3JvdXAuS2luZCJBCgRLaW5kEg0KCUtJTkRfQVVUTxAAEgwKCEtJTkRfR1BVEAESDAoIS0lORF9DUFUQAhIOCgpLSU5EX01PREVMEAMirgEKFE1vZGVsRHluYW1pY0JhdGNoaW5nEhwKFHByZWZlcnJlZF9iYXRjaF9zaXplGAEgAygFEiQKHG1heF9xdWV1ZV9kZWxheV9taWNyb3NlY29uZHMYAiABKAQSGQoRcHJlc2VydmVfb3JkZXJpbmcYAyABKAgSFwoPcHJpb3JpdHlfbGV2ZWxzGAQgASgEEh4KFmRlZmF1bHRfcHJpb3JpdHlfbGV2ZWwYBSABKAQiJgoOTW9kZWxQYXJhbWV0ZXISFAoMc3RyaW5nX3ZhbHVlGAEgASgJIisKFk1vZGVsVHJhbnNhY3Rpb25Qb2xpY3kSEQoJZGVjb3VwbGVkGAEgASgIIjcKFk1vZGVsU3RhdGlzdGljc1JlcXVlc3QSDAoEbmFtZRgBIAEoCRIPCgd2ZXJzaW9uGAIgASgJIkoKF01vZGVsU3RhdGlzdGljc1Jlc3BvbnNlEi8KC21vZGVsX3N0YXRzGAEgAygLMhouaW5mZXJlbmNlLk1vZGVsU3RhdGlzdGljcyIuChFTdGF0aXN0aWNEdXJhdGlvbhINCgVjb3VudBgBIAEoBBIKCgJucxgCIAEoBCKcAwoPSW5mZXJTdGF0aXN0aWNzEi0KB3N1Y2Nlc3MYASABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SKgoEZmFpbBgCIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhIrCgVxdWV1ZRgDIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhIzCg1jb21wdXRlX2lucHV0GAQgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEjMKDWNvbXB1dGVfaW5mZXIYBSABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SNAoOY29tcHV0ZV9vdXRwdXQYBiABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SLwoJY2FjaGVfaGl0GAcgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEjAKCmNhY2hlX21pc3MYCCABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24iwwIKF0luZmVyUmVzcG9uc2VTdGF0aXN0aWNzEjMKDWNvbXB1dGVfaW5mZXIYASABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SNAoOY29tcHV0ZV9vdXRwdXQYAiABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SLQoHc3VjY2VzcxgDIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhIqCgRmYWlsGAQgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEjQKDmVtcHR5X3Jlc3BvbnNlGAUgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEiwKBmNhbmNlbBgGIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbiLKAQoUSW5mZXJCYXRjaFN0YXRpc3RpY3MSEgoKYmF0Y2hfc2l6ZRgBIAEoBBIzCg1jb21wdXRlX2lucHV0GAIgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEjMKDWNvbXB1dGVfaW5mZXIYAyABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SNAoOY29tcHV0ZV9vdXRwdXQYBCABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24iOgoLTWVtb3J5VXNhZ2USDAoEdHlwZRgBIAEoCRIKCgJpZBgCIAEoAxIRCglieXRlX3NpemUYAyABKAQitAMKD01vZGVsU3RhdGlzdGljcxIMCgRuYW1lGAEgASgJEg8KB3ZlcnNpb24YAiABKAkSFgoObGFzdF9pbmZlcmVuY2UYAyABKAQSFwoPaW5mZXJlbmNlX2NvdW50GAQgASgEEhcKD2V4ZWN1dGlvbl9jb3VudBgFIAEoBBIzCg9pbmZlcmVuY2Vfc3RhdHMYBiABKAsyGi5pbmZlcmVuY2UuSW5mZXJTdGF0aXN0aWNzEjQKC2JhdGNoX3N0YXRzGAcgAygLMh8uaW5mZXJlbmNlLkluZmVyQmF0Y2hTdGF0aXN0aWNzEiwKDG1lbW9yeV91c2FnZRgIIAMoCzIWLmluZmVyZW5jZS5NZW1vcnlVc2FnZRJFCg5yZXNwb25zZV9zdGF0cxgJIAMoCzItLmluZmVyZW5jZS5Nb2RlbFN0YXRpc3RpY3MuUmVzcG9uc2VTdGF0c0VudHJ5GlgKElJlc3BvbnNlU3RhdHNFbnRyeRILCgNrZXkYASABKAkSMQoFdmFsdWUYAiABKAsyIi5pbmZlcmVuY2UuSW5mZXJSZXNwb25zZVN0YXRpc3RpY3M6AjgBIkAKFlJlcG9zaXRvcnlJbmRleFJlcXVlc3QSFwoPcmVwb3NpdG9yeV9uYW1lGAEgASgJEg0KBXJlYWR5GAIgASgIIqQBChdSZXBvc2l0b3J5SW5kZXhSZXNwb25zZRI9CgZtb2RlbHMYASADKAsyLS5pbmZlcmVuY2UuUmVwb3NpdG9yeUluZGV4UmVzcG9uc2UuTW9kZWxJbmRleBpKCgpNb2RlbEluZGV4EgwKBG5hbWUYASABKAkSDwoHdmVyc2lvbhgCIAEoCRINCgVzdGF0ZRgDIAEoCRIOCgZyZWFzb24YBCABKAkiigEKGE1vZGVsUmVwb3NpdG9yeVBhcmFtZXRlchIUCgpib29sX3BhcmFtGAEgASgISAASFQoLaW50NjRfcGFyYW0YAiABKANIABIWCgxzdHJpbmdfcGFyYW0YAyABKAlIABIVCgtieXRlc19wYXJhbRgEIAEoDEgAQhIKEHBhcmFtZXRlcl9jaG9pY2Ui7AEKGlJlcG9zaXRvcnlNb2RlbExvYWRSZXF1ZXN0EhcKD3JlcG9zaXRvcnlfbmFtZRgBIAEoCRISCgptb2RlbF9uYW1lGAIgASgJEkkKCnBhcmFtZXRlcnMYAyADKAsyNS5pbmZlcmVuY2UuUmVwb3NpdG9yeU1vZGVsTG9hZFJlcXVlc3QuUGFyYW1ldGVyc0VudHJ5GlYKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSMgoFdmFsdWUYAiABKAsyIy5pbmZlcmVuY2UuTW9kZWxSZXBvc2l0b3J5UGFyYW1ldGVyOgI4ASIdChtSZXBvc2l0b3J5TW9kZWxMb2FkUmVzcG9uc2Ui8AEKHFJlcG9zaXRvcnlNb2RlbFVubG9hZFJlcXVlc3QSFwoPcmVwb3NpdG9yeV9uYW1lGAEgASgJEhIKCm1vZGVsX25hbWUYAiABKAkSSwoKcGFyYW1ldGVycxgDIAMoCzI3LmluZmVyZW5jZS5SZXBvc2l0b3J5TW9kZWxVbmxvYWRSZXF1ZXN0LlBhcmFtZXRlcnNFbnRyeRpWCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEjIKBXZhbHVlGAIgASgLMiMuaW5mZXJlbmNlLk1vZGVsUmVwb3NpdG9yeVBhcmFtZXRlcjoCOAEiHwodUmVwb3NpdG9yeU1vZGVsVW5sb2FkUmVzcG9uc2Uq+gEKCERhdGFUeXBlEhAKDFRZUEVfSU5WQUxJRBAAEg0KCVRZUEVfQk9PTBABEg4KClRZUEVfVUlOVDgQAhIPCgtUWVBFX1VJTlQxNhADEg8KC1RZUEVfVUlOVDMyEAQSDwoLVFlQRV9VSU5UNjQQBRINCglUWVBFX0lOVDgQBhIOCgpUWVBFX0lOVDE2EAcSDgoKVFlQRV9JTlQzMhAIEg4KClRZUEVfSU5UNjQQCRINCglUWVBFX0ZQMTYQChINCglUWVBFX0ZQMzIQCxINCglUWVBFX0ZQNjQQDBIPCgtUWVBFX1NUUklORxANEg0KCVRZUEVfQkYxNhAOMrcIChRHUlBDSW5mZXJlbmNlU2VydmljZRJLCgpTZXJ2ZXJMaXZlEhwuaW5mZXJlbmNlLlNlcnZlckxpdmVSZXF1ZXN0Gh0uaW5mZXJlbmNlLlNlcnZlckxpdmVSZXNwb25zZSIAEk4KC1NlcnZlclJlYWR5Eh0uaW5mZXJlbmNlLlNlcnZlclJlYWR5UmVxdWVzdBoeLmluZmVyZW5jZS5TZXJ2ZXJSZWFkeVJlc3BvbnNlIgASSwoKTW9kZWxSZWFkeRIcLmluZmVyZW5jZS5Nb2RlbFJlYWR5UmVxdWVzdBodLmluZmVyZW5jZS5Nb2RlbFJlYWR5UmVzcG9uc2UiABJXCg5TZXJ2ZXJNZXRhZGF0YRIgLmluZmVyZW5jZS5TZXJ2ZXJNZXRhZGF0YVJlcXVlc3QaIS5pbmZlcmVuY2UuU2VydmVyTWV0YWRhdGFSZXNwb25zZSIAElQKDU1vZGVsTWV0YWRhdGESHy5pbmZlcmVuY2UuTW9kZWxNZXRhZGF0YVJlcXVlc3QaIC5pbmZlcmVuY2UuTW9kZWxNZXRhZGF0YVJlc3BvbnNlIgASSwoKTW9kZWxJbmZlchIcLmluZmVyZW5jZS5Nb2RlbEluZmVyUmVxdWVzdBodLmluZmVyZW5jZS5Nb2RlbEluZmVyUmVzcG9uc2UiABJbChBNb2RlbFN0cmVhbUluZmVyEhwuaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXF1ZXN0GiMuaW5mZXJlbmNlLk1vZGVsU3RyZWFtSW5mZXJSZXNwb25zZSIAKAEwARJOCgtNb2RlbENvbmZpZxIdLmluZmVyZW5jZS5Nb2RlbENvbmZpZ1JlcXVlc3QaHi5pbmZlcmVuY2UuTW9kZWxDb25maWdSZXNwb25zZSIAEloKD01vZGVsU3RhdGlzdGljcxIhLmluZmVyZW5jZS5Nb2RlbFN0YXRpc3RpY3NSZXF1ZXN0GiIuaW5mZXJlbmNlLk1vZGVsU3RhdGlzdGljc1Jlc3BvbnNlIgASWgoPUmVwb3NpdG9yeUluZGV4EiEuaW5mZXJlbmNlLlJlcG9zaXRvcnlJbmRleFJlcXVlc3QaIi5pbmZlcmVuY2UuUmVwb3NpdG9yeUluZGV4UmVzcG9uc2UiABJmChNSZXBvc2l0b3J5TW9kZWxMb2FkEiUuaW5mZXJlbmNlLlJlcG9zaXRvcnlNb2RlbExvYWRSZXF1ZXN0GiYuaW5mZXJlbmNlLlJlcG9zaXRvcnlNb2RlbExvYWRSZXNwb25zZSIAEmwKFVJlcG9zaXRvcnlNb2RlbFVubG9hZBInLmluZmVyZW5jZS5SZXBvc2l0b3J5TW9kZWxVbmxvYWRSZXF1ZXN0GiguaW5mZXJlbmNlLlJlcG9zaXRvcnlNb2RlbFVubG9hZFJlc3BvbnNlIgBiBnByb3RvMw",
  );

/**
 * @generated from message inference.ServerLiveRequest
 */
export type ServerLiveRequest = Message<"inference.ServerLiveRequest">;

/**
 * Describes the message inference.ServerLiveRequest.
 * Use `create(ServerLiveRequestSchema)` to create a new message.
 */
export const ServerLiveRequestSchema: GenMessage<ServerLiveRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 0);

/**
 * @generated from message inference.ServerLiveResponse
 */
export type ServerLiveResponse = Message<"inference.ServerLiveResponse"> & {
  live: boolean;
};

/**
 * Describes the message inference.ServerLiveResponse.
 * Use `create(ServerLiveResponseSchema)` to create a new message.
 */
export const ServerLiveResponseSchema: GenMessage<ServerLiveResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 1);

/**
 * @generated from message inference.ServerReadyRequest
 */
export type ServerReadyRequest = Message<"inference.ServerReadyRequest">;

/**
 * Describes the message inference.ServerReadyRequest.
 * Use `create(ServerReadyRequestSchema)` to create a new message.
 */
export const ServerReadyRequestSchema: GenMessage<ServerReadyRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 2);

/**
 * @generated from message inference.ServerReadyResponse
 */
export type ServerReadyResponse = Message<"inference.ServerReadyResponse"> & {
  ready: boolean;
};

/**
 * Describes the message inference.ServerReadyResponse.
 * Use `create(ServerReadyResponseSchema)` to create a new message.
 */
export const ServerReadyResponseSchema: GenMessage<ServerReadyResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 3);

/**
 * @generated from message inference.ModelReadyRequest
 */
export type ModelReadyRequest = Message<"inference.ModelReadyRequest"> & {
  name: string;

  version: string;
};

/**
 * Describes the message inference.ModelReadyRequest.
 * Use `create(ModelReadyRequestSchema)` to create a new message.
 */
export const ModelReadyRequestSchema: GenMessage<ModelReadyRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 4);

/**
 * @generated from message inference.ModelReadyResponse
 */
export type ModelReadyResponse = Message<"inference.ModelReadyResponse"> & {
  ready: boolean;
};

/**
 * Describes the message inference.ModelReadyResponse.
 * Use `create(ModelReadyResponseSchema)` to create a new message.
 */
export const ModelReadyResponseSchema: GenMessage<ModelReadyResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 5);

/**
 * @generated from message inference.ServerMetadataRequest
 */
export type ServerMetadataRequest = Message<"inference.ServerMetadataRequest">;

/**
 * Describes the message inference.ServerMetadataRequest.
 * Use `create(ServerMetadataRequestSchema)` to create a new message.
 */
export const ServerMetadataRequestSchema: GenMessage<ServerMetadataRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 6);

/**
 * @generated from message inference.ServerMetadataResponse
 */
export type ServerMetadataResponse = Message<"inference.ServerMetadataResponse"> & {
  name: string;

  version: string;

  extensions: string[];
};

/**
 * Describes the message inference.ServerMetadataResponse.
 * Use `create(ServerMetadataResponseSchema)` to create a new message.
 */
export const ServerMetadataResponseSchema: GenMessage<ServerMetadataResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 7);

/**
 * @generated from message inference.ModelMetadataRequest
 */
export type ModelMetadataRequest = Message<"inference.ModelMetadataRequest"> & {
  name: string;

  version: string;
};

/**
 * Describes the message inference.ModelMetadataRequest.
 * Use `create(ModelMetadataRequestSchema)` to create a new message.
 */
export const ModelMetadataRequestSchema: GenMessage<ModelMetadataRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 8);

/**
 * @generated from message inference.ModelMetadataResponse
 */
export type ModelMetadataResponse = Message<"inference.ModelMetadataResponse"> & {
  name: string;

  versions: string[];

  platform: string;

  inputs: ModelMetadataResponse_TensorMetadata[];

  outputs: ModelMetadataResponse_TensorMetadata[];
};

/**
 * Describes the message inference.ModelMetadataResponse.
 * Use `create(ModelMetadataResponseSchema)` to create a new message.
 */
export const ModelMetadataResponseSchema: GenMessage<ModelMetadataResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 9);

/**
 * @generated from message inference.ModelMetadataResponse.TensorMetadata
 */
export type ModelMetadataResponse_TensorMetadata =
  Message<"inference.ModelMetadataResponse.TensorMetadata"> & {
    name: string;

    datatype: string;

    shape: bigint[];
  };

/**
 * Describes the message inference.ModelMetadataResponse.TensorMetadata.
 * Use `create(ModelMetadataResponse_TensorMetadataSchema)` to create a new message.
 */
export const ModelMetadataResponse_TensorMetadataSchema: GenMessage<ModelMetadataResponse_TensorMetadata> =
  /*@__PURE__*/
  messageDesc(file_inference, 9, 0);

/**
 * @generated from message inference.InferParameter
 */
export type InferParameter = Message<"inference.InferParameter"> & {
  parameterChoice:
    | {
        value: boolean;
        case: "boolParam";
      }
    | {
        value: bigint;
        case: "int64Param";
      }
    | {
        value: string;
        case: "stringParam";
      }
    | {
        value: number;
        case: "doubleParam";
      }
    | {
        value: bigint;
        case: "uint64Param";
      }
    | { case: undefined; value?: undefined };
};

/**
 * Describes the message inference.InferParameter.
 * Use `create(InferParameterSchema)` to create a new message.
 */
export const InferParameterSchema: GenMessage<InferParameter> =
  /*@__PURE__*/
  messageDesc(file_inference, 10);

/**
 * Elements by the type of the tensor; 16-bit floats have no field and are sent as raw contents.
 *
 * @generated from message inference.InferTensorContents
 */
export type InferTensorContents = Message<"inference.InferTensorContents"> & {
  boolContents: boolean[];

  intContents: number[];

  int64Contents: bigint[];

  uintContents: number[];

  uint64Contents: bigint[];

  fp32Contents: number[];

  fp64Contents: number[];

  bytesContents: Uint8Array[];
};

/**
 * Describes the message inference.InferTensorContents.
 * Use `create(InferTensorContentsSchema)` to create a new message.
 */
export const InferTensorContentsSchema: GenMessage<InferTensorContents> =
  /*@__PURE__*/
  messageDesc(file_inference, 11);

/**
 * @generated from message inference.ModelInferRequest
 */
export type ModelInferRequest = Message<"inference.ModelInferRequest"> & {
  modelName: string;

  modelVersion: string;

  id: string;

  parameters: { [key: string]: InferParameter };

  inputs: ModelInferRequest_InferInputTensor[];

  outputs: ModelInferRequest_InferRequestedOutputTensor[];

  rawInputContents: Uint8Array[];
};

/**
 * Describes the message inference.ModelInferRequest.
 * Use `create(ModelInferRequestSchema)` to create a new message.
 */
export const ModelInferRequestSchema: GenMessage<ModelInferRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 12);

/**
 * @generated from message inference.ModelInferRequest.InferInputTensor
 */
export type ModelInferRequest_InferInputTensor =
  Message<"inference.ModelInferRequest.InferInputTensor"> & {
    name: string;

    datatype: string;

    shape: bigint[];

    parameters: { [key: string]: InferParameter };

    contents?: InferTensorContents | undefined;
  };

/**
 * Describes the message inference.ModelInferRequest.InferInputTensor.
 * Use `create(ModelInferRequest_InferInputTensorSchema)` to create a new message.
 */
export const ModelInferRequest_InferInputTensorSchema: GenMessage<ModelInferRequest_InferInputTensor> =
  /*@__PURE__*/
  messageDesc(file_inference, 12, 0);

/**
 * @generated from message inference.ModelInferRequest.InferRequestedOutputTensor
 */
export type ModelInferRequest_InferRequestedOutputTensor =
  Message<"inference.ModelInferRequest.InferRequestedOutputTensor"> & {
    name: string;

    parameters: { [key: string]: InferParameter };
  };

/**
 * Describes the message inference.ModelInferRequest.InferRequestedOutputTensor.
 * Use `create(ModelInferRequest_InferRequestedOutputTensorSchema)` to create a new message.
 */
export const ModelInferRequest_InferRequestedOutputTensorSchema: GenMessage<ModelInferRequest_InferRequestedOutputTensor> =
  /*@__PURE__*/
  messageDesc(file_inference, 12, 1);

/**
 * @generated from message inference.ModelInferResponse
 */
export type ModelInferResponse = Message<"inference.ModelInferResponse"> & {
  modelName: string;

  modelVersion: string;

  id: string;

  parameters: { [key: string]: InferParameter };

  outputs: ModelInferResponse_InferOutputTensor[];

  rawOutputContents: Uint8Array[];
};

/**
 * Describes the message inference.ModelInferResponse.
 * Use `create(ModelInferResponseSchema)` to create a new message.
 */
export const ModelInferResponseSchema: GenMessage<ModelInferResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 13);

/**
 * @generated from message inference.ModelInferResponse.InferOutputTensor
 */
export type ModelInferResponse_InferOutputTensor =
  Message<"inference.ModelInferResponse.InferOutputTensor"> & {
    name: string;

    datatype: string;

    shape: bigint[];

    parameters: { [key: string]: InferParameter };

    contents?: InferTensorContents | undefined;
  };

/**
 * Describes the message inference.ModelInferResponse.InferOutputTensor.
 * Use `create(ModelInferResponse_InferOutputTensorSchema)` to create a new message.
 */
export const ModelInferResponse_InferOutputTensorSchema: GenMessage<ModelInferResponse_InferOutputTensor> =
  /*@__PURE__*/
  messageDesc(file_inference, 13, 0);

/**
 * @generated from message inference.ModelStreamInferResponse
 */
export type ModelStreamInferResponse = Message<"inference.ModelStreamInferResponse"> & {
  errorMessage: string;

  inferResponse?: ModelInferResponse | undefined;
};

/**
 * Describes the message inference.ModelStreamInferResponse.
 * Use `create(ModelStreamInferResponseSchema)` to create a new message.
 */
export const ModelStreamInferResponseSchema: GenMessage<ModelStreamInferResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 14);

/**
 * @generated from message inference.ModelConfigRequest
 */
export type ModelConfigRequest = Message<"inference.ModelConfigRequest"> & {
  name: string;

  version: string;
};

/**
 * Describes the message inference.ModelConfigRequest.
 * Use `create(ModelConfigRequestSchema)` to create a new message.
 */
export const ModelConfigRequestSchema: GenMessage<ModelConfigRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 15);

/**
 * @generated from message inference.ModelConfigResponse
 */
export type ModelConfigResponse = Message<"inference.ModelConfigResponse"> & {
  config?: ModelConfig | undefined;
};

/**
 * Describes the message inference.ModelConfigResponse.
 * Use `create(ModelConfigResponseSchema)` to create a new message.
 */
export const ModelConfigResponseSchema: GenMessage<ModelConfigResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 16);

/**
 * @generated from message inference.ModelConfig
 */
export type ModelConfig = Message<"inference.ModelConfig"> & {
  name: string;

  platform: string;

  versionPolicy?: ModelVersionPolicy | undefined;

  maxBatchSize: number;

  input: ModelInput[];

  output: ModelOutput[];

  instanceGroup: ModelInstanceGroup[];

  defaultModelFilename: string;

  schedulingChoice:
    | {
        value: ModelDynamicBatching;
        case: "dynamicBatching";
      }
    | { case: undefined; value?: undefined };

  parameters: { [key: string]: ModelParameter };

  backend: string;

  modelTransactionPolicy?: ModelTransactionPolicy | undefined;
};

/**
 * Describes the message inference.ModelConfig.
 * Use `create(ModelConfigSchema)` to create a new message.
 */
export const ModelConfigSchema: GenMessage<ModelConfig> =
  /*@__PURE__*/
  messageDesc(file_inference, 17);

/**
 * @generated from message inference.ModelInput
 */
export type ModelInput = Message<"inference.ModelInput"> & {
  name: string;

  dataType: DataType;

  dims: bigint[];

  reshape?: ModelTensorReshape | undefined;
};

/**
 * Describes the message inference.ModelInput.
 * Use `create(ModelInputSchema)` to create a new message.
 */
export const ModelInputSchema: GenMessage<ModelInput> =
  /*@__PURE__*/
  messageDesc(file_inference, 18);

/**
 * @generated from message inference.ModelOutput
 */
export type ModelOutput = Message<"inference.ModelOutput"> & {
  name: string;

  dataType: DataType;

  dims: bigint[];

  reshape?: ModelTensorReshape | undefined;
};

/**
 * Describes the message inference.ModelOutput.
 * Use `create(ModelOutputSchema)` to create a new message.
 */
export const ModelOutputSchema: GenMessage<ModelOutput> =
  /*@__PURE__*/
  messageDesc(file_inference, 19);

/**
 * @generated from message inference.ModelTensorReshape
 */
export type ModelTensorReshape = Message<"inference.ModelTensorReshape"> & {
  shape: bigint[];
};

/**
 * Describes the message inference.ModelTensorReshape.
 * Use `create(ModelTensorReshapeSchema)` to create a new message.
 */
export const ModelTensorReshapeSchema: GenMessage<ModelTensorReshape> =
  /*@__PURE__*/
  messageDesc(file_inference, 20);

/**
 * @generated from message inference.ModelVersionPolicy
 */
export type ModelVersionPolicy = Message<"inference.ModelVersionPolicy"> & {
  policyChoice:
    | {
        value: ModelVersionPolicy_Latest;
        case: "latest";
      }
    | { case: undefined; value?: undefined };
};

/**
 * Describes the message inference.ModelVersionPolicy.
 * Use `create(ModelVersionPolicySchema)` to create a new message.
 */
export const ModelVersionPolicySchema: GenMessage<ModelVersionPolicy> =
  /*@__PURE__*/
  messageDesc(file_inference, 21);

/**
 * @generated from message inference.ModelVersionPolicy.Latest
 */
export type ModelVersionPolicy_Latest = Message<"inference.ModelVersionPolicy.Latest"> & {
  numVersions: number;
};

/**
 * Describes the message inference.ModelVersionPolicy.Latest.
 * Use `create(ModelVersionPolicy_LatestSchema)` to create a new message.
 */
export const ModelVersionPolicy_LatestSchema: GenMessage<ModelVersionPolicy_Latest> =
  /*@__PURE__*/
  messageDesc(file_inference, 21, 0);

/**
 * @generated from message inference.ModelInstanceGroup
 */
export type ModelInstanceGroup = Message<"inference.ModelInstanceGroup"> & {
  name: string;

  count: number;

  gpus: number[];

  kind: ModelInstanceGroup_Kind;
};

/**
 * Describes the message inference.ModelInstanceGroup.
 * Use `create(ModelInstanceGroupSchema)` to create a new message.
 */
export const ModelInstanceGroupSchema: GenMessage<ModelInstanceGroup> =
  /*@__PURE__*/
  messageDesc(file_inference, 22);

/**
 * @generated from enum inference.ModelInstanceGroup.Kind
 */
export const ModelInstanceGroup_Kind = {
  AUTO: 0,
  GPU: 1,
  CPU: 2,
  MODEL: 3,
} as const;
export type ModelInstanceGroup_Kind =
  (typeof ModelInstanceGroup_Kind)[keyof typeof ModelInstanceGroup_Kind];

/**
 * Describes the enum inference.ModelInstanceGroup.Kind.
 */
export const ModelInstanceGroup_KindSchema: GenEnum<ModelInstanceGroup_Kind> =
  /*@__PURE__*/
  enumDesc(file_inference, 22, 0);

/**
 * @generated from message inference.ModelDynamicBatching
 */
export type ModelDynamicBatching = Message<"inference.ModelDynamicBatching"> & {
  preferredBatchSize: number[];

  maxQueueDelayMicroseconds: bigint;

  preserveOrdering: boolean;

  priorityLevels: bigint;

  defaultPriorityLevel: bigint;
};

/**
 * Describes the message inference.ModelDynamicBatching.
 * Use `create(ModelDynamicBatchingSchema)` to create a new message.
 */
export const ModelDynamicBatchingSchema: GenMessage<ModelDynamicBatching> =
  /*@__PURE__*/
  messageDesc(file_inference, 23);

/**
 * @generated from message inference.ModelParameter
 */
export type ModelParameter = Message<"inference.ModelParameter"> & {
  stringValue: string;
};

/**
 * Describes the message inference.ModelParameter.
 * Use `create(ModelParameterSchema)` to create a new message.
 */
export const ModelParameterSchema: GenMessage<ModelParameter> =
  /*@__PURE__*/
  messageDesc(file_inference, 24);

/**
 * @generated from message inference.ModelTransactionPolicy
 */
export type ModelTransactionPolicy = Message<"inference.ModelTransactionPolicy"> & {
  decoupled: boolean;
};

/**
 * Describes the message inference.ModelTransactionPolicy.
 * Use `create(ModelTransactionPolicySchema)` to create a new message.
 */
export const ModelTransactionPolicySchema: GenMessage<ModelTransactionPolicy> =
  /*@__PURE__*/
  messageDesc(file_inference, 25);

/**
 * @generated from message inference.ModelStatisticsRequest
 */
export type ModelStatisticsRequest = Message<"inference.ModelStatisticsRequest"> & {
  name: string;

  version: string;
};

/**
 * Describes the message inference.ModelStatisticsRequest.
 * Use `create(ModelStatisticsRequestSchema)` to create a new message.
 */
export const ModelStatisticsRequestSchema: GenMessage<ModelStatisticsRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 26);

/**
 * @generated from message inference.ModelStatisticsResponse
 */
export type ModelStatisticsResponse = Message<"inference.ModelStatisticsResponse"> & {
  modelStats: ModelStatistics[];
};

/**
 * Describes the message inference.ModelStatisticsResponse.
 * Use `create(ModelStatisticsResponseSchema)` to create a new message.
 */
export const ModelStatisticsResponseSchema: GenMessage<ModelStatisticsResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 27);

/**
 * @generated from message inference.StatisticDuration
 */
export type StatisticDuration = Message<"inference.StatisticDuration"> & {
  count: bigint;

  ns: bigint;
};

/**
 * Describes the message inference.StatisticDuration.
 * Use `create(StatisticDurationSchema)` to create a new message.
 */
export const StatisticDurationSchema: GenMessage<StatisticDuration> =
  /*@__PURE__*/
  messageDesc(file_inference, 28);

/**
 * @generated from message inference.InferStatistics
 */
export type InferStatistics = Message<"inference.InferStatistics"> & {
  success?: StatisticDuration | undefined;

  fail?: StatisticDuration | undefined;

  queue?: StatisticDuration | undefined;

  computeInput?: StatisticDuration | undefined;

  computeInfer?: StatisticDuration | undefined;

  computeOutput?: StatisticDuration | undefined;

  cacheHit?: StatisticDuration | undefined;

  cacheMiss?: StatisticDuration | undefined;
};

/**
 * Describes the message inference.InferStatistics.
 * Use `create(InferStatisticsSchema)` to create a new message.
 */
export const InferStatisticsSchema: GenMessage<InferStatistics> =
  /*@__PURE__*/
  messageDesc(file_inference, 29);

/**
 * @generated from message inference.InferResponseStatistics
 */
export type InferResponseStatistics = Message<"inference.InferResponseStatistics"> & {
  computeInfer?: StatisticDuration | undefined;

  computeOutput?: StatisticDuration | undefined;

  success?: StatisticDuration | undefined;

  fail?: StatisticDuration | undefined;

  emptyResponse?: StatisticDuration | undefined;

  cancel?: StatisticDuration | undefined;
};

/**
 * Describes the message inference.InferResponseStatistics.
 * Use `create(InferResponseStatisticsSchema)` to create a new message.
 */
export const InferResponseStatisticsSchema: GenMessage<InferResponseStatistics> =
  /*@__PURE__*/
  messageDesc(file_inference, 30);

/**
 * @generated from message inference.InferBatchStatistics
 */
export type InferBatchStatistics = Message<"inference.InferBatchStatistics"> & {
  batchSize: bigint;

  computeInput?: StatisticDuration | undefined;

  computeInfer?: StatisticDuration | undefined;

  computeOutput?: StatisticDuration | undefined;
};

/**
 * Describes the message inference.InferBatchStatistics.
 * Use `create(InferBatchStatisticsSchema)` to create a new message.
 */
export const InferBatchStatisticsSchema: GenMessage<InferBatchStatistics> =
  /*@__PURE__*/
  messageDesc(file_inference, 31);

/**
 * @generated from message inference.MemoryUsage
 */
export type MemoryUsage = Message<"inference.MemoryUsage"> & {
  type: string;

  id: bigint;

  byteSize: bigint;
};

/**
 * Describes the message inference.MemoryUsage.
 * Use `create(MemoryUsageSchema)` to create a new message.
 */
export const MemoryUsageSchema: GenMessage<MemoryUsage> =
  /*@__PURE__*/
  messageDesc(file_inference, 32);

/**
 * @generated from message inference.ModelStatistics
 */
export type ModelStatistics = Message<"inference.ModelStatistics"> & {
  name: string;

  version: string;

  lastInference: bigint;

  inferenceCount: bigint;

  executionCount: bigint;

  inferenceStats?: InferStatistics | undefined;

  batchStats: InferBatchStatistics[];

  memoryUsage: MemoryUsage[];

  responseStats: { [key: string]: InferResponseStatistics };
};

/**
 * Describes the message inference.ModelStatistics.
 * Use `create(ModelStatisticsSchema)` to create a new message.
 */
export const ModelStatisticsSchema: GenMessage<ModelStatistics> =
  /*@__PURE__*/
  messageDesc(file_inference, 33);

/**
 * @generated from message inference.RepositoryIndexRequest
 */
export type RepositoryIndexRequest = Message<"inference.RepositoryIndexRequest"> & {
  repositoryName: string;

  ready: boolean;
};

/**
 * Describes the message inference.RepositoryIndexRequest.
 * Use `create(RepositoryIndexRequestSchema)` to create a new message.
 */
export const RepositoryIndexRequestSchema: GenMessage<RepositoryIndexRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 34);

/**
 * @generated from message inference.RepositoryIndexResponse
 */
export type RepositoryIndexResponse = Message<"inference.RepositoryIndexResponse"> & {
  models: RepositoryIndexResponse_ModelIndex[];
};

/**
 * Describes the message inference.RepositoryIndexResponse.
 * Use `create(RepositoryIndexResponseSchema)` to create a new message.
 */
export const RepositoryIndexResponseSchema: GenMessage<RepositoryIndexResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 35);

/**
 * @generated from message inference.RepositoryIndexResponse.ModelIndex
 */
export type RepositoryIndexResponse_ModelIndex =
  Message<"inference.RepositoryIndexResponse.ModelIndex"> & {
    name: string;

    version: string;

    state: string;

    reason: string;
  };

/**
 * Describes the message inference.RepositoryIndexResponse.ModelIndex.
 * Use `create(RepositoryIndexResponse_ModelIndexSchema)` to create a new message.
 */
export const RepositoryIndexResponse_ModelIndexSchema: GenMessage<RepositoryIndexResponse_ModelIndex> =
  /*@__PURE__*/
  messageDesc(file_inference, 35, 0);

/**
 * @generated from message inference.ModelRepositoryParameter
 */
export type ModelRepositoryParameter = Message<"inference.ModelRepositoryParameter"> & {
  parameterChoice:
    | {
        value: boolean;
        case: "boolParam";
      }
    | {
        value: bigint;
        case: "int64Param";
      }
    | {
        value: string;
        case: "stringParam";
      }
    | {
        value: Uint8Array;
        case: "bytesParam";
      }
    | { case: undefined; value?: undefined };
};

/**
 * Describes the message inference.ModelRepositoryParameter.
 * Use `create(ModelRepositoryParameterSchema)` to create a new message.
 */
export const ModelRepositoryParameterSchema: GenMessage<ModelRepositoryParameter> =
  /*@__PURE__*/
  messageDesc(file_inference, 36);

/**
 * @generated from message inference.RepositoryModelLoadRequest
 */
export type RepositoryModelLoadRequest = Message<"inference.RepositoryModelLoadRequest"> & {
  repositoryName: string;

  modelName: string;

  parameters: { [key: string]: ModelRepositoryParameter };
};

/**
 * Describes the message inference.RepositoryModelLoadRequest.
 * Use `create(RepositoryModelLoadRequestSchema)` to create a new message.
 */
export const RepositoryModelLoadRequestSchema: GenMessage<RepositoryModelLoadRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 37);

/**
 * @generated from message inference.RepositoryModelLoadResponse
 */
export type RepositoryModelLoadResponse = Message<"inference.RepositoryModelLoadResponse">;

/**
 * Describes the message inference.RepositoryModelLoadResponse.
 * Use `create(RepositoryModelLoadResponseSchema)` to create a new message.
 */
export const RepositoryModelLoadResponseSchema: GenMessage<RepositoryModelLoadResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 38);

/**
 * @generated from message inference.RepositoryModelUnloadRequest
 */
export type RepositoryModelUnloadRequest = Message<"inference.RepositoryModelUnloadRequest"> & {
  repositoryName: string;

  modelName: string;

  parameters: { [key: string]: ModelRepositoryParameter };
};

/**
 * Describes the message inference.RepositoryModelUnloadRequest.
 * Use `create(RepositoryModelUnloadRequestSchema)` to create a new message.
 */
export const RepositoryModelUnloadRequestSchema: GenMessage<RepositoryModelUnloadRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 39);

/**
 * @generated from message inference.RepositoryModelUnloadResponse
 */
export type RepositoryModelUnloadResponse = Message<"inference.RepositoryModelUnloadResponse">;

/**
 * Describes the message inference.RepositoryModelUnloadResponse.
 * Use `create(RepositoryModelUnloadResponseSchema)` to create a new message.
 */
export const RepositoryModelUnloadResponseSchema: GenMessage<RepositoryModelUnloadResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 40);

/**
 * @generated from enum inference.DataType
 */
export const DataType = {
  TYPE_INVALID: 0,
  TYPE_BOOL: 1,
  TYPE_UINT8: 2,
  TYPE_UINT16: 3,
  TYPE_UINT32: 4,
  TYPE_UINT64: 5,
  TYPE_INT8: 6,
  TYPE_INT16: 7,
  TYPE_INT32: 8,
  TYPE_INT64: 9,
  TYPE_FP16: 10,
  TYPE_FP32: 11,
  TYPE_FP64: 12,
  TYPE_STRING: 13,
  TYPE_BF16: 14,
} as const;
export type DataType = (typeof DataType)[keyof typeof DataType];

/**
 * Describes the enum inference.DataType.
 */
export const DataTypeSchema: GenEnum<DataType> = /*@__PURE__*/ enumDesc(file_inference, 0);

/**
 * @generated from service inference.GRPCInferenceService
 */
export const GRPCInferenceService: GenService<{
  /**
   * @generated from rpc inference.GRPCInferenceService.ServerLive
   */
  serverLive: {
    methodKind: "unary";
    input: typeof ServerLiveRequestSchema;
    output: typeof ServerLiveResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.ServerReady
   */
  serverReady: {
    methodKind: "unary";
    input: typeof ServerReadyRequestSchema;
    output: typeof ServerReadyResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.ModelReady
   */
  modelReady: {
    methodKind: "unary";
    input: typeof ModelReadyRequestSchema;
    output: typeof ModelReadyResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.ServerMetadata
   */
  serverMetadata: {
    methodKind: "unary";
    input: typeof ServerMetadataRequestSchema;
    output: typeof ServerMetadataResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.ModelMetadata
   */
  modelMetadata: {
    methodKind: "unary";
    input: typeof ModelMetadataRequestSchema;
    output: typeof ModelMetadataResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.ModelInfer
   */
  modelInfer: {
    methodKind: "unary";
    input: typeof ModelInferRequestSchema;
    output: typeof ModelInferResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.ModelStreamInfer
   */
  modelStreamInfer: {
    methodKind: "bidi_streaming";
    input: typeof ModelInferRequestSchema;
    output: typeof ModelStreamInferResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.ModelConfig
   */
  modelConfig: {
    methodKind: "unary";
    input: typeof ModelConfigRequestSchema;
    output: typeof ModelConfigResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.ModelStatistics
   */
  modelStatistics: {
    methodKind: "unary";
    input: typeof ModelStatisticsRequestSchema;
    output: typeof ModelStatisticsResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.RepositoryIndex
   */
  repositoryIndex: {
    methodKind: "unary";
    input: typeof RepositoryIndexRequestSchema;
    output: typeof RepositoryIndexResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.RepositoryModelLoad
   */
  repositoryModelLoad: {
    methodKind: "unary";
    input: typeof RepositoryModelLoadRequestSchema;
    output: typeof RepositoryModelLoadResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.RepositoryModelUnload
   */
  repositoryModelUnload: {
    methodKind: "unary";
    input: typeof RepositoryModelUnloadRequestSchema;
    output: typeof RepositoryModelUnloadResponseSchema;
  };
}> = /*@__PURE__*/ serviceDesc(file_inference, 0);
