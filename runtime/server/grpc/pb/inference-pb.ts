// @generated: messages of the gRPC listener, from proto/inference.proto.
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
    "Cg9pbmZlcmVuY2UucHJvdG8SCWluZmVyZW5jZSITChFTZXJ2ZXJMaXZlUmVxdWVzdCIiChJTZXJ2ZXJMaXZlUmVzcG9uc2USDAoEbGl2ZRgBIAEoCCIUChJTZXJ2ZXJSZWFkeVJlcXVlc3QiJAoTU2VydmVyUmVhZHlSZXNwb25zZRINCgVyZWFkeRgBIAEoCCIyChFNb2RlbFJlYWR5UmVxdWVzdBIMCgRuYW1lGAEgASgJEg8KB3ZlcnNpb24YAiABKAkiIwoSTW9kZWxSZWFkeVJlc3BvbnNlEg0KBXJlYWR5GAEgASgIIhcKFVNlcnZlck1ldGFkYXRhUmVxdWVzdCJLChZTZXJ2ZXJNZXRhZGF0YVJlc3BvbnNlEgwKBG5hbWUYASABKAkSDwoHdmVyc2lvbhgCIAEoCRISCgpleHRlbnNpb25zGAMgAygJIjUKFE1vZGVsTWV0YWRhdGFSZXF1ZXN0EgwKBG5hbWUYASABKAkSDwoHdmVyc2lvbhgCIAEoCSKNAgoVTW9kZWxNZXRhZGF0YVJlc3BvbnNlEgwKBG5hbWUYASABKAkSEAoIdmVyc2lvbnMYAiADKAkSEAoIcGxhdGZvcm0YAyABKAkSPwoGaW5wdXRzGAQgAygLMi8uaW5mZXJlbmNlLk1vZGVsTWV0YWRhdGFSZXNwb25zZS5UZW5zb3JNZXRhZGF0YRJACgdvdXRwdXRzGAUgAygLMi8uaW5mZXJlbmNlLk1vZGVsTWV0YWRhdGFSZXNwb25zZS5UZW5zb3JNZXRhZGF0YRo/Cg5UZW5zb3JNZXRhZGF0YRIMCgRuYW1lGAEgASgJEhAKCGRhdGF0eXBlGAIgASgJEg0KBXNoYXBlGAMgAygDIpkBCg5JbmZlclBhcmFtZXRlchIUCgpib29sX3BhcmFtGAEgASgISAASFQoLaW50NjRfcGFyYW0YAiABKANIABIWCgxzdHJpbmdfcGFyYW0YAyABKAlIABIWCgxkb3VibGVfcGFyYW0YBCABKAFIABIWCgx1aW50NjRfcGFyYW0YBSABKARIAEISChBwYXJhbWV0ZXJfY2hvaWNlItABChNJbmZlclRlbnNvckNvbnRlbnRzEhUKDWJvb2xfY29udGVudHMYASADKAgSFAoMaW50X2NvbnRlbnRzGAIgAygFEhYKDmludDY0X2NvbnRlbnRzGAMgAygDEhUKDXVpbnRfY29udGVudHMYBCADKA0SFwoPdWludDY0X2NvbnRlbnRzGAUgAygEEhUKDWZwMzJfY29udGVudHMYBiADKAISFQoNZnA2NF9jb250ZW50cxgHIAMoARIWCg5ieXRlc19jb250ZW50cxgIIAMoDCLuBgoRTW9kZWxJbmZlclJlcXVlc3QSEgoKbW9kZWxfbmFtZRgBIAEoCRIVCg1tb2RlbF92ZXJzaW9uGAIgASgJEgoKAmlkGAMgASgJEkAKCnBhcmFtZXRlcnMYBCADKAsyLC5pbmZlcmVuY2UuTW9kZWxJbmZlclJlcXVlc3QuUGFyYW1ldGVyc0VudHJ5Ej0KBmlucHV0cxgFIAMoCzItLmluZmVyZW5jZS5Nb2RlbEluZmVyUmVxdWVzdC5JbmZlcklucHV0VGVuc29yEkgKB291dHB1dHMYBiADKAsyNy5pbmZlcmVuY2UuTW9kZWxJbmZlclJlcXVlc3QuSW5mZXJSZXF1ZXN0ZWRPdXRwdXRUZW5zb3ISGgoScmF3X2lucHV0X2NvbnRlbnRzGAcgAygMGpQCChBJbmZlcklucHV0VGVuc29yEgwKBG5hbWUYASABKAkSEAoIZGF0YXR5cGUYAiABKAkSDQoFc2hhcGUYAyADKAMSUQoKcGFyYW1ldGVycxgEIAMoCzI9LmluZmVyZW5jZS5Nb2RlbEluZmVyUmVxdWVzdC5JbmZlcklucHV0VGVuc29yLlBhcmFtZXRlcnNFbnRyeRIwCghjb250ZW50cxgFIAEoCzIeLmluZmVyZW5jZS5JbmZlclRlbnNvckNvbnRlbnRzGkwKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSKAoFdmFsdWUYAiABKAsyGS5pbmZlcmVuY2UuSW5mZXJQYXJhbWV0ZXI6AjgBGtUBChpJbmZlclJlcXVlc3RlZE91dHB1dFRlbnNvchIMCgRuYW1lGAEgASgJElsKCnBhcmFtZXRlcnMYAiADKAsyRy5pbmZlcmVuY2UuTW9kZWxJbmZlclJlcXVlc3QuSW5mZXJSZXF1ZXN0ZWRPdXRwdXRUZW5zb3IuUGFyYW1ldGVyc0VudHJ5GkwKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSKAoFdmFsdWUYAiABKAsyGS5pbmZlcmVuY2UuSW5mZXJQYXJhbWV0ZXI6AjgBGkwKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSKAoFdmFsdWUYAiABKAsyGS5pbmZlcmVuY2UuSW5mZXJQYXJhbWV0ZXI6AjgBItUEChJNb2RlbEluZmVyUmVzcG9uc2USEgoKbW9kZWxfbmFtZRgBIAEoCRIVCg1tb2RlbF92ZXJzaW9uGAIgASgJEgoKAmlkGAMgASgJEkEKCnBhcmFtZXRlcnMYBCADKAsyLS5pbmZlcmVuY2UuTW9kZWxJbmZlclJlc3BvbnNlLlBhcmFtZXRlcnNFbnRyeRJACgdvdXRwdXRzGAUgAygLMi8uaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXNwb25zZS5JbmZlck91dHB1dFRlbnNvchIbChNyYXdfb3V0cHV0X2NvbnRlbnRzGAYgAygMGpcCChFJbmZlck91dHB1dFRlbnNvchIMCgRuYW1lGAEgASgJEhAKCGRhdGF0eXBlGAIgASgJEg0KBXNoYXBlGAMgAygDElMKCnBhcmFtZXRlcnMYBCADKAsyPy5pbmZlcmVuY2UuTW9kZWxJbmZlclJlc3BvbnNlLkluZmVyT3V0cHV0VGVuc29yLlBhcmFtZXRlcnNFbnRyeRIwCghjb250ZW50cxgFIAEoCzIeLmluZmVyZW5jZS5JbmZlclRlbnNvckNvbnRlbnRzGkwKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSKAoFdmFsdWUYAiABKAsyGS5pbmZlcmVuY2UuSW5mZXJQYXJhbWV0ZXI6AjgBGkwKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSKAoFdmFsdWUYAiABKAsyGS5pbmZlcmVuY2UuSW5mZXJQYXJhbWV0ZXI6AjgBImgKGE1vZGVsU3RyZWFtSW5mZXJSZXNwb25zZRIVCg1lcnJvcl9tZXNzYWdlGAEgASgJEjUKDmluZmVyX3Jlc3BvbnNlGAIgASgLMh0uaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXNwb25zZSIzChJNb2RlbENvbmZpZ1JlcXVlc3QSDAoEbmFtZRgBIAEoCRIPCgd2ZXJzaW9uGAIgASgJIj0KE01vZGVsQ29uZmlnUmVzcG9uc2USJgoGY29uZmlnGAEgASgLMhYuaW5mZXJlbmNlLk1vZGVsQ29uZmlnIpIFCgtNb2RlbENvbmZpZxIMCgRuYW1lGAEgASgJEhAKCHBsYXRmb3JtGAIgASgJEjUKDnZlcnNpb25fcG9saWN5GAMgASgLMh0uaW5mZXJlbmNlLk1vZGVsVmVyc2lvblBvbGljeRIWCg5tYXhfYmF0Y2hfc2l6ZRgEIAEoBRIkCgVpbnB1dBgFIAMoCzIVLmluZmVyZW5jZS5Nb2RlbElucHV0EiYKBm91dHB1dBgGIAMoCzIWLmluZmVyZW5jZS5Nb2RlbE91dHB1dBI1Cg5pbnN0YW5jZV9ncm91cBgHIAMoCzIdLmluZmVyZW5jZS5Nb2RlbEluc3RhbmNlR3JvdXASHgoWZGVmYXVsdF9tb2RlbF9maWxlbmFtZRgIIAEoCRI7ChBkeW5hbWljX2JhdGNoaW5nGAsgASgLMh8uaW5mZXJlbmNlLk1vZGVsRHluYW1pY0JhdGNoaW5nSAASPQoRc2VxdWVuY2VfYmF0Y2hpbmcYDSABKAsyIC5pbmZlcmVuY2UuTW9kZWxTZXF1ZW5jZUJhdGNoaW5nSAASOgoKcGFyYW1ldGVycxgOIAMoCzImLmluZmVyZW5jZS5Nb2RlbENvbmZpZy5QYXJhbWV0ZXJzRW50cnkSDwoHYmFja2VuZBgRIAEoCRJDChhtb2RlbF90cmFuc2FjdGlvbl9wb2xpY3kYEyABKAsyIS5pbmZlcmVuY2UuTW9kZWxUcmFuc2FjdGlvblBvbGljeRpMCg9QYXJhbWV0ZXJzRW50cnkSCwoDa2V5GAEgASgJEigKBXZhbHVlGAIgASgLMhkuaW5mZXJlbmNlLk1vZGVsUGFyYW1ldGVyOgI4AUITChFzY2hlZHVsaW5nX2Nob2ljZSLrAQoKTW9kZWxJbnB1dBIMCgRuYW1lGAEgASgJEiYKCWRhdGFfdHlwZRgCIAEoDjITLmluZmVyZW5jZS5EYXRhVHlwZRIsCgZmb3JtYXQYAyABKA4yHC5pbmZlcmVuY2UuTW9kZWxJbnB1dC5Gb3JtYXQSDAoEZGltcxgEIAMoAxIuCgdyZXNoYXBlGAUgASgLMh0uaW5mZXJlbmNlLk1vZGVsVGVuc29yUmVzaGFwZSI7CgZGb3JtYXQSDwoLRk9STUFUX05PTkUQABIPCgtGT1JNQVRfTkhXQxABEg8KC0ZPUk1BVF9OQ0hXEAIigQEKC01vZGVsT3V0cHV0EgwKBG5hbWUYASABKAkSJgoJZGF0YV90eXBlGAIgASgOMhMuaW5mZXJlbmNlLkRhdGFUeXBlEgwKBGRpbXMYAyADKAMSLgoHcmVzaGFwZRgFIAEoCzIdLmluZmVyZW5jZS5Nb2RlbFRlbnNvclJlc2hhcGUiIwoSTW9kZWxUZW5zb3JSZXNoYXBlEg0KBXNoYXBlGAEgAygDIn0KEk1vZGVsVmVyc2lvblBvbGljeRI2CgZsYXRlc3QYASABKAsyJC5pbmZlcmVuY2UuTW9kZWxWZXJzaW9uUG9saWN5LkxhdGVzdEgAGh4KBkxhdGVzdBIUCgxudW1fdmVyc2lvbnMYASABKA1CDwoNcG9saWN5X2Nob2ljZSK0AQoSTW9kZWxJbnN0YW5jZUdyb3VwEgwKBG5hbWUYASABKAkSDQoFY291bnQYAiABKAUSDAoEZ3B1cxgDIAMoBRIwCgRraW5kGAQgASgOMiIuaW5mZXJlbmNlLk1vZGVsSW5zdGFuY2VHcm91cC5LaW5kIkEKBEtpbmQSDQoJS0lORF9BVVRPEAASDAoIS0lORF9HUFUQARIMCghLSU5EX0NQVRACEg4KCktJTkRfTU9ERUwQAyKuAQoUTW9kZWxEeW5hbWljQmF0Y2hpbmcSHAoUcHJlZmVycmVkX2JhdGNoX3NpemUYASADKAUSJAocbWF4X3F1ZXVlX2RlbGF5X21pY3Jvc2Vjb25kcxgCIAEoBBIZChFwcmVzZXJ2ZV9vcmRlcmluZxgDIAEoCBIXCg9wcmlvcml0eV9sZXZlbHMYBCABKAQSHgoWZGVmYXVsdF9wcmlvcml0eV9sZXZlbBgFIAEoBCImCg5Nb2RlbFBhcmFtZXRlchIUCgxzdHJpbmdfdmFsdWUYASABKAkiKwoWTW9kZWxUcmFuc2FjdGlvblBvbGljeRIRCglkZWNvdXBsZWQYASABKAgiNwoWTW9kZWxTdGF0aXN0aWNzUmVxdWVzdBIMCgRuYW1lGAEgASgJEg8KB3ZlcnNpb24YAiABKAkiSgoXTW9kZWxTdGF0aXN0aWNzUmVzcG9uc2USLwoLbW9kZWxfc3RhdHMYASADKAsyGi5pbmZlcmVuY2UuTW9kZWxTdGF0aXN0aWNzIi4KEVN0YXRpc3RpY0R1cmF0aW9uEg0KBWNvdW50GAEgASgEEgoKAm5zGAIgASgEIpwDCg9JbmZlclN0YXRpc3RpY3MSLQoHc3VjY2VzcxgBIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhIqCgRmYWlsGAIgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEisKBXF1ZXVlGAMgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEjMKDWNvbXB1dGVfaW5wdXQYBCABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SMwoNY29tcHV0ZV9pbmZlchgFIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhI0Cg5jb21wdXRlX291dHB1dBgGIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhIvCgljYWNoZV9oaXQYByABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SMAoKY2FjaGVfbWlzcxgIIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbiLDAgoXSW5mZXJSZXNwb25zZVN0YXRpc3RpY3MSMwoNY29tcHV0ZV9pbmZlchgBIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhI0Cg5jb21wdXRlX291dHB1dBgCIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhItCgdzdWNjZXNzGAMgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uEioKBGZhaWwYBCABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SNAoOZW1wdHlfcmVzcG9uc2UYBSABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SLAoGY2FuY2VsGAYgASgLMhwuaW5mZXJlbmNlLlN0YXRpc3RpY0R1cmF0aW9uIsoBChRJbmZlckJhdGNoU3RhdGlzdGljcxISCgpiYXRjaF9zaXplGAEgASgEEjMKDWNvbXB1dGVfaW5wdXQYAiABKAsyHC5pbmZlcmVuY2UuU3RhdGlzdGljRHVyYXRpb24SMwoNY29tcHV0ZV9pbmZlchgDIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbhI0Cg5jb21wdXRlX291dHB1dBgEIAEoCzIcLmluZmVyZW5jZS5TdGF0aXN0aWNEdXJhdGlvbiI6CgtNZW1vcnlVc2FnZRIMCgR0eXBlGAEgASgJEgoKAmlkGAIgASgDEhEKCWJ5dGVfc2l6ZRgDIAEoBCK0AwoPTW9kZWxTdGF0aXN0aWNzEgwKBG5hbWUYASABKAkSDwoHdmVyc2lvbhgCIAEoCRIWCg5sYXN0X2luZmVyZW5jZRgDIAEoBBIXCg9pbmZlcmVuY2VfY291bnQYBCABKAQSFwoPZXhlY3V0aW9uX2NvdW50GAUgASgEEjMKD2luZmVyZW5jZV9zdGF0cxgGIAEoCzIaLmluZmVyZW5jZS5JbmZlclN0YXRpc3RpY3MSNAoLYmF0Y2hfc3RhdHMYByADKAsyHy5pbmZlcmVuY2UuSW5mZXJCYXRjaFN0YXRpc3RpY3MSLAoMbWVtb3J5X3VzYWdlGAggAygLMhYuaW5mZXJlbmNlLk1lbW9yeVVzYWdlEkUKDnJlc3BvbnNlX3N0YXRzGAkgAygLMi0uaW5mZXJlbmNlLk1vZGVsU3RhdGlzdGljcy5SZXNwb25zZVN0YXRzRW50cnkaWAoSUmVzcG9uc2VTdGF0c0VudHJ5EgsKA2tleRgBIAEoCRIxCgV2YWx1ZRgCIAEoCzIiLmluZmVyZW5jZS5JbmZlclJlc3BvbnNlU3RhdGlzdGljczoCOAEiQAoWUmVwb3NpdG9yeUluZGV4UmVxdWVzdBIXCg9yZXBvc2l0b3J5X25hbWUYASABKAkSDQoFcmVhZHkYAiABKAgipAEKF1JlcG9zaXRvcnlJbmRleFJlc3BvbnNlEj0KBm1vZGVscxgBIAMoCzItLmluZmVyZW5jZS5SZXBvc2l0b3J5SW5kZXhSZXNwb25zZS5Nb2RlbEluZGV4GkoKCk1vZGVsSW5kZXgSDAoEbmFtZRgBIAEoCRIPCgd2ZXJzaW9uGAIgASgJEg0KBXN0YXRlGAMgASgJEg4KBnJlYXNvbhgEIAEoCSKKAQoYTW9kZWxSZXBvc2l0b3J5UGFyYW1ldGVyEhQKCmJvb2xfcGFyYW0YASABKAhIABIVCgtpbnQ2NF9wYXJhbRgCIAEoA0gAEhYKDHN0cmluZ19wYXJhbRgDIAEoCUgAEhUKC2J5dGVzX3BhcmFtGAQgASgMSABCEgoQcGFyYW1ldGVyX2Nob2ljZSLsAQoaUmVwb3NpdG9yeU1vZGVsTG9hZFJlcXVlc3QSFwoPcmVwb3NpdG9yeV9uYW1lGAEgASgJEhIKCm1vZGVsX25hbWUYAiABKAkSSQoKcGFyYW1ldGVycxgDIAMoCzI1LmluZmVyZW5jZS5SZXBvc2l0b3J5TW9kZWxMb2FkUmVxdWVzdC5QYXJhbWV0ZXJzRW50cnkaVgoPUGFyYW1ldGVyc0VudHJ5EgsKA2tleRgBIAEoCRIyCgV2YWx1ZRgCIAEoCzIjLmluZmVyZW5jZS5Nb2RlbFJlcG9zaXRvcnlQYXJhbWV0ZXI6AjgBIh0KG1JlcG9zaXRvcnlNb2RlbExvYWRSZXNwb25zZSLwAQocUmVwb3NpdG9yeU1vZGVsVW5sb2FkUmVxdWVzdBIXCg9yZXBvc2l0b3J5X25hbWUYASABKAkSEgoKbW9kZWxfbmFtZRgCIAEoCRJLCgpwYXJhbWV0ZXJzGAMgAygLMjcuaW5mZXJlbmNlLlJlcG9zaXRvcnlNb2RlbFVubG9hZFJlcXVlc3QuUGFyYW1ldGVyc0VudHJ5GlYKD1BhcmFtZXRlcnNFbnRyeRILCgNrZXkYASABKAkSMgoFdmFsdWUYAiABKAsyIy5pbmZlcmVuY2UuTW9kZWxSZXBvc2l0b3J5UGFyYW1ldGVyOgI4ASIfCh1SZXBvc2l0b3J5TW9kZWxVbmxvYWRSZXNwb25zZSLmAQoTVHJhY2VTZXR0aW5nUmVxdWVzdBI+CghzZXR0aW5ncxgBIAMoCzIsLmluZmVyZW5jZS5UcmFjZVNldHRpbmdSZXF1ZXN0LlNldHRpbmdzRW50cnkSEgoKbW9kZWxfbmFtZRgCIAEoCRodCgxTZXR0aW5nVmFsdWUSDQoFdmFsdWUYASADKAkaXAoNU2V0dGluZ3NFbnRyeRILCgNrZXkYASABKAkSOgoFdmFsdWUYAiABKAsyKy5pbmZlcmVuY2UuVHJhY2VTZXR0aW5nUmVxdWVzdC5TZXR0aW5nVmFsdWU6AjgBItUBChRUcmFjZVNldHRpbmdSZXNwb25zZRI/CghzZXR0aW5ncxgBIAMoCzItLmluZmVyZW5jZS5UcmFjZVNldHRpbmdSZXNwb25zZS5TZXR0aW5nc0VudHJ5Gh0KDFNldHRpbmdWYWx1ZRINCgV2YWx1ZRgBIAMoCRpdCg1TZXR0aW5nc0VudHJ5EgsKA2tleRgBIAEoCRI7CgV2YWx1ZRgCIAEoCzIsLmluZmVyZW5jZS5UcmFjZVNldHRpbmdSZXNwb25zZS5TZXR0aW5nVmFsdWU6AjgBIpoCChJMb2dTZXR0aW5nc1JlcXVlc3QSPQoIc2V0dGluZ3MYASADKAsyKy5pbmZlcmVuY2UuTG9nU2V0dGluZ3NSZXF1ZXN0LlNldHRpbmdzRW50cnkaaAoMU2V0dGluZ1ZhbHVlEhQKCmJvb2xfcGFyYW0YASABKAhIABIWCgx1aW50MzJfcGFyYW0YAiABKA1IABIWCgxzdHJpbmdfcGFyYW0YAyABKAlIAEISChBwYXJhbWV0ZXJfY2hvaWNlGlsKDVNldHRpbmdzRW50cnkSCwoDa2V5GAEgASgJEjkKBXZhbHVlGAIgASgLMiouaW5mZXJlbmNlLkxvZ1NldHRpbmdzUmVxdWVzdC5TZXR0aW5nVmFsdWU6AjgBIp0CChNMb2dTZXR0aW5nc1Jlc3BvbnNlEj4KCHNldHRpbmdzGAEgAygLMiwuaW5mZXJlbmNlLkxvZ1NldHRpbmdzUmVzcG9uc2UuU2V0dGluZ3NFbnRyeRpoCgxTZXR0aW5nVmFsdWUSFAoKYm9vbF9wYXJhbRgBIAEoCEgAEhYKDHVpbnQzMl9wYXJhbRgCIAEoDUgAEhYKDHN0cmluZ19wYXJhbRgDIAEoCUgAQhIKEHBhcmFtZXRlcl9jaG9pY2UaXAoNU2V0dGluZ3NFbnRyeRILCgNrZXkYASABKAkSOgoFdmFsdWUYAiABKAsyKy5pbmZlcmVuY2UuTG9nU2V0dGluZ3NSZXNwb25zZS5TZXR0aW5nVmFsdWU6AjgBIucCChVNb2RlbFNlcXVlbmNlQmF0Y2hpbmcSJgoebWF4X3NlcXVlbmNlX2lkbGVfbWljcm9zZWNvbmRzGAEgASgEEkEKBm9sZGVzdBgEIAEoCzIvLmluZmVyZW5jZS5Nb2RlbFNlcXVlbmNlQmF0Y2hpbmcuU3RyYXRlZ3lPbGRlc3RIABI1CgVzdGF0ZRgFIAMoCzImLmluZmVyZW5jZS5Nb2RlbFNlcXVlbmNlQmF0Y2hpbmcuU3RhdGUaZgoFU3RhdGUSEgoKaW5wdXRfbmFtZRgBIAEoCRITCgtvdXRwdXRfbmFtZRgCIAEoCRImCglkYXRhX3R5cGUYAyABKA4yEy5pbmZlcmVuY2UuRGF0YVR5cGUSDAoEZGltcxgEIAMoAxoxCg5TdHJhdGVneU9sZGVzdBIfChdtYXhfY2FuZGlkYXRlX3NlcXVlbmNlcxgBIAEoBUIRCg9zdHJhdGVneV9jaG9pY2Uq+gEKCERhdGFUeXBlEhAKDFRZUEVfSU5WQUxJRBAAEg0KCVRZUEVfQk9PTBABEg4KClRZUEVfVUlOVDgQAhIPCgtUWVBFX1VJTlQxNhADEg8KC1RZUEVfVUlOVDMyEAQSDwoLVFlQRV9VSU5UNjQQBRINCglUWVBFX0lOVDgQBhIOCgpUWVBFX0lOVDE2EAcSDgoKVFlQRV9JTlQzMhAIEg4KClRZUEVfSU5UNjQQCRINCglUWVBFX0ZQMTYQChINCglUWVBFX0ZQMzIQCxINCglUWVBFX0ZQNjQQDBIPCgtUWVBFX1NUUklORxANEg0KCVRZUEVfQkYxNhAOMtoJChRHUlBDSW5mZXJlbmNlU2VydmljZRJLCgpTZXJ2ZXJMaXZlEhwuaW5mZXJlbmNlLlNlcnZlckxpdmVSZXF1ZXN0Gh0uaW5mZXJlbmNlLlNlcnZlckxpdmVSZXNwb25zZSIAEk4KC1NlcnZlclJlYWR5Eh0uaW5mZXJlbmNlLlNlcnZlclJlYWR5UmVxdWVzdBoeLmluZmVyZW5jZS5TZXJ2ZXJSZWFkeVJlc3BvbnNlIgASSwoKTW9kZWxSZWFkeRIcLmluZmVyZW5jZS5Nb2RlbFJlYWR5UmVxdWVzdBodLmluZmVyZW5jZS5Nb2RlbFJlYWR5UmVzcG9uc2UiABJXCg5TZXJ2ZXJNZXRhZGF0YRIgLmluZmVyZW5jZS5TZXJ2ZXJNZXRhZGF0YVJlcXVlc3QaIS5pbmZlcmVuY2UuU2VydmVyTWV0YWRhdGFSZXNwb25zZSIAElQKDU1vZGVsTWV0YWRhdGESHy5pbmZlcmVuY2UuTW9kZWxNZXRhZGF0YVJlcXVlc3QaIC5pbmZlcmVuY2UuTW9kZWxNZXRhZGF0YVJlc3BvbnNlIgASSwoKTW9kZWxJbmZlchIcLmluZmVyZW5jZS5Nb2RlbEluZmVyUmVxdWVzdBodLmluZmVyZW5jZS5Nb2RlbEluZmVyUmVzcG9uc2UiABJbChBNb2RlbFN0cmVhbUluZmVyEhwuaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXF1ZXN0GiMuaW5mZXJlbmNlLk1vZGVsU3RyZWFtSW5mZXJSZXNwb25zZSIAKAEwARJOCgtNb2RlbENvbmZpZxIdLmluZmVyZW5jZS5Nb2RlbENvbmZpZ1JlcXVlc3QaHi5pbmZlcmVuY2UuTW9kZWxDb25maWdSZXNwb25zZSIAEloKD01vZGVsU3RhdGlzdGljcxIhLmluZmVyZW5jZS5Nb2RlbFN0YXRpc3RpY3NSZXF1ZXN0GiIuaW5mZXJlbmNlLk1vZGVsU3RhdGlzdGljc1Jlc3BvbnNlIgASWgoPUmVwb3NpdG9yeUluZGV4EiEuaW5mZXJlbmNlLlJlcG9zaXRvcnlJbmRleFJlcXVlc3QaIi5pbmZlcmVuY2UuUmVwb3NpdG9yeUluZGV4UmVzcG9uc2UiABJmChNSZXBvc2l0b3J5TW9kZWxMb2FkEiUuaW5mZXJlbmNlLlJlcG9zaXRvcnlNb2RlbExvYWRSZXF1ZXN0GiYuaW5mZXJlbmNlLlJlcG9zaXRvcnlNb2RlbExvYWRSZXNwb25zZSIAEmwKFVJlcG9zaXRvcnlNb2RlbFVubG9hZBInLmluZmVyZW5jZS5SZXBvc2l0b3J5TW9kZWxVbmxvYWRSZXF1ZXN0GiguaW5mZXJlbmNlLlJlcG9zaXRvcnlNb2RlbFVubG9hZFJlc3BvbnNlIgASUQoMVHJhY2VTZXR0aW5nEh4uaW5mZXJlbmNlLlRyYWNlU2V0dGluZ1JlcXVlc3QaHy5pbmZlcmVuY2UuVHJhY2VTZXR0aW5nUmVzcG9uc2UiABJOCgtMb2dTZXR0aW5ncxIdLmluZmVyZW5jZS5Mb2dTZXR0aW5nc1JlcXVlc3QaHi5pbmZlcmVuY2UuTG9nU2V0dGluZ3NSZXNwb25zZSIAYgZwcm90bzM",
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
    | {
        value: ModelSequenceBatching;
        case: "sequenceBatching";
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

  format: ModelInput_Format;

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
 * @generated from enum inference.ModelInput.Format
 */
export const ModelInput_Format = {
  NONE: 0,
  NHWC: 1,
  NCHW: 2,
} as const;
export type ModelInput_Format = (typeof ModelInput_Format)[keyof typeof ModelInput_Format];

/**
 * Describes the enum inference.ModelInput.Format.
 */
export const ModelInput_FormatSchema: GenEnum<ModelInput_Format> =
  /*@__PURE__*/
  enumDesc(file_inference, 18, 0);

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
 * @generated from message inference.TraceSettingRequest
 */
export type TraceSettingRequest = Message<"inference.TraceSettingRequest"> & {
  settings: { [key: string]: TraceSettingRequest_SettingValue };

  modelName: string;
};

/**
 * Describes the message inference.TraceSettingRequest.
 * Use `create(TraceSettingRequestSchema)` to create a new message.
 */
export const TraceSettingRequestSchema: GenMessage<TraceSettingRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 41);

/**
 * @generated from message inference.TraceSettingRequest.SettingValue
 */
export type TraceSettingRequest_SettingValue =
  Message<"inference.TraceSettingRequest.SettingValue"> & {
    value: string[];
  };

/**
 * Describes the message inference.TraceSettingRequest.SettingValue.
 * Use `create(TraceSettingRequest_SettingValueSchema)` to create a new message.
 */
export const TraceSettingRequest_SettingValueSchema: GenMessage<TraceSettingRequest_SettingValue> =
  /*@__PURE__*/
  messageDesc(file_inference, 41, 0);

/**
 * @generated from message inference.TraceSettingResponse
 */
export type TraceSettingResponse = Message<"inference.TraceSettingResponse"> & {
  settings: { [key: string]: TraceSettingResponse_SettingValue };
};

/**
 * Describes the message inference.TraceSettingResponse.
 * Use `create(TraceSettingResponseSchema)` to create a new message.
 */
export const TraceSettingResponseSchema: GenMessage<TraceSettingResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 42);

/**
 * @generated from message inference.TraceSettingResponse.SettingValue
 */
export type TraceSettingResponse_SettingValue =
  Message<"inference.TraceSettingResponse.SettingValue"> & {
    value: string[];
  };

/**
 * Describes the message inference.TraceSettingResponse.SettingValue.
 * Use `create(TraceSettingResponse_SettingValueSchema)` to create a new message.
 */
export const TraceSettingResponse_SettingValueSchema: GenMessage<TraceSettingResponse_SettingValue> =
  /*@__PURE__*/
  messageDesc(file_inference, 42, 0);

/**
 * @generated from message inference.LogSettingsRequest
 */
export type LogSettingsRequest = Message<"inference.LogSettingsRequest"> & {
  settings: { [key: string]: LogSettingsRequest_SettingValue };
};

/**
 * Describes the message inference.LogSettingsRequest.
 * Use `create(LogSettingsRequestSchema)` to create a new message.
 */
export const LogSettingsRequestSchema: GenMessage<LogSettingsRequest> =
  /*@__PURE__*/
  messageDesc(file_inference, 43);

/**
 * @generated from message inference.LogSettingsRequest.SettingValue
 */
export type LogSettingsRequest_SettingValue =
  Message<"inference.LogSettingsRequest.SettingValue"> & {
    parameterChoice:
      | {
          value: boolean;
          case: "boolParam";
        }
      | {
          value: number;
          case: "uint32Param";
        }
      | {
          value: string;
          case: "stringParam";
        }
      | { case: undefined; value?: undefined };
  };

/**
 * Describes the message inference.LogSettingsRequest.SettingValue.
 * Use `create(LogSettingsRequest_SettingValueSchema)` to create a new message.
 */
export const LogSettingsRequest_SettingValueSchema: GenMessage<LogSettingsRequest_SettingValue> =
  /*@__PURE__*/
  messageDesc(file_inference, 43, 0);

/**
 * @generated from message inference.LogSettingsResponse
 */
export type LogSettingsResponse = Message<"inference.LogSettingsResponse"> & {
  settings: { [key: string]: LogSettingsResponse_SettingValue };
};

/**
 * Describes the message inference.LogSettingsResponse.
 * Use `create(LogSettingsResponseSchema)` to create a new message.
 */
export const LogSettingsResponseSchema: GenMessage<LogSettingsResponse> =
  /*@__PURE__*/
  messageDesc(file_inference, 44);

/**
 * @generated from message inference.LogSettingsResponse.SettingValue
 */
export type LogSettingsResponse_SettingValue =
  Message<"inference.LogSettingsResponse.SettingValue"> & {
    parameterChoice:
      | {
          value: boolean;
          case: "boolParam";
        }
      | {
          value: number;
          case: "uint32Param";
        }
      | {
          value: string;
          case: "stringParam";
        }
      | { case: undefined; value?: undefined };
  };

/**
 * Describes the message inference.LogSettingsResponse.SettingValue.
 * Use `create(LogSettingsResponse_SettingValueSchema)` to create a new message.
 */
export const LogSettingsResponse_SettingValueSchema: GenMessage<LogSettingsResponse_SettingValue> =
  /*@__PURE__*/
  messageDesc(file_inference, 44, 0);

/**
 * @generated from message inference.ModelSequenceBatching
 */
export type ModelSequenceBatching = Message<"inference.ModelSequenceBatching"> & {
  maxSequenceIdleMicroseconds: bigint;
  strategyChoice:
    | {
        value: ModelSequenceBatching_StrategyOldest;
        case: "oldest";
      }
    | { case: undefined; value?: undefined };
  state: ModelSequenceBatching_State[];
};

/**
 * Describes the message inference.ModelSequenceBatching.
 * Use `create(ModelSequenceBatchingSchema)` to create a new message.
 */
export const ModelSequenceBatchingSchema: GenMessage<ModelSequenceBatching> =
  /*@__PURE__*/
  messageDesc(file_inference, 45);

/**
 * @generated from message inference.ModelSequenceBatching.State
 */
export type ModelSequenceBatching_State = Message<"inference.ModelSequenceBatching.State"> & {
  inputName: string;
  outputName: string;
  dataType: DataType;
  dims: bigint[];
};

/**
 * Describes the message inference.ModelSequenceBatching.State.
 * Use `create(ModelSequenceBatching_StateSchema)` to create a new message.
 */
export const ModelSequenceBatching_StateSchema: GenMessage<ModelSequenceBatching_State> =
  /*@__PURE__*/
  messageDesc(file_inference, 45, 0);

/**
 * @generated from message inference.ModelSequenceBatching.StrategyOldest
 */
export type ModelSequenceBatching_StrategyOldest =
  Message<"inference.ModelSequenceBatching.StrategyOldest"> & {
    maxCandidateSequences: number;
  };

/**
 * Describes the message inference.ModelSequenceBatching.StrategyOldest.
 * Use `create(ModelSequenceBatching_StrategyOldestSchema)` to create a new message.
 */
export const ModelSequenceBatching_StrategyOldestSchema: GenMessage<ModelSequenceBatching_StrategyOldest> =
  /*@__PURE__*/
  messageDesc(file_inference, 45, 1);

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
  /**
   * @generated from rpc inference.GRPCInferenceService.TraceSetting
   */
  traceSetting: {
    methodKind: "unary";
    input: typeof TraceSettingRequestSchema;
    output: typeof TraceSettingResponseSchema;
  };
  /**
   * @generated from rpc inference.GRPCInferenceService.LogSettings
   */
  logSettings: {
    methodKind: "unary";
    input: typeof LogSettingsRequestSchema;
    output: typeof LogSettingsResponseSchema;
  };
}> = /*@__PURE__*/ serviceDesc(file_inference, 0);
